"""Open vSwitch itself says what the compiled tables do: ofproto/trace against the schemes' rules.

Every topology x scheme pair is compiled and installed in a private Open vSwitch; then
every header that any walk between any two endpoints brings to a switch is traced there.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from addressing import registry as schemes
from addressing.fields import ipv4, mac
from addressing.header import Field, Forward, Header, NextHops, Pattern, only
from addressing.scheme import ForwardingClass, LabelTooWide, Scheme
from addressing.schemes.shortest import Shortest
from controller import dump, lower, plan
from controller.rules import FlowTable
from tests.ovs import PrivateOvs
from topos import registry as topologies
from topos.fabric import Fabric
from topos.graph import ALL_UP, LinkState

pytestmark = pytest.mark.ovs


def instances() -> Iterator[str]:
    """The example of every family, with switches where it can have them."""
    for family in topologies.known().values():
        example = topologies.parse(family.example)
        if not example.counts()[1] and any(item.name == "hosts" for item in dataclasses.fields(example)):
            example = dataclasses.replace(example, hosts=1)
        if example.counts()[1]:
            yield example.spec


#: Fewer ways per pair than usual: more of them only make the tables longer.
FEWER = {"ksp": "ksp:k=3"}
PAIRS = [
    (spec, FEWER.get(name, name))
    for spec in instances()
    for name in schemes.compatible_schemes(topologies.parse(spec))
]


@pytest.fixture(scope="module")
def fabric(request: pytest.FixtureRequest, ovs: PrivateOvs) -> Iterator[Fabric]:
    """The network with a bridge for each of its switches."""
    found = topologies.fabric(request.param)
    ovs.add_fabric(found)
    yield found
    ovs.remove_fabric(found)


@pytest.fixture(scope="module")
def datapath(fabric: Fabric, ovs: PrivateOvs) -> dict[str, tuple[str, int]]:
    """(bridge, OpenFlow port) by the datapath's port number, as traces name ports."""
    return {
        str(number): (name.partition("-eth")[0], int(name.partition("-eth")[2] or 0))
        for name, number in ovs.datapath_ports().items()
    }


@dataclass(frozen=True)
class Frame:
    """What matters of a frame when it leaves a switch: the port (0: it does not) and its addresses."""

    port: int
    eth_src: str = ""
    eth_dst: str = ""
    ipv4_dst: str = ""


def bind(spec: str, fabric: Fabric) -> Scheme:
    scheme = schemes.bind(spec, fabric)
    try:
        scheme.check_width()
    except LabelTooWide as error:
        pytest.skip(str(error))
    return scheme


def visits(scheme: Scheme, links: LinkState) -> set[tuple[int, Header]]:
    """Every (switch, header) that occurs on a walk between endpoints, whatever is drawn; with source
    routes, and after failures, from three sources to every other destination."""
    sources = endpoints = scheme.endpoints()
    if scheme.tag_bits or links:
        sources, endpoints = endpoints[:: -(-len(endpoints) // 3)], endpoints[::2]
    seen = {
        (source, header)
        for source in sources
        for destination in endpoints
        for header, _ in scheme.headers(source, destination, links)
    }
    pending = list(seen)
    while pending:
        at, header = pending.pop()
        for action, _ in scheme.act(at, header, links):
            end = scheme.fabric.peer(at, action.port) if isinstance(action, Forward) else None
            if end is not None:
                arrived = dataclasses.replace(action.apply(header, scheme.tag_bits), in_port=end.number)
                if (end.node, arrived) not in seen:
                    seen.add((end.node, arrived))
                    pending.append((end.node, arrived))
    return {(at, header) for at, header in seen if not scheme.fabric.is_server(at)}


def distinct(scheme: Scheme, links: LinkState) -> list[tuple[int, Header]]:
    """The visits without those that differ from another by an arrival port that changes nothing;
    packets that go back where they came from always stay."""
    kept = {}
    found = visits(scheme, links)
    for at, header in sorted(found, key=lambda item: (item[0], dataclasses.astuple(item[1]))):
        next_hops = scheme.next_hops(at, header, links)
        back = any(isinstance(action, Forward) and action.port == header.in_port for action, _ in next_hops)
        kept[at, header.label, header.tag, next_hops, back] = (at, header)
    return list(kept.values())


def frame(scheme: Scheme, header: Header, port: int = 0) -> Frame:
    """The frame that carries a header."""
    source = mac.encode(header.tag, scheme.tag_bits) if scheme.tag_bits else mac.hardware(0, 1)
    if scheme.label_field is Field.IPV4_DST:
        return Frame(port, mac.text(source), mac.text(mac.hardware(1, 1)), ipv4.text(header.label))
    return Frame(port, mac.text(source), mac.text(mac.encode(header.label, scheme.label_bits)), "10.0.0.1")


def expected(scheme: Scheme, at: int, header: Header, links: LinkState) -> dict[Frame, float]:
    """What the rule lets leave, with its weights; Frame(0) for nothing."""
    found: dict[Frame, float] = {}
    for action, weight in scheme.next_hops(at, header, links):
        leaving = Frame(0)
        if isinstance(action, Forward):
            leaving = frame(scheme, action.apply(header, scheme.tag_bits), action.port)
            end = scheme.fabric.peer(at, action.port)
            assert end is not None
            if scheme.fabric.is_end_host(end.node) and scheme.label_field is Field.ETH_DST:
                leaving = dataclasses.replace(leaving, eth_dst=mac.text(mac.hardware(end.node, end.number)))
        found[leaving] = found.get(leaving, 0.0) + weight
    return found


def traced(ovs: PrivateOvs, bridge: str, entering: Frame, datapath: dict[str, tuple[str, int]]) -> Frame | int:
    """What Open vSwitch says that leaves ``bridge``; the number of the group where one decides."""
    sent = f"ip,dl_src={entering.eth_src},dl_dst={entering.eth_dst},nw_dst={entering.ipv4_dst},nw_ttl=64"
    text = ovs.appctl("ofproto/trace", bridge, f"in_port={entering.port or 'LOCAL'},{sent}")
    actions = text.rpartition("Datapath actions: ")[2].strip()
    if "recirc" in actions:
        return int(re.findall(r"group:(\d+)", text)[-1])
    if actions == "drop":
        return Frame(0)
    final = re.findall(r"^Final flow: (.*)$", text, re.MULTILINE)[-1]
    fields = dict(re.findall(r"(\w+)=([^,\s]+)", sent if final == "unchanged" else final))
    out_bridge, port = datapath[actions.rpartition(",")[2]]
    assert out_bridge == bridge
    return Frame(port, fields["dl_src"], fields["dl_dst"], fields["nw_dst"])


def spread(groups: str, number: int, entering: Frame) -> dict[Frame, float]:
    """What leaves by the buckets of a group, as Open vSwitch lists them."""
    (line,) = (line for line in dump.normal_lines(groups) if line.startswith(f"group_id={number},"))
    weighted: dict[Frame, float] = {}
    for bucket in line.split("bucket=")[1:]:
        weight = float((re.findall(r"weight:(\d+)", bucket) or ["1"])[0])
        port = int((re.findall(r"output:(\d+)", bucket) or ["0"])[0])
        names = {"eth_src": entering.eth_src, "eth_dst": entering.eth_dst, "ip_dst": entering.ipv4_dst}
        names |= {name: value for value, name in re.findall(r"set_field:([^,]+)->(\w+)", bucket)}
        leaving = Frame(port, names["eth_src"], names["eth_dst"], names["ip_dst"]) if port else Frame(0)
        weighted[leaving] = weighted.get(leaving, 0.0) + weight
    total = sum(weighted.values())
    return {leaving: weight / total for leaving, weight in weighted.items()}


@pytest.mark.parametrize(("fabric", "name"), PAIRS, indirect=["fabric"])
def test_tables_do_what_the_rule_says(
    fabric: Fabric, name: str, ovs: PrivateOvs, datapath: dict[str, tuple[str, int]]
) -> None:
    scheme = bind(name, fabric)
    broken = LinkState(frozenset({len(fabric.link_ends) // 2}))
    for links, known in ((ALL_UP, scheme), (broken, scheme.with_failures(broken))):
        groups = {}
        for switch in range(fabric.servers, fabric.size):
            table = plan.desired_table(known, switch, links)
            ovs.send(fabric.name(switch), lower.reset() + lower.changes(plan.diff(FlowTable(), table)))
            groups[switch] = ovs.ofctl("dump-groups", fabric.name(switch)) if table.groups else ""
        for switch, header in distinct(known, links):
            entering = frame(known, header, header.in_port)
            found = traced(ovs, fabric.name(switch), entering, datapath)
            rule = expected(known, switch, header, links)
            done = spread(groups[switch], found, entering) if isinstance(found, int) else {found: 1.0}
            assert done == pytest.approx(rule, abs=1e-3), (fabric.name(switch), header)


class Turning(Shortest):
    """A scheme that may send a packet back, by a rule that does not look at the port."""

    hairpin = True


class Mirror(Shortest):
    """Every packet goes back where it came from, by one rule per port."""

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        return only(Forward(header.in_port))

    def forwarding_classes(self, at: int) -> Iterator[ForwardingClass]:
        for port, _ in self.fabric.ports(at):
            yield Pattern(in_port=port), Header(0, in_port=port)


@pytest.mark.parametrize("fabric", ["fattree:4"], indirect=True)
@pytest.mark.parametrize("scheme", [Turning, Mirror])
def test_packets_can_go_back_where_they_came_from(
    fabric: Fabric, scheme: type[Shortest], ovs: PrivateOvs, datapath: dict[str, tuple[str, int]]
) -> None:
    bound, switch = scheme(fabric), fabric.servers
    changes = plan.diff(FlowTable(), plan.desired_table(bound, switch))
    ovs.send(fabric.name(switch), lower.reset() + lower.changes(changes))
    for label in range(fabric.servers):
        for port, end in fabric.ports(switch):
            header = Header(label, in_port=port)
            if bound.next_hops(switch, header) == only(Forward(port)) and not fabric.is_end_host(end.node):
                found = traced(ovs, fabric.name(switch), frame(bound, header, port), datapath)
                assert found == frame(bound, header, port)
