"""A measurement is one class: what follows from it in Python, on the command line and in a lab agrees."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from dcnlab.lab import measurement
from dcnlab.lab.client import Lab
from dcnlab.lab.contract import codec
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.measurement.iperf import Iperf
from dcnlab.lab.measurement.ping import Ping, PingResult
from dcnlab.lab.measurement.replicate import Replicate
from dcnlab.lab.measurement.stream import Stream
from tests.lab.lines import dcnlab
from tests.lab.processes import agents
from tests.ovs import poll

#: A command line for every measurement that has a generated command.
COMMANDS = {
    "buffers": "",
    "counters": "",
    "invariants": "",
    "iperf": "h0 h3 --for 1s",
    "mptcp": "h0 h3 --for 1s",
    "next-hops": "h0 h3 --packets 50",
    "overruns": "",
    "ping": "h0 h3",
    "stats": "",
    "stream": "h0 h3 --for 200ms --every 10ms",
    "trace": "h0 h3",
    "traceroute": "h0 h3",
}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("hypercube:2", "ecmp") as running:
        yield running


@pytest.mark.parametrize("name", list(measurement.known()))
def test_arguments_survive_json(name: str) -> None:
    kind = measurement.known()[name]
    servers = {"a": "h0", "b": "h1"} if name != "replicate" else {"source": "h0", "replicas": ["h1", "h2"]}
    known = {name for name, _ in kind.__dataclass_fields__.items()}
    wanted = kind.from_json({key: value for key, value in servers.items() if key in known})
    assert kind.from_json(json.loads(json.dumps(wanted.to_json()))) == wanted
    assert kind.__doc__


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"a": "h0"}, "missing argument b"),
        ({"a": "h0", "b": "h1", "second": 1}, "unknown argument second: known are a, b, seconds"),
        ({"a": "h0", "b": "h1", "seconds": 0}, "seconds must be at least 0.1, not 0"),
        ({"a": "h0", "b": "h1", "seconds": float("nan")}, "seconds must be a number"),
        ({"a": "h0", "b": "h1", "parallel": 65}, "parallel must be at most 64, not 65"),
        ({"a": "h0", "b": "h1", "parallel": "2"}, "'2' is not of type int"),
        ({"a": "h0", "b": "h1", "udp": "fast"}, "udp must match"),
        ({"a": "h0", "b": "h1", "udp": "100"}, "udp: 100 bit/s. write 100M"),
        ({"a": 5, "b": "h1"}, "5 is not of type str"),
    ],
)
def test_wrong_arguments_are_one_line(arguments: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Iperf.from_json(arguments)


def test_pings_name_two_servers_or_none() -> None:
    for wrong in (Ping("h0"), Ping(pairs="some"), Ping(ipv4=True, ipv6=True)):
        with pytest.raises(UsageError):
            wrong.check()


def test_results_are_read_back_from_json() -> None:
    value = {"sent": 2, "received": 1, "rtt_ms": {"p50": 1, "p99": None}, "lost": [["h0", "h1"]]}
    value |= {"pairs": 2, "partial": ""}
    result = PingResult.from_json(value)
    assert json.loads(json.dumps(result.to_json())) == value
    assert result.lost == [("h0", "h1")]
    assert result.rtt_ms.p50 == 1.0
    assert set(result.summary()) == set(result.figures())
    assert not result.held
    with pytest.raises(TypeError):
        codec.decode(tuple[int, ...], ["1"])


def test_an_unknown_measurement_is_no_attribute() -> None:
    lab = Lab("bcube:2,1", "brp")
    assert {"iperf", "next_hops", "fail"} <= set(dir(lab))
    with pytest.raises(AttributeError, match="iperff"):
        _ = lab.iperff


@pytest.mark.lab
@pytest.mark.parametrize("name", [name for name, kind in measurement.known().items() if kind.command])
def test_every_command_prints_its_results_json(lab: Lab, name: str) -> None:
    words = COMMANDS[name].split()
    done = dcnlab(name, lab.config.name, *words, "--json")
    shown = json.loads(done.stdout)
    if name == "mptcp":  # a topology without parallel paths
        assert (done.returncode, shown["exit"]) == (2, 2)
        return
    assert done.returncode == 0, done.stderr
    assert shown.pop("held")
    result = measurement.known()[name].result().from_json(shown)
    assert json.loads(json.dumps(result.to_json())) == shown
    assert set(result.figures()) <= set(result.summary())
    assert dcnlab(name, lab.config.name, *words).stdout.strip()


@pytest.mark.lab
def test_python_has_the_same_measurements(lab: Lab) -> None:
    assert lab.ping("h0", "h3").received == 1
    assert lab.route("h0", "h3")[-1] == "h3"
    assert lab.traceroute("h0", "h3").hops == lab.route("h0", "h3")[1:]
    traced = lab.trace("h0", "h3")
    nodes = [hop.node for hop in traced.hops]
    assert (nodes[0], nodes[-1], traced.length) == ("h0", "h3", 2)
    assert f"to {nodes[1]}" in traced.hops[0].reason
    assert traced.hops[1].reason.endswith("to h3")
    assert traced.hops[1].entry
    assert [hop.ms for hop in traced.hops] == sorted(hop.ms for hop in traced.hops)
    assert lab.measure(Iperf("h0", "h3", seconds=1)).mbps > 0
    with pytest.raises(UsageError, match="two different servers"):
        lab.iperf("h0", "h0")
    with pytest.raises(UsageError, match="each only once"):
        lab.measure(Replicate("h0", ("h1", "h1")))
    with pytest.raises(UsageError, match="unknown measurement 'iperff': did you mean iperf"):
        lab.ask("measure", name="iperff")


#: Listens at the first ports that iperf would choose, until its input ends.
_TAKE_PORTS = """
import socket, sys
taken = [socket.create_server(("", port)) for port in range(5201, 5261)]
print("taken", flush=True)
sys.stdin.read()
"""


@pytest.mark.lab
def test_eight_run_iperf_to_one_server_at_once_beside_programs_that_listen(lab: Lab) -> None:
    taking = [sys.executable, "-c", _TAKE_PORTS]
    words = [sys.executable, "-m", "dcnlab.cli", "exec", lab.config.name, "h3", "--", *taking]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as listener:
        assert listener.stdout is not None
        assert listener.stdout.readline() == "taken\n"
        sources = ["h0", "h1", "h2"] * 3
        with ThreadPoolExecutor(8) as threads:
            results = list(threads.map(lambda source: lab.iperf(source, "h3", seconds=1), sources[:8]))
        listener.communicate(timeout=60)
    assert all(one.mbps > 0 for one in results)


@pytest.mark.lab
def test_stats_counts_at_the_ports_of_switches_as_openflow_does() -> None:
    with Lab("jellyfish:4,8,3") as lab:
        assert lab.pingall().held
        name = lab.config.name
        shown = dcnlab("stats", name).stdout.splitlines()
        assert shown[0].split()[:3] == ["switch", "port", "to"]
        assert shown.index("") == 1 + 8 * 4, "after a blank line: the switches"
        ports = {port.port: port for port in lab.stats().ports if port.switch == "s3"}
        assert ports[1].to == "h3"
        dump = lab.run("s3", ["ovs-ofctl", "-O", "OpenFlow13", "dump-ports", "s3"]).stdout
        pattern = (
            r"port +(\d+): rx pkts=(\d+), bytes=(\d+), drop=(\d+), .*\n +tx pkts=(\d+), bytes=(\d+), drop=(\d+)"
        )
        counted = {int(port): tuple(map(int, rest)) for port, *rest in re.findall(pattern, dump)}
        names = ("rx_packets", "rx_bytes", "rx_dropped", "tx_packets", "tx_bytes", "tx_dropped")
        assert counted == {number: tuple(port.counts[key] for key in names) for number, port in ports.items()}
        assert ports[1].rx_packets >= 7


@pytest.mark.lab
def test_a_stream_goes_on_until_it_is_stopped(lab: Lab) -> None:
    with pytest.raises(UsageError, match="does not end"):
        lab.stream("h0", "h3")
    before = time.monotonic()
    stream = lab.begin(Stream("h0", "h3", seconds=600))
    assert lab.ping().held  # beside it
    result = stream.stop()
    assert result.received >= 10
    assert time.monotonic() - before < 300
    assert stream.result() == result


@pytest.mark.lab
def test_a_measurement_that_cannot_start_raises_at_once() -> None:
    with Lab("bcube:2,1", "brp", supervise=False) as lab:
        lab.fail("h3")
        with pytest.raises(LabError, match="no packet of the stream arrived"):
            lab.begin(Stream("h0", "h3"))
        lab.restore("h3")
        for agent in agents(lab).agents:
            agent.kill()
        poll(lambda: len(lab.info()["ended"]) > 0, 10)
        done = dcnlab("ping", lab.config.name, "h0", "h3", "--timeout", "0.2")
        assert done.returncode == 1
        assert "0/1 answered" in done.stdout
        assert "ended" in done.stdout  # it says why
