"""Compiled tables in Open vSwitch against the schemes' rules, by ofproto/trace.

The tests compile tables and install them in a private Open vSwitch.  Then they trace every header that some
walk between two endpoints brings to a switch.  Every topology and every scheme takes part; every pair of them
where DCNLAB_CATALOGUE says `all`.
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
from controller import plan
from controller.openflow import dump, encode
from controller.rules import FlowTable
from tests.addressing.cases import covering
from tests.ovs import PrivateOvs
from topos import registry as topologies
from topos.fabric import Fabric
from topos.graph import ALL_UP, LinkState

pytestmark = pytest.mark.ovs


def instances() -> Iterator[str]:
    """The example of every family, with switches where the family can have them."""
    for family in topologies.known().values():
        example = topologies.parse(family.example)
        if not example.counts()[1] and any(item.name == "hosts" for item in dataclasses.fields(example)):
            example = dataclasses.replace(example, hosts=1)
        if example.counts()[1]:
            yield example.spec


#: Fewer paths per pair than by default: more paths only make the tables longer.
FEWER = {"ksp": "ksp:k=3"}


PAIRS = covering(
    (spec, FEWER.get(name, name))
    for spec in instances()
    for name in schemes.compatible_schemes(topologies.parse(spec))
)

#: One family for each scheme: there a link fails as well.  Why only there: tests/addressing/test_every_pair.py
#: compares compiled tables with the rule for every pair, with failures.
FAILING = {name: spec for spec, name in PAIRS}


@pytest.fixture(scope="module")
def fabric(request: pytest.FixtureRequest, ovs: PrivateOvs) -> Iterator[Fabric]:
    """The network with a bridge for each of its switches."""
    network = topologies.fabric(request.param)
    ovs.add_fabric(network)
    yield network
    ovs.remove_fabric(network)


@pytest.fixture(scope="module")
def datapath(fabric: Fabric, ovs: PrivateOvs) -> dict[str, tuple[str, int]]:
    """(bridge, OpenFlow port) by the datapath's port number, which traces contain."""
    return {
        str(number): (name.partition("-eth")[0], int(name.partition("-eth")[2] or 0))
        for name, number in ovs.datapath_ports().items()
    }


@dataclass(frozen=True)
class Frame:
    """A frame that leaves a switch: the port (0 for none) and the addresses."""

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
    """Every (switch, header) that occurs on some walk between endpoints, for all random choices.

    With source routes, and after failures: from three sources to every third destination."""
    sources = endpoints = scheme.endpoints()
    if scheme.tag_bits or links:
        sources, endpoints = endpoints[:: -(-len(endpoints) // 3)], endpoints[::3]
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
    """The visits, without those that differ from another only in an arrival port that does not matter.

    Visits where a packet leaves by its arrival port always stay."""
    kept = {}
    visited = visits(scheme, links)
    for at, header in sorted(visited, key=lambda item: (item[0], dataclasses.astuple(item[1]))):
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
    """The frames that leave by the rule, with their weights; Frame(0) for none."""
    frames: dict[Frame, float] = {}
    for action, weight in scheme.next_hops(at, header, links):
        leaving = Frame(0)
        if isinstance(action, Forward):
            leaving = frame(scheme, action.apply(header, scheme.tag_bits), action.port)
            end = scheme.fabric.peer(at, action.port)
            assert end is not None
            if scheme.fabric.is_end_host(end.node) and scheme.label_field is Field.ETH_DST:
                leaving = dataclasses.replace(leaving, eth_dst=mac.text(mac.hardware(end.node, end.number)))
        frames[leaving] = frames.get(leaving, 0.0) + weight
    return frames


def traced(
    ovs: PrivateOvs, questions: list[tuple[str, Frame]], datapath: dict[str, tuple[str, int]]
) -> list[Frame | int]:
    """Of each (bridge, entering frame): the frame that leaves by Open vSwitch's trace; a group's number where
    a group decides."""
    words = [(bridge, f"in_port={frame.port or 'LOCAL'},{sent(frame)}") for bridge, frame in questions]
    texts = ovs.appctls("ofproto/trace", words)
    return [read(text, *question, datapath) for text, question in zip(texts, questions, strict=True)]


def sent(entering: Frame) -> str:
    return f"ip,dl_src={entering.eth_src},dl_dst={entering.eth_dst},nw_dst={entering.ipv4_dst},nw_ttl=64"


def read(text: str, bridge: str, entering: Frame, datapath: dict[str, tuple[str, int]]) -> Frame | int:
    """The result that a trace printed."""
    actions = text.rpartition("Datapath actions: ")[2].strip()
    if "recirc" in actions:
        return int(re.findall(r"group:(\d+)", text)[-1])
    if actions == "drop":
        return Frame(0)
    final = re.findall(r"^Final flow: (.*)$", text, re.MULTILINE)[-1]
    fields = dict(re.findall(r"(\w+)=([^,\s]+)", sent(entering) if final == "unchanged" else final))
    out_bridge, port = datapath[actions.rpartition(",")[2]]
    assert out_bridge == bridge
    return Frame(port, fields["dl_src"], fields["dl_dst"], fields["nw_dst"])


def group_frames(groups: str, number: int, entering: Frame) -> dict[Frame, float]:
    """The frames that leave by the buckets of a group, with their weights."""
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


@pytest.mark.parametrize(("fabric", "name"), PAIRS, indirect=["fabric"], scope="module")
def test_tables_forward_by_the_rule(
    fabric: Fabric, name: str, ovs: PrivateOvs, datapath: dict[str, tuple[str, int]]
) -> None:
    scheme = bind(name, fabric)
    broken = LinkState(frozenset({len(fabric.link_ends) // 2}))
    tables = dict.fromkeys(range(fabric.servers, fabric.size), FlowTable())
    cases = [(ALL_UP, scheme)]
    if FAILING[name] == fabric.spec:
        cases.append((broken, scheme.with_failures(broken)))
    for links, known in cases:
        groups = {}
        for switch in range(fabric.servers, fabric.size):
            table = plan.desired_table(known, switch, links)
            if (changes := plan.diff(tables[switch], table)) or links == ALL_UP:
                reset = encode.reset() if links == ALL_UP else b""
                ovs.send(fabric.name(switch), reset + encode.changes(changes))
            tables[switch] = table
            groups[switch] = ovs.ofctl("dump-groups", fabric.name(switch)) if table.groups else ""
        visited = distinct(known, links)
        entered = [(fabric.name(switch), frame(known, header, header.in_port)) for switch, header in visited]
        results = traced(ovs, entered, datapath)
        for (switch, header), (_, entering), result in zip(visited, entered, results, strict=True):
            rule = expected(known, switch, header, links)
            frames = (
                group_frames(groups[switch], result, entering) if isinstance(result, int) else {result: 1.0}
            )
            assert frames == pytest.approx(rule, abs=1e-3), (fabric.name(switch), header)


class Hairpin(Shortest):
    """A scheme that may send a packet back to its arrival port, by a rule that does not match the port."""

    hairpin = True


class Mirror(Shortest):
    """A scheme that sends every packet back to its arrival port, by one rule per port."""

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        return only(Forward(header.in_port))

    def forwarding_classes(self, at: int) -> Iterator[ForwardingClass]:
        for port, _ in self.fabric.ports(at):
            yield Pattern(in_port=port), Header(0, in_port=port)


@pytest.mark.parametrize("fabric", ["fattree:4"], indirect=True)
@pytest.mark.parametrize("scheme", [Hairpin, Mirror])
def test_packets_can_leave_by_their_arrival_port(
    fabric: Fabric, scheme: type[Shortest], ovs: PrivateOvs, datapath: dict[str, tuple[str, int]]
) -> None:
    bound, switch = scheme(fabric), fabric.servers
    changes = plan.diff(FlowTable(), plan.desired_table(bound, switch))
    ovs.send(fabric.name(switch), encode.reset() + encode.changes(changes))
    for label in range(fabric.servers):
        for port, end in fabric.ports(switch):
            header = Header(label, in_port=port)
            if bound.next_hops(switch, header) == only(Forward(port)) and not fabric.is_end_host(end.node):
                entering = (fabric.name(switch), frame(bound, header, port))
                [result] = traced(ovs, [entering], datapath)
                assert result == frame(bound, header, port)
