"""Switches send sFlow and IPFIX to collectors in hosts: real datagrams, decoded by tshark."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dcnlab import Lab
from dcnlab.lab.emulation.switches.export import TUNNEL, addresses
from dcnlab.lab.emulation.switches.shards import MAX_SHARDS
from dcnlab.lab.errors import OptionError
from dcnlab.lab.options.collectors import Collector
from dcnlab.lab.options.config import LabConfig
from tests.ovs import poll

#: Writes every datagram that comes to two ports to a file, as tcpdump would, and counts them.
COLLECTOR = """
import socket, struct, selectors, sys, time
out = open(sys.argv[1], "wb", buffering=0)
out.write(struct.pack("=IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101))
chosen = selectors.DefaultSelector()
for port in (6343, 9999):
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.bind((sys.argv[2], port))
    chosen.register(one, selectors.EVENT_READ, port)
print("listening", flush=True)
while True:
    for key, _ in chosen.select():
        data, (source, number) = key.fileobj.recvfrom(65535)
        udp = struct.pack(">HHHH", number, key.data, 8 + len(data), 0) + data
        ip = struct.pack(">BBHHHBBH4s4s", 69, 0, 20 + len(udp), 0, 0, 64, 17, 0,
                         socket.inet_aton(source), socket.inet_aton(sys.argv[2]))
        now = time.time()
        frame = ip + udp
        out.write(struct.pack("=IIII", int(now), 0, len(frame), len(frame)) + frame)
"""


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"sflow": "h3:0"}, "sflow takes SERVER or SERVER:PORT, such as h3:6343, not 'h3:0'"),
        ({"ipfix": "h3:x"}, "ipfix takes SERVER or SERVER:PORT, such as h3:4739"),
        ({"sflow": "h9"}, "sflow: .*h9"),
        ({"sflow": "s0"}, "sflow: s0 is a switch: name a server"),
        ({"sflow": "h0", "switch_fast_path": "on"}, "sflow does not see what the kernel forwards"),
        ({"sampling": 0}, "sampling"),
    ],
)
def test_wrong_options_are_one_line(options: dict[str, Any], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        LabConfig.of("bcube:2,1", "brp", **options).validate()
    with pytest.raises(OptionError, match="torus:2x2 has no switches"):
        LabConfig.of("torus:2x2", "wmgr", sflow="h0").validate()


def test_ports_are_those_of_the_protocols() -> None:
    assert Collector.parse("sflow", "h3") == Collector("sflow", "h3", 6343)
    assert Collector.parse("ipfix", "h3:1") == Collector("ipfix", "h3", 1)
    places = [*range(MAX_SHARDS), TUNNEL]
    pairs = [addresses(host, place, machine) for machine in (0, 7) for host in (0, 1) for place in places]
    assert len({one for pair in pairs for one in pair}) == 8 * len(places)
    assert all(socket.inet_aton(one) for pair in pairs for one in pair)


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lab, Path]]:
    """A lab whose collector has begun to write its file."""
    file = tmp_path_factory.mktemp("collector") / "datagrams.pcap"
    with Lab("bcube:2,1", "brp", sflow="h3", ipfix="h3:9999", sampling=1) as lab:
        address = next(one["ipv4"] for one in lab.nodes() if one["name"] == "h3")
        words = ["python3", "-c", COLLECTOR, str(file), address]
        lab.serve("collector", "h3", words, ready="log:listening")
        yield lab, file


def read(file: Path, port: int, protocol: str, *fields: str) -> list[list[str]]:
    """The fields of each datagram to a port, as tshark decodes it; several values of a field in one list."""
    words = ["tshark", "-r", str(file), "-d", f"udp.port=={port},{protocol}", "-Y", f"udp.dstport=={port}"]
    wanted = [word for field in fields for word in ("-e", field)]
    done = subprocess.run([*words, "-T", "fields", *wanted], capture_output=True, text=True, check=False)
    return [line.split("\t") for line in done.stdout.splitlines()]


@pytest.mark.lab
def test_sflow_has_packets_and_counters_of_switches(collected: tuple[Lab, Path]) -> None:
    lab, file = collected
    ports = [f"s{switch}-eth{port}".encode() for switch in range(4) for port in (1, 2)]

    def sampled() -> bool:
        """Whether a sample has a packet from h0 to h1; its addresses follow those of the datagram."""
        lab.ping("h0", "h1")
        rows = read(file, 6343, "sflow", "sflow_245.agent", "ip.src", "ip.dst")
        assert all(agent.startswith("169.254.64.") for agent, _, _ in rows)
        pairs = [zip(a.split(","), b.split(","), strict=True) for _, a, b in rows]
        return any(pair == ("10.0.0.1", "10.0.0.2") for one in pairs for pair in one)

    poll(sampled, 60)
    poll(lambda: all(port in file.read_bytes() for port in ports), 60)


@pytest.mark.lab
def test_ipfix_has_flows_of_the_switches_on_a_path(collected: tuple[Lab, Path]) -> None:
    lab, file = collected
    number = int(lab.route("h0", "h1")[1].removeprefix("s")) + 1

    def reported() -> bool:
        lab.ping("h0", "h1")
        rows = read(file, 9999, "cflow", "cflow.od_id", "cflow.srcaddr", "cflow.dstaddr")
        return any(
            domain == str(number) and "10.0.0.1" in sources.split(",") and "10.0.0.2" in targets.split(",")
            for domain, sources, targets in rows
        )

    poll(reported, 60)


@pytest.mark.lab
def test_a_switch_that_is_started_again_goes_on(collected: tuple[Lab, Path]) -> None:
    lab, file = collected
    lab.restart("s0")
    before = file.stat().st_size
    poll(lambda: file.stat().st_size > before, 60)
