"""Statistics know who forwarded: what switches answer counts what the kernel has forwarded, and ports have the
rates of their links; to ovs-ofctl in each version, and to foreign controllers in the lab and outside."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import threading
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from os_ken.ofproto import ofproto_parser
from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser
from os_ken.ofproto.ofproto_protocol import ProtocolDesc

from dcnlab import Lab
from tests.lab.emulation.test_receive_buffers import _RESTART
from tests.ovs import poll

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user has no fast path in any lab"),
]

#: One switch of interest, s0: h0 at its port 1 and h1 at its port 2.
TOPOLOGY = "hypercube:1,hosts=2"
#: Packets of a ping and their bytes on the wire.
_PINGS, _SIZE = 50, 98


def send_pings(lab: Lab) -> None:
    """Send pings from h0 to h1, all of which are answered, and have Open vSwitch add up what it has counted."""
    command = ["ping", "-q", "-c", str(_PINGS), "-i", ".02", "10.0.0.2"]
    done = lab.run("h0", command)
    assert f" {_PINGS} received" in done.stdout, done.stdout + done.stderr
    lab.run("s0", ["ovs-appctl", "revalidator/purge"])


def ofctl(lab: Lab, *words: str, switch: str = "s0") -> str:
    """What ovs-ofctl prints about a switch."""
    done = lab.run(switch, ["ovs-ofctl", *words])
    assert done.returncode == 0, done.stderr
    return done.stdout


def dumped(text: str) -> list[tuple[int, int]]:
    """Packets and bytes of the entries by which something was forwarded."""
    counts = (tuple(map(int, pair)) for pair in re.findall(r"n_packets=(\d+), n_bytes=(\d+)", text))
    return sorted((packets, size) for packets, size in counts if packets)


# --- an application in the lab, which others have written ----------------------


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    options = {"datapath": "userspace", "switch_fast_path": "on", "rate": "200Mbit"}
    with Lab(TOPOLOGY, "shortest", controller="app:ryu.app.ofctl_rest", **options) as one:
        send_pings(one)
        yield one


def rest(lab: Lab, path: str) -> Any:
    """What the application answers about s0."""
    address = lab.info()["controller"]["rest"]
    with urllib.request.urlopen(f"{address}/stats/{path}/1", timeout=60) as answer:
        return json.load(answer)["1"]


def test_entries_count_each_packet_once_for_everybody(lab: Lab) -> None:
    expected = [(_PINGS, _PINGS * _SIZE)] * 2
    by_kernel = sum(lab.tables("s0")["by_kernel"])
    assert 0 < by_kernel <= 2 * _PINGS
    for version in ("OpenFlow13", "OpenFlow15"):
        assert dumped(ofctl(lab, "-O", version, "dump-flows", "s0")) == expected
        both = f"packet_count={2 * _PINGS} byte_count={2 * _PINGS * _SIZE} "
        assert both in ofctl(lab, "-O", version, "dump-aggregate", "s0")
        one = "dl_dst=02:00:00:00:00:00/c3:00:00:00:00:00"
        assert f"packet_count={_PINGS} " in ofctl(lab, "-O", version, "dump-aggregate", "s0", one)
        counted = re.search(r"lookup=(\d+), matched=(\d+)", ofctl(lab, "-O", version, "dump-tables", "s0"))
        assert counted
        # No entry matches what hosts say of their IPv6 groups (MLD) when they begin.
        assert int(counted[1]) >= int(counted[2]) == 2 * _PINGS
    shown = [(flow["packets"], flow["bytes"]) for flow in lab.flows("s0")["flows"] if flow["packets"]]
    assert sorted(shown) == expected
    counts = [(flow["packet_count"], flow["byte_count"]) for flow in rest(lab, "flow") if flow["packet_count"]]
    assert sorted(counts) == expected
    assert rest(lab, "aggregateflow")[0]["packet_count"] == 2 * _PINGS
    assert rest(lab, "table")[0]["matched_count"] == 2 * _PINGS


def test_ports_have_the_rates_of_their_links(lab: Lab) -> None:
    def speeds() -> dict[int | str, int]:
        return {port["port_no"]: port["curr_speed"] for port in rest(lab, "portdesc")}

    assert speeds() == {1: 200_000, 2: 200_000, 3: 200_000, "LOCAL": 10_000_000}
    lab.impair("h0", "s0", rate="100Mbit")
    assert speeds() == {1: 100_000, 2: 200_000, 3: 200_000, "LOCAL": 10_000_000}
    for version in ("OpenFlow13", "OpenFlow15"):
        shown = re.findall(
            r"current: +(\S+) .*\n +speed: (\d+) Mbps now", ofctl(lab, "-O", version, "show", "s0")
        )
        assert shown == [("100MB-FD", "100"), ("OTHER", "200"), ("OTHER", "200"), ("10GB-FD", "10000")]
    lab.impair("h0", "s0", rate="none")
    assert speeds()[1] == 10_000_000


def test_statistics_are_right_after_a_daemon_has_started_again() -> None:
    with Lab(TOPOLOGY, "shortest", datapath="userspace", switch_fast_path="on", supervise=False) as lab:
        lab.run("s0", ["bash", "-c", _RESTART])
        poll(lambda: lab.ping("h0", "h1").held, 60)

        def counted() -> bool:
            lab.run("h0", ["ping", "-q", "-c", "1", "10.0.0.2"])
            lab.run("s0", ["ovs-appctl", "revalidator/purge"])
            by_kernel = sum(lab.tables("s0")["by_kernel"])
            return (
                0
                < by_kernel
                <= sum(packets for packets, _ in dumped(ofctl(lab, "-O", "OpenFlow13", "dump-flows", "s0")))
            )

        poll(counted, 60)


# --- OpenFlow 1.0, and entries that come and go ----------------------------------


@pytest.fixture(scope="module")
def bare() -> Iterator[Lab]:
    options = {"datapath": "userspace", "switch_fast_path": "on", "no_loops": True}
    with Lab(TOPOLOGY, "shortest", controller="none", **options) as one:
        yield one


_ENTRIES = (
    "priority=9,arp actions=FLOOD", "priority=5,in_port=1,ip,nw_dst=10.0.0.0/24 actions=output:2",
    "priority=5,in_port=2 actions=output:1", "priority=3,tcp,in_port=1 actions=output:2",
)  # fmt: skip


def add(lab: Lab, *entries: str) -> None:
    """Add entries, and wait until the kernel has them."""
    for entry in entries:
        ofctl(lab, "-O", "OpenFlow13", "add-flow", "s0", entry)
    lab.tables("s0")


def ip_entries(lab: Lab, *options: str) -> list[tuple[int, int]]:
    """Counters of the entries that are not for ARP."""
    text = ofctl(lab, *options, "dump-flows", "s0")
    return dumped("\n".join(line for line in text.splitlines() if "arp" not in line))


def test_openflow_10_counts_the_same_in_both_of_its_forms(bare: Lab) -> None:
    add(bare, *_ENTRIES)
    bare.ping("h0", "h1")  # they know each other's hardware addresses then
    for _ in range(2):
        before = ip_entries(bare, "-O", "OpenFlow13")
        send_pings(bare)
        after = ip_entries(bare, "-O", "OpenFlow13")
        assert sum(packets for packets, _ in after) - sum(packets for packets, _ in before) >= 2 * _PINGS
    for form in ("NXM", "OpenFlow10"):
        assert ip_entries(bare, f"--flow-format={form}") == after
    assert sum(bare.tables("s0")["by_kernel"]) > 2 * _PINGS


# --- a controller outside the lab ---------------------------------------------------


class Monitor:
    """A controller that only asks, by os-ken's codec; it serves the switches that connect."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener, self._codec = listener, ProtocolDesc(version=ofp.OFP_VERSION)
        self.switches: dict[int, socket.socket] = {}
        self.received: list[Any] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        for _ in range(3):  # to see whether it is there, and two switches
            connection, _ = self._listener.accept()
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection, connection.makefile("rb") as stream:
            self._send(connection, parser.OFPHello(self._codec))
            self._send(connection, parser.OFPFeaturesRequest(self._codec))
            while head := stream.read(8):
                version, kind, size, number = ofproto_parser.header(head)
                data = head + stream.read(size - 8)
                message = ofproto_parser.msg(self._codec, version, kind, size, number, data)
                if isinstance(message, parser.OFPSwitchFeatures):
                    self.switches[message.datapath_id] = connection
                elif isinstance(message, parser.OFPEchoRequest):
                    self._send(connection, parser.OFPEchoReply(self._codec, data=message.data))
                self.received.append(message)

    def _send(self, connection: socket.socket, message: Any, number: int = 0) -> None:
        message.xid = number
        message.serialize()
        connection.sendall(message.buf)

    def tell(self, message: Any) -> None:
        """Send s0 a message, and wait until it has acted on it."""
        connection, before = self.switches[1], len(self.received)
        self._send(connection, message)
        self._send(connection, parser.OFPBarrierRequest(self._codec))
        poll(lambda: any(isinstance(one, parser.OFPBarrierReply) for one in self.received[before:]), 30)

    def ask(self, kind: type[Any], *arguments: Any) -> Any:
        """The body of what s0 answers to a request for statistics."""
        before = len(self.received)
        self.tell(kind(self._codec, 0, *arguments))
        return next(one.body for one in self.received[before:] if hasattr(one, "body"))

    def entry(self, command: int, in_port: int, out: int) -> None:
        """Add an entry, which reports its removal, or delete it."""
        actions = [parser.OFPInstructionActions(ofp.OFPIT_APPLY_ACTIONS, [parser.OFPActionOutput(out)])]
        match = parser.OFPMatch(in_port=in_port)
        self.tell(parser.OFPFlowMod(
            self._codec, command=command, match=match, instructions=actions, priority=7, out_port=ofp.OFPP_ANY,
            out_group=ofp.OFPG_ANY, flags=ofp.OFPFF_SEND_FLOW_REM,
        ))  # fmt: skip

    def removed(self) -> list[tuple[int, int, int]]:
        """In-port, packets and bytes of the entries whose removal was reported."""
        messages = [one for one in self.received if isinstance(one, parser.OFPFlowRemoved)]
        return [(one.match["in_port"], one.packet_count, one.byte_count) for one in messages]


def test_a_controller_outside_gets_right_answers_also_about_removed_entries() -> None:
    options = {"datapath": "userspace", "switch_fast_path": "on", "rate": "1Gbit"}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        monitor = Monitor(listener)
        address = f"remote:127.0.0.1:{listener.getsockname()[1]}"
        with Lab(TOPOLOGY, "shortest", controller=address, **options) as lab:
            for host, other in ((1, 2), (2, 1)):  # no packet but pings: nobody asks for addresses
                known = f"10.0.0.{other} lladdr 00:00:00:00:0{other}:01 dev h{host - 1}-eth1"
                assert lab.run(f"h{host - 1}", ["ip", "neigh", "replace", *known.split()]).returncode == 0
                quiet = ["sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"]  # nor reports IPv6 groups (MLD)
                assert lab.run(f"h{host - 1}", quiet).returncode == 0
            monitor.entry(ofp.OFPFC_ADD, 1, 2)
            monitor.entry(ofp.OFPFC_ADD, 2, 1)
            lab.tables("s0")
            send_pings(lab)
            own = dumped(ofctl(lab, "-O", "OpenFlow13", "dump-flows", "unix:/run/openvswitch/0/s0.switch"))
            assert sum(packets for packets, _ in own) < 2 * _PINGS
            entries = monitor.ask(parser.OFPFlowStatsRequest)
            counts = {one.match["in_port"]: (one.packet_count, one.byte_count) for one in entries}
            assert counts == {1: (_PINGS, _PINGS * _SIZE), 2: (_PINGS, _PINGS * _SIZE)}
            one = parser.OFPMatch(in_port=1)
            arguments = ofp.OFPTT_ALL, ofp.OFPP_ANY, ofp.OFPG_ANY, 0, 0, one
            assert monitor.ask(parser.OFPAggregateStatsRequest, *arguments).packet_count == _PINGS
            assert monitor.ask(parser.OFPTableStatsRequest)[0].matched_count == 2 * _PINGS
            speeds = {port.port_no: port.curr_speed for port in monitor.ask(parser.OFPPortDescStatsRequest)}
            assert [speeds[port] for port in (1, 2, 3)] == [10**6] * 3
            monitor.entry(ofp.OFPFC_DELETE_STRICT, 1, 2)
            monitor.entry(ofp.OFPFC_ADD, 1, 2)  # it counts from 0 again
            lab.tables("s0")
            send_pings(lab)
            entries = monitor.ask(parser.OFPFlowStatsRequest)
            assert {one.match["in_port"]: one.packet_count for one in entries} == {1: _PINGS, 2: 2 * _PINGS}
            assert monitor.removed() == [(1, _PINGS, _PINGS * _SIZE)]


# --- packets that are lost at interfaces -------------------------------------------


_BURST = """
import socket, sys
senders = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(30)]
for number in range(int(sys.argv[1])):  # each waits when too many of its own packets do
    senders[number % 30].sendto(bytes(60), ("10.0.0.2", 9))
"""


def received(lab: Lab) -> int:
    """Packets that h1 has received."""
    line = lab.run("h1", ["grep", "h1-eth1:", "/proc/net/dev"]).stdout
    return int(line.split()[2])


def test_overruns_know_what_was_lost_at_interfaces(lab: Lab) -> None:
    before = lab.overruns()
    assert lab.run("h0", ["ip", "link", "set", "h0-eth1", "mtu", "3000"]).returncode == 0
    lab.run("h0", ["ping", "-q", "-c", "5", "-i", ".02", "-W", "1", "-s", "2000", "10.0.0.2"])
    assert lab.run("h0", ["ip", "link", "set", "h0-eth1", "mtu", "1500"]).returncode == 0
    assert lab.overruns().refused == {**before.refused, "h0-eth1": before.refused.get("h0-eth1", 0) + 5}
    lab.impair("h1", "s0", rate="2Mbit")
    start, sent = received(lab), 3000
    assert lab.run("h0", ["python3", "-c", _BURST, str(sent)]).returncode == 0
    lost: dict[str, int] = {}

    def all_are_accounted_for() -> bool:
        lost.update(lab.overruns().full)
        return received(lab) - start + lost.get("s0-eth2", 0) - before.full.get("s0-eth2", 0) == sent

    poll(all_are_accounted_for, 60)
    assert lost["s0-eth2"] > before.full.get("s0-eth2", 0)
    lab.impair("h1", "s0", rate="none")
