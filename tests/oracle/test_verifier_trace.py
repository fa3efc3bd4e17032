"""What a switch does with a packet: the verifier against Open vSwitch's ofproto/trace, on random tables."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator

import pytest

from dcnlab.verifier.openflow import fields, reading
from dcnlab.verifier.openflow.pipeline import Noted, Sent, ToController, Unanalysed, process
from dcnlab.verifier.openflow.tables import Switch
from tests.ovs import PrivateOvs

pytestmark = pytest.mark.ovs

BRIDGE, PORTS, LOCAL = "v0", (1, 2, 3, 4), 9
PACKETS = 150
_DATAPATH = re.compile(r"^Datapath actions: (.*)$", re.MULTILINE)
_VALUE = re.compile(r"(\w+)=([^,()]+)")
_NAMES = {
    "eth": {"src": "dl_src", "dst": "dl_dst"},
    "ipv4": {"src": "nw_src", "dst": "nw_dst"},
    "tcp": {"src": "tp_src", "dst": "tp_dst"},
    "udp": {"src": "tp_src", "dst": "tp_dst"},
}


@pytest.fixture(scope="module")
def bridge(ovs: PrivateOvs) -> Iterator[dict[str, int]]:
    """The OpenFlow ports of a bridge, by the datapath's numbers of them."""
    words = ["--", "add-br", BRIDGE, "--", "set", "bridge", BRIDGE, "datapath_type=dummy", "fail_mode=secure"]
    words.append("protocols=OpenFlow13,OpenFlow15")
    for port in PORTS:
        name = f"{BRIDGE}-eth{port}"
        words += ["--", "add-port", BRIDGE, name, "--", "set", "interface", name, "type=dummy"]
        words.append(f"ofport_request={port}")
    ovs.vsctl(*words)
    ports = ovs.datapath_ports()
    yield {str(ports[f"{BRIDGE}-eth{port}"]): port for port in PORTS} | {str(ports[BRIDGE]): LOCAL}
    ovs.vsctl("del-br", BRIDGE)


class Draw:
    """Random tables and packets over few values, so that entries often match."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def mac(self) -> str:
        return f"02:00:00:00:0{self.random.randrange(2)}:0{self.random.randrange(4)}"

    def ip(self) -> str:
        return f"10.0.{self.random.randrange(2)}.{self.random.randrange(4)}"

    def match(self, table: int) -> str:
        parts = [f"table={table}", f"priority={self.random.randrange(1, 6)}"]
        chance = self.random.random
        if chance() < 0.25:
            parts.append(f"in_port={self.random.choice(PORTS)}")
        if chance() < 0.3:
            mask = self.random.choice(("", "/ff:ff:ff:ff:ff:00", "/00:00:00:00:0f:01", "/ff:ff:ff:ff:ff:02"))
            parts.append(f"dl_dst={self.mac()}{mask}")
        if chance() < 0.15:
            parts.append(f"dl_src={self.mac()}")
        if chance() < 0.2:
            parts.append(
                self.random.choice(
                    (
                        "dl_vlan=5",
                        "dl_vlan=6",
                        "vlan_tci=0x0000/0x1fff",
                        "dl_vlan_pcp=3",
                        "vlan_tci=0x1000/0x1000",
                        "dl_vlan=65535",
                        "vlan_tci=0x1004/0x1004",
                    )
                )
            )
        if table and chance() < 0.4:
            parts.append(self.random.choice(("metadata=1", "metadata=0x2/0x2", "reg0=7", "reg1=0x1/0x3")))
        if chance() < 0.5:
            kind = self.random.choice(("ip", "tcp", "udp", "icmp", "arp"))
            parts.append(kind)
            if kind != "arp":
                parts += self.addresses(kind)
        return ",".join(parts)

    def addresses(self, kind: str) -> list[str]:
        parts = []
        if self.random.random() < 0.6:
            parts.append(f"nw_dst={self.ip()}{self.random.choice(('', '/24', '/255.0.255.1', '/31'))}")
        if self.random.random() < 0.2:
            parts.append(f"nw_src={self.ip()}/30")
        if kind in ("tcp", "udp") and self.random.random() < 0.5:
            parts.append(f"tp_dst={self.random.choice(('80', '0x50/0xfffe', '81'))}")
        return parts

    def write(self, tagged: bool) -> str:
        popping = ("pop_vlan", "set_field:4102->vlan_vid") if tagged else ()
        return self.random.choice(
            (
                *popping,
                f"set_field:{self.mac()}->eth_dst", f"set_field:{self.mac()}->eth_src",
                "set_field:00:00:00:00:00:02/00:00:00:00:00:ff->eth_dst",
                "push_vlan:0x8100,set_field:4101->vlan_vid",
                "set_field:0->in_port", "set_field:7->reg0", "set_field:0x1/0x3->reg1",
            )
        )  # fmt: skip

    def output(self, groups: int) -> str:
        kinds = [f"output:{self.random.choice(PORTS)}"] * 5 + ["IN_PORT", "FLOOD", "ALL", "CONTROLLER:65535"]
        return self.random.choice(kinds + [f"group:{number}" for number in range(groups)] * 2)

    def actions(self, table: int, groups: int, tagged: bool) -> str:
        parts: list[str] = []
        for _ in range(self.random.randrange(4)):
            parts.append(self.write(tagged) if self.random.random() < 0.5 else self.output(groups))
            tagged = tagged and "pop_vlan" not in parts
        if self.random.random() < 0.2:
            written = [f"set_field:{self.mac()}->eth_dst", f"output:{self.random.choice(PORTS)}"]
            parts.append(f"write_actions({','.join(written[self.random.randrange(2) :])})")
        if self.random.random() < 0.15:
            parts.append("clear_actions")
        if table < 2 and self.random.random() < 0.6:
            parts.append(self.random.choice(("write_metadata:0x1", "write_metadata:0x3/0x2")))
            parts.append(f"goto_table:{table + 1}")
        return self.ordered(parts) or "drop"

    @staticmethod
    def ordered(parts: list[str]) -> str:
        """Instructions in OpenFlow's order: apply, clear, write, metadata, goto."""
        rank = ("clear_actions", "write_actions", "write_metadata", "goto_table")
        return ",".join(
            sorted(
                parts, key=lambda one: next((n + 1 for n, word in enumerate(rank) if one.startswith(word)), 0)
            )
        )

    def group(self, number: int, others: int = 0) -> str:
        """A group; buckets may name some of so many other ones, or one that is missing."""
        kind = self.random.choice(("all", "indirect", "ff"))
        buckets = []
        for _ in range(1 if kind == "indirect" else self.random.randrange(1, 4)):
            watch = f"watch_port:{self.random.choice(PORTS)}," if kind == "ff" else ""
            change = f"set_field:{self.mac()}->eth_dst," if self.random.random() < 0.3 else ""
            towards = f"output:{self.random.choice(PORTS)}"
            if others and self.random.random() < 0.4:
                towards = f"group:{self.random.randrange(others + 1)}"
            buckets.append(f"bucket={watch}actions={change}{towards}")
        return f"group_id={number},type={kind},{','.join(buckets)}"

    def packet(self) -> int:
        mac = [int(self.mac().replace(":", ""), 16) for _ in range(2)]
        header = fields.packet(dl_src=mac[0], dl_dst=mac[1], dl_type=fields.IPV4)
        if self.random.random() < 0.35:
            tag = fields.packet(
                vlan_present=1, dl_vlan=self.random.choice((4, 5, 6)), dl_vlan_pcp=self.random.choice((0, 3))
            )
            header |= tag
        for name in ("nw_src", "nw_dst"):
            header |= fields.read(name, self.ip())[0]
        number = self.random.choice((fields.TCP, fields.UDP, fields.ICMP))
        header |= fields.packet(nw_proto=number, nw_ttl=64)
        if number != fields.ICMP:
            header |= fields.packet(tp_src=99, tp_dst=self.random.choice((80, 81, 82)))
        return header


def install(ovs: PrivateOvs, draw: Draw) -> Switch:
    """Random tables, and what Open vSwitch says of them."""
    ovs.ofctl("del-flows", BRIDGE)
    ovs.ofctl("del-groups", BRIDGE)
    groups = draw.random.randrange(4)
    for number in range(groups):
        ovs.ofctl("add-group", BRIDGE, draw.group(number))
    again = Draw(draw.random.randrange(1 << 20))
    for number in range(groups):  # they may name each other, in circles too
        ovs.ofctl("mod-group", BRIDGE, again.group(number, groups))
    lines = []
    for table in range(3):
        matches = [draw.match(table) for _ in range(12)]
        lines += [f"{one},actions={draw.actions(table, groups, 'dl_vlan=5' in one)}" for one in matches]
    ovs.run("ovs-ofctl", "-O", "OpenFlow15", "add-flows", BRIDGE, "-", stdin="\n".join(lines))
    ports = ovs.ofctl("dump-ports-desc", BRIDGE)
    return reading.switch(BRIDGE, *ovs.dumps(BRIDGE), ports)


def copies(actions: str, entering: int, ports: dict[str, int]) -> Counter[tuple[int, int]]:
    """The copies that datapath actions send: (OpenFlow port, header); the controller is port 0."""
    header, sent = entering, Counter[tuple[int, int]]()
    for action in reading.split(actions):
        if action in ports:
            sent[ports[action], header] += 1
        elif action.startswith("userspace"):
            sent[0, 0] += 1
        elif action == "pop_vlan":
            header &= ~(fields.MASK["vlan_present"] | fields.MASK["dl_vlan"] | fields.MASK["dl_vlan_pcp"])
        elif action.startswith("push_vlan"):
            values = {
                f"dl_vlan{'_pcp' * (name == 'pcp')}": int(value)
                for name, value in _VALUE.findall(action)
                if name in ("vid", "pcp")
            }
            header |= fields.packet(vlan_present=1, **values)
        elif action.startswith("set("):
            kind, _, rest = action.removeprefix("set(").partition("(")
            for name, value in _VALUE.findall(rest):
                if name in _NAMES.get(kind, ()):
                    value, mask = fields.read(_NAMES[kind][name], value)
                    header = header & ~mask | value
        else:
            raise AssertionError(action)
    return sent


def _shown(sent: Counter[tuple[int, int]]) -> list[str]:
    return [f"{count} by {port}: {fields.text(header)}" for (port, header), count in sent.items()]


def alternatives(switch: Switch, port: int, header: int) -> list[Counter[tuple[int, int]]]:
    """The copies of each alternative; none where the verifier says that it does not know."""
    every = []
    for alternative in process(switch, port, header):
        sent = Counter[tuple[int, int]]()
        for copy in alternative:
            if isinstance(copy, Unanalysed):
                assert copy.reason == "a second VLAN tag"
                return []
            sent[(copy.port, copy.header) if isinstance(copy, Sent) else (0, 0)] += 1
        every.append(sent)
    return every


@pytest.mark.parametrize("seed", range(20))
def test_random_tables_do_what_open_vswitch_does(
    seed: int, ovs: PrivateOvs, bridge: dict[str, int], request: pytest.FixtureRequest
) -> None:
    draw = Draw(seed)
    down = draw.random.choice((None, *PORTS))
    if down is not None:
        ovs.ofctl("mod-port", BRIDGE, str(down), "down")
        request.addfinalizer(lambda: ovs.ofctl("mod-port", BRIDGE, str(down), "up"))
    switch = install(ovs, draw)
    packets = [
        (draw.random.choice([port for port in PORTS if port != down]), draw.packet()) for _ in range(PACKETS)
    ]
    words = [(BRIDGE, f"in_port={port},{fields.text(header)}") for port, header in packets]
    several = unknown = 0
    for (port, header), text in zip(packets, ovs.appctls("ofproto/trace", words), strict=True):
        done = _DATAPATH.findall(text)[-1].replace("drop", "")
        sent, every = copies(done, header, bridge), alternatives(switch, port, header)
        # Open vSwitch gives packets to a device that is down, too; the device drops them.
        expected = Counter({copy: count for copy, count in sent.items() if copy[0] not in (down, LOCAL)})
        unknown += not every
        assert not every or expected in every, f"{text}\n{_shown(expected)}\n{[_shown(one) for one in every]}"
        several += len(every) > 1
    assert several < PACKETS  # entries that overlap at one priority
    assert unknown < PACKETS / 2


def test_what_is_not_understood_is_said_to_be(ovs: PrivateOvs, bridge: dict[str, int]) -> None:
    ovs.ofctl("del-flows", BRIDGE)
    lines = ("priority=9,in_port=1,ct_state=+trk,ip,actions=output:2", "priority=5,actions=output:3",
             "priority=9,in_port=2,actions=NORMAL", "priority=9,in_port=4,ip,actions=resubmit(,1),output:3",
             "priority=9,in_port=4,arp,actions=push_mpls:0x8847,output:3",
             "priority=9,mpls,mpls_label=7,actions=output:2")  # fmt: skip
    ovs.ofctl("add-flows", BRIDGE, "-", stdin="\n".join(lines))
    switch = reading.switch(BRIDGE, *ovs.dumps(BRIDGE), ovs.ofctl("dump-ports-desc", BRIDGE))
    ip = fields.packet(dl_type=fields.IPV4)
    assert (Unanalysed("match on ct_state=+trk"),) in process(switch, 1, ip)
    assert process(switch, 1, fields.packet(dl_type=fields.ARP)) == (
        (Sent(3, fields.packet(dl_type=fields.ARP)),),
    )
    assert process(switch, 2, ip) == ((Unanalysed("action NORMAL"),),)
    assert (Unanalysed("match on mpls_label=7"),) in process(switch, 3, fields.packet(dl_type=0x8847))
    assert process(switch, 3, ip) == ((),)  # the entry for MPLS concerns no IP packet; 3 is where it came from
    assert (Unanalysed("action resubmit(,1)"), Sent(3, ip)) in process(switch, 4, ip)
    (copies,) = process(switch, 4, fields.packet(dl_type=fields.ARP))
    assert Unanalysed("action push_mpls:0x8847") in copies
    assert ToController not in map(type, process(switch, 3, ip)[0])


def test_meters_and_overlaps_in_any_table_are_noted(ovs: PrivateOvs, bridge: dict[str, int]) -> None:
    ovs.ofctl("del-flows", BRIDGE)
    ovs.ofctl("add-meter", BRIDGE, "meter=1,kbps,band=type=drop,rate=1000")
    lines = ("priority=9,ip,actions=meter:1,goto_table:1",
             "table=1,priority=5,nw_dst=10.0.0.0/24,ip,actions=output:2",
             "table=1,priority=5,nw_src=10.0.0.0/24,ip,actions=output:3")  # fmt: skip
    ovs.ofctl("add-flows", BRIDGE, "-", stdin="\n".join(lines))
    switch = reading.switch(BRIDGE, *ovs.dumps(BRIDGE), ovs.ofctl("dump-ports-desc", BRIDGE))
    noted = Noted()
    header = fields.packet(dl_type=fields.IPV4, nw_dst=0x0A000001, nw_src=0x0A000002)
    assert set(process(switch, 1, header, noted)) == {(Sent(2, header),), (Sent(3, header),)}
    assert list(noted.meters) == ["meter:1"]
    assert [len(entries) for entries in noted.overlaps] == [2]
