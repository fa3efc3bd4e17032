"""The controller's decisions without I/O: after any sequence of events the tables are as predicted."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.l2 import ARP, Ether

from addressing import registry as schemes
from addressing.fields import ipv4, mac
from addressing.scheme import Scheme
from controller import plan
from controller.core import Core
from controller.effects import Effect, Event, PacketOut, ReadTable, Send
from controller.hosts.answering import address
from controller.rules import FlowTable
from topos import registry as topologies
from topos.graph import LinkState


def bind(topology: str, scheme: str) -> Scheme:
    return schemes.bind(scheme, topologies.fabric(topology))


class Switches:
    """Switches that carry out messages, and answer barriers when the test says so."""

    def __init__(self, scheme: Scheme, resume: Iterable[int] | None = None, ordered: bool = False) -> None:
        self.scheme = scheme
        self.core = Core(scheme, 0.0, resume, ordered=ordered)
        self.tables: dict[int, FlowTable] = {}
        self.barriers: deque[int] = deque()
        self.events: list[dict[str, Any]] = []
        self.frames: list[PacketOut] = []

    def do(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Event):
                self.events.append(dict(effect.fields))
            elif isinstance(effect, PacketOut):
                self.frames.append(effect)
            elif isinstance(effect, ReadTable):
                self.do(self.core.table_read(effect.switch, self.tables.get(effect.switch, FlowTable())))
            else:
                self.receive(effect)

    def receive(self, send: Send) -> None:
        before = FlowTable() if send.reset else self.tables.get(send.switch, FlowTable())
        self.tables[send.switch] = plan.apply(before, send.changes)
        self.barriers.append(send.barrier_id)

    def reply(self, number: int) -> None:
        for _ in range(min(number, len(self.barriers))):
            self.do(self.core.barrier(self.barriers.popleft(), 1.0))

    def connect(self) -> None:
        fabric = self.scheme.fabric
        for switch in range(fabric.servers, fabric.size):
            self.do(self.core.connected(switch))
            for port, _ in fabric.ports(switch):
                self.do(self.core.port(switch, port, True, 0.0))

    def named(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == name]

    def check(self, down: set[int]) -> None:
        """Every connected switch holds what is predicted for this link state."""
        links = LinkState(frozenset(down))
        scheme = self.scheme.with_failures(links)
        for switch, table in self.tables.items():
            assert table == plan.desired_table(scheme, switch, links)


def test_ready_once_all_switches_have_acknowledged() -> None:
    switches = Switches(bind("bcube:4,1", "brp"))
    switches.connect()
    assert not switches.events
    switches.reply(7)
    assert [event["switch"] for event in switches.named("installed")] == [f"s{j}" for j in range(7)]
    assert not switches.named("ready")
    switches.reply(1)
    assert switches.named("ready") == [{"event": "ready", "seconds": 1.0}]
    assert all(event["entries"] == 4 for event in switches.named("installed"))
    switches.check(set())


steps = st.lists(
    st.one_of(
        st.tuples(st.just("port"), st.integers(0, 31), st.booleans()),
        st.tuples(st.just("links"), st.sets(st.integers(0, 31), max_size=3), st.none()),
        st.tuples(st.just("lose"), st.integers(16, 23), st.none()),
        st.tuples(st.just("reply"), st.integers(1, 9), st.none()),
        st.tuples(st.just("settle"), st.none(), st.none()),
    ),
    max_size=12,
)


@pytest.mark.parametrize("scheme", ["brp", "wmgr", "ecmp"])
@given(steps, st.booleans())
@settings(max_examples=40)
def test_tables_follow_any_sequence_of_events(
    scheme: str, events: list[tuple[str, Any, Any]], ordered: bool
) -> None:
    switches = Switches(bind("bcube:4,1", scheme), ordered=ordered)
    fabric, core = switches.scheme.fabric, switches.core
    switches.connect()
    reported, ports, requests = set[int](), set[int](), 0
    halves = [range(16, 20), range(20, 24)] if ordered else [None]
    for what, item, up in events:
        if what == "port":
            (ports.discard if up else ports.add)(item)
            end = fabric.link(item).b
            switches.do(core.port(end.node, end.number, up, 1.0))
        elif what == "links":
            reported = item
            for among in halves:
                requests += 1
                switches.do(core.links(item, 1.0, requests, among))
        elif what == "lose":
            switches.tables.pop(item, None)
            switches.do(core.disconnected(item, 1.0))
            switches.do(core.connected(item))
        elif what == "reply":
            switches.reply(item)
        else:
            switches.do(core.apply_port_changes(1.0))
    switches.do(core.apply_port_changes(1.0))
    if ordered:  # only the lab has tables change
        requests += 1
        switches.do(core.links(reported, 1.0, requests))
    while switches.barriers:
        switches.reply(1)
    switches.check(reported | ports)
    answered = [event["request"] for event in switches.named("converged") if "request" in event]
    assert sorted(answered) == list(range(1, requests + 1))


def test_a_port_that_was_never_up_is_not_a_failure() -> None:
    """While a lab is built, links appear one end at a time."""
    switches = Switches(bind("bcube:4,1", "brp"))
    switches.do(switches.core.connected(16))
    switches.do(switches.core.port(16, 1, False, 0.0))
    switches.do(switches.core.apply_port_changes(0.0))
    assert not switches.events
    switches.do(switches.core.port(16, 1, True, 0.0))
    switches.do(switches.core.port(16, 1, False, 0.5))
    switches.do(switches.core.port(16, 9, False, 0.5))
    switches.do(switches.core.port(16, 0xFFFFFFFE, False, 0.5))
    assert switches.events == [{"event": "port", "switch": "s0", "port": 1, "up": False, "link": 0}]


def test_only_what_changes_is_sent_to_the_nearest_first() -> None:
    switches = Switches(bind("bcube:4,1", "brp"))
    switches.connect()
    switches.reply(8)
    sent = [effect for effect in switches.core.links({17}, 2.0) if isinstance(effect, Send)]
    (send,) = sent
    assert len(send.changes) == 1
    assert switches.scheme.fabric.link(17).b.node == send.switch
    switches = Switches(bind("bcube:4,1", "wmgr"))
    switches.connect()
    sends = [effect.switch for effect in switches.core.links({17}, 2.0) if isinstance(effect, Send)]
    assert sends[0] == send.switch


def test_converged_waits_for_earlier_updates() -> None:
    switches = Switches(bind("bcube:4,1", "brp"))
    switches.connect()
    switches.reply(8)
    end = switches.scheme.fabric.link(3).b
    switches.do(switches.core.port(end.node, end.number, False, 2.0))
    switches.do(switches.core.apply_port_changes(2.0))
    switches.do(switches.core.links({3}, 2.0, 7))
    assert not switches.named("converged")
    switches.reply(1)
    first, second = switches.named("converged")
    assert (first["down"], first["flow_mods"], first["switches"]) == ([3], 1, 1)
    assert (second["down"], second["flow_mods"], second["request"]) == ([3], 0, 7)


def test_who_asks_for_reports_hears_when_the_switches_have_answered_or_have_gone() -> None:
    switches = Switches(bind("bcube:4,1", "brp"))
    switches.connect()
    switches.reply(8)
    first, second = list(switches.tables)[:2]
    switches.do(switches.core.reports([first, second], 2.0, 5))
    switches.do(switches.core.reports([second], 2.0, 6))
    assert not switches.named("reported")
    switches.reply(1)
    assert not switches.named("reported")
    switches.do(switches.core.disconnected(second, 2.0))
    assert [event["request"] for event in switches.named("reported")] == [5, 6]
    switches.do(switches.core.reports([second], 2.0, 7))  # nobody is left to ask
    assert switches.named("reported")[-1]["request"] == 7


def arp_request(sender: int, sender_ip: int, target_ip: int) -> bytes:
    request = ARP(op=1, hwsrc=mac.text(sender), psrc=ipv4.text(sender_ip), pdst=ipv4.text(target_ip))
    return bytes(Ether(src=mac.text(sender), dst="ff:ff:ff:ff:ff:ff") / request)


@pytest.mark.parametrize("name", ["hrsw", "wmgr"])
def test_arp_requests_are_answered_from_the_topology(name: str) -> None:
    scheme = bind("smallworld:4x4,clusters=2x2,hosts=1", name)
    switches = Switches(scheme)
    switches.connect()
    request = arp_request(mac.hardware(0, 1), scheme.ipv4(0), scheme.ipv4(9))
    switches.do(switches.core.packet_in(scheme.fabric.servers, 1, request))
    (out,) = switches.frames
    assert (out.switch, out.port) == (scheme.fabric.servers, 1)
    reply = Ether(out.frame)
    assert reply.dst == mac.text(mac.hardware(0, 1))
    assert (reply[ARP].psrc, reply[ARP].hwsrc) == (ipv4.text(scheme.ipv4(9)), mac.text(address(scheme, 9)))
    label = mac.encode(scheme.label(9), scheme.label_bits) if name == "wmgr" else mac.hardware(9, 1)
    assert address(scheme, 9) == label


def test_requests_for_unknown_addresses_or_the_own_one_get_no_answer() -> None:
    scheme = bind("smallworld:4x4,clusters=2x2,hosts=1", "hrsw")
    switches, switch = Switches(scheme), scheme.fabric.servers
    own = scheme.ipv4(0)
    for port, data in (
        (1, arp_request(1, own, 0x08080808)),
        (1, arp_request(1, own, own)),
        (2, arp_request(1, own, own)),
        (1, b"x"),
    ):
        switches.do(switches.core.packet_in(switch, port, data))
    switches.do(switches.core.stats())
    assert not switches.frames
    (stats,) = switches.events
    assert (stats["packet_ins"], stats["unanswered"], stats["ignored"]) == (4, 2, 2)


def test_hosts_get_announcements_of_new_labels() -> None:
    """After a failure that moves a subtree: exactly for moved servers, to the hosts that had resolved them."""
    scheme = bind("smallworld:4x4,clusters=2x2,hosts=1", "wmgr")
    fabric, switches = scheme.fabric, Switches(scheme)
    switches.connect()
    for target in range(1, 16):
        request = arp_request(mac.hardware(0, 1), scheme.ipv4(0), scheme.ipv4(target))
        switches.do(switches.core.packet_in(fabric.servers, 1, request))
    switches.frames.clear()
    switches.reply(100)
    tree_link = fabric.link_at(fabric.servers, 2)
    switches.do(switches.core.links({tree_link}, 1.0))
    switches.reply(100)
    after = scheme.with_failures(LinkState(frozenset({tree_link})))
    moved = {t for t in range(1, 16) if address(after, t) != address(scheme, t)}
    assert moved
    announced = {Ether(out.frame)[ARP].psrc: Ether(out.frame)[ARP].hwsrc for out in switches.frames}
    assert announced == {ipv4.text(scheme.ipv4(t)): mac.text(address(after, t)) for t in moved}
    assert {(out.switch, out.port) for out in switches.frames} == {(fabric.servers, 1)}


@pytest.mark.parametrize("down", [set(), {0}])
def test_a_controller_that_takes_over_changes_only_what_is_wrong(down: set[int]) -> None:
    first = Switches(bind("bcube:4,1", "brp"))
    first.connect()
    first.do(first.core.links(down, 1.0))
    first.reply(1000)
    second = Switches(first.scheme, resume=sorted(down))
    second.tables = dict(first.tables)
    damaged, *others = second.tables
    table = second.tables[damaged]
    second.tables[damaged] = FlowTable(frozenset(list(table.rules)[1:]), table.groups)
    second.connect()
    second.do(second.core.stats())
    assert second.events[-1]["flow_mods"] == 1
    assert {switch: second.tables[switch] for switch in others} == {s: first.tables[s] for s in others}
    second.reply(1000)
    assert len(second.named("ready")) == 1
    second.check(down)


@pytest.mark.parametrize("resume", [True, False])
def test_a_port_that_comes_after_its_controller_is_reported_where_its_link_is_down(resume: bool) -> None:
    """A host has deleted its interface, the switch daemon was started again, and then the controller."""
    fabric = topologies.fabric("fattree:4")
    ports = [(one, number) for one in range(fabric.servers, fabric.size) for number, _ in fabric.ports(one)]
    link = fabric.link_at(*ports[0])
    switches = Switches(bind("fattree:4", "ecmp"), resume=[link] if resume else None)
    for one in range(fabric.servers, fabric.size):
        switches.do(switches.core.connected(one))
    for port in ports:
        if fabric.link_at(*port) != link:
            switches.do(switches.core.port(*port, True, 0.0))
    assert switches.named("port") == []
    switches.do(switches.core.port(*ports[0], True, 1.0))
    told = [(event["link"], event["up"]) for event in switches.named("port")]
    assert told == ([(link, True)] if resume else [])


def test_a_switch_that_connects_again_keeps_its_table() -> None:
    switches = Switches(bind("bcube:4,1", "brp"))
    switches.connect()
    switches.reply(100)
    switch = switches.scheme.fabric.servers
    switches.do(switches.core.disconnected(switch, 1.0))
    before = switches.core.stats()
    (flow_mods,) = (dict(effect.fields)["flow_mods"] for effect in before if isinstance(effect, Event))
    switches.do(switches.core.connected(switch))
    switches.reply(1)
    switches.do(switches.core.stats())
    assert switches.events[-1]["flow_mods"] == flow_mods
    switches.do(switches.core.disconnected(switch, 2.0))
    switches.tables[switch] = FlowTable()  # it was started again
    switches.do(switches.core.connected(switch))
    switches.check(set())


def test_a_port_that_went_while_its_switch_was_away_is_down_until_it_comes_back() -> None:
    switches = Switches(bind("bcube:4,1", "brp"))
    switches.connect()
    fabric = switches.scheme.fabric
    switch, gone = fabric.servers, 2
    numbers = [number for number, _ in fabric.ports(switch)]
    for number in numbers:
        switches.do(switches.core.port(switch, number, True, 0.0))
    switches.do(switches.core.disconnected(switch, 1.0))
    switches.do(switches.core.connected(switch))
    switches.do(switches.core.ports(switch, {*numbers} - {gone}, 2.0))
    switches.do(switches.core.port(switch, gone, True, 3.0))
    told = [(event["port"], event["up"]) for event in switches.named("port")]
    assert told == [(gone, False), (gone, True)]


def test_a_controller_of_some_switches_is_ready_with_these() -> None:
    scheme = bind("bcube:2,1", "brp")
    first = scheme.fabric.servers
    core = Core(scheme, 0.0, switches=[first, first + 2])
    events: list[str] = []
    for switch in core.switches:
        effects = list(core.connected(switch))
        for barrier in [effect.barrier_id for effect in effects if isinstance(effect, Send)]:
            effects += core.barrier(barrier, 1.0)
        events += [effect.fields["event"] for effect in effects if isinstance(effect, Event)]
    assert events == ["installed", "installed", "ready"]
