"""The controller's decisions without I/O: whatever happens, tables end up as predicted."""

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
from controller.core import Core, Effect, Event, PacketOut, Send, address
from controller.rules import FlowTable
from topos import registry as topologies
from topos.graph import LinkState


def bind(topology: str, scheme: str) -> Scheme:
    return schemes.bind(scheme, topologies.fabric(topology))


class World:
    """Switches that do what they are told, and answer barriers when they are asked to."""

    def __init__(self, scheme: Scheme) -> None:
        self.scheme = scheme
        self.core = Core(scheme, 0.0)
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
            else:
                self.receive(effect)

    def receive(self, send: Send) -> None:
        before = FlowTable() if send.reset else self.tables[send.switch]
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
    world = World(bind("bcube:4,1", "brp"))
    world.connect()
    assert not world.events
    world.reply(7)
    assert [event["switch"] for event in world.named("installed")] == [f"s{j}" for j in range(7)]
    assert not world.named("ready")
    world.reply(1)
    assert world.named("ready") == [{"event": "ready", "seconds": 1.0}]
    assert all(event["entries"] == 4 for event in world.named("installed"))
    world.check(set())


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
@given(steps)
@settings(max_examples=40)
def test_tables_follow_whatever_happens(scheme: str, happenings: list[tuple[str, Any, Any]]) -> None:
    world = World(bind("bcube:4,1", scheme))
    fabric, core = world.scheme.fabric, world.core
    world.connect()
    reported, ports, requests = set[int](), set[int](), 0
    for what, item, up in happenings:
        if what == "port":
            (ports.discard if up else ports.add)(item)
            end = fabric.link(item).b
            world.do(core.port(end.node, end.number, up, 1.0))
        elif what == "links":
            reported, requests = item, requests + 1
            world.do(core.links(item, 1.0, requests))
        elif what == "lose":
            world.tables.pop(item, None)
            world.do(core.disconnected(item, 1.0))
            world.do(core.connected(item))
        elif what == "reply":
            world.reply(item)
        else:
            world.do(core.apply_port_changes(1.0))
    world.do(core.apply_port_changes(1.0))
    world.reply(1000)
    world.check(reported | ports)
    answered = [event["request"] for event in world.named("converged") if "request" in event]
    assert sorted(answered) == list(range(1, requests + 1))


def test_a_port_that_was_never_up_is_no_failure() -> None:
    """While a lab is built its cables appear one end at a time."""
    world = World(bind("bcube:4,1", "brp"))
    world.do(world.core.connected(16))
    world.do(world.core.port(16, 1, False, 0.0))
    world.do(world.core.apply_port_changes(0.0))
    assert not world.events
    world.do(world.core.port(16, 1, True, 0.0))
    world.do(world.core.port(16, 1, False, 0.5))
    world.do(world.core.port(16, 9, False, 0.5))
    world.do(world.core.port(16, 0xFFFFFFFE, False, 0.5))
    assert world.events == [{"event": "port", "switch": "s0", "port": 1, "up": False, "link": 0}]


def test_only_what_changes_is_sent_to_the_nearest_first() -> None:
    world = World(bind("bcube:4,1", "brp"))
    world.connect()
    world.reply(8)
    sent = [effect for effect in world.core.links({17}, 2.0) if isinstance(effect, Send)]
    (send,) = sent
    assert len(send.changes) == 1
    assert world.scheme.fabric.link(17).b.node == send.switch
    world = World(bind("bcube:4,1", "wmgr"))
    world.connect()
    sends = [effect.switch for effect in world.core.links({17}, 2.0) if isinstance(effect, Send)]
    assert sends[0] == send.switch


def test_converged_waits_for_rounds_before_it() -> None:
    world = World(bind("bcube:4,1", "brp"))
    world.connect()
    world.reply(8)
    end = world.scheme.fabric.link(3).b
    world.do(world.core.port(end.node, end.number, False, 2.0))
    world.do(world.core.apply_port_changes(2.0))
    world.do(world.core.links({3}, 2.0, 7))
    assert not world.named("converged")
    world.reply(1)
    first, second = world.named("converged")
    assert (first["down"], first["flow_mods"], first["switches"]) == ([3], 1, 1)
    assert (second["down"], second["flow_mods"], second["request"]) == ([3], 0, 7)


def asks(sender: int, sender_ip: int, target_ip: int) -> bytes:
    who = ARP(op=1, hwsrc=mac.text(sender), psrc=ipv4.text(sender_ip), pdst=ipv4.text(target_ip))
    return bytes(Ether(src=mac.text(sender), dst="ff:ff:ff:ff:ff:ff") / who)


@pytest.mark.parametrize("name", ["hrsw", "wmgr"])
def test_hosts_are_answered_from_knowledge(name: str) -> None:
    scheme = bind("smallworld:4x4,clusters=2x2,hosts=1", name)
    world = World(scheme)
    world.connect()
    ask = asks(mac.hardware(0, 1), scheme.ipv4(0), scheme.ipv4(9))
    world.do(world.core.packet_in(scheme.fabric.servers, 1, ask))
    (out,) = world.frames
    assert (out.switch, out.port) == (scheme.fabric.servers, 1)
    told = Ether(out.frame)
    assert told.dst == mac.text(mac.hardware(0, 1))
    assert (told[ARP].psrc, told[ARP].hwsrc) == (ipv4.text(scheme.ipv4(9)), mac.text(address(scheme, 9)))
    label = mac.encode(scheme.label(9), scheme.label_bits) if name == "wmgr" else mac.hardware(9, 1)
    assert address(scheme, 9) == label


def test_nobody_is_answered_about_strangers_or_oneself() -> None:
    scheme = bind("smallworld:4x4,clusters=2x2,hosts=1", "hrsw")
    world, switch = World(scheme), scheme.fabric.servers
    own = scheme.ipv4(0)
    for port, data in (
        (1, asks(1, own, 0x08080808)),
        (1, asks(1, own, own)),
        (2, asks(1, own, own)),
        (1, b"x"),
    ):
        world.do(world.core.packet_in(switch, port, data))
    world.do(world.core.stats())
    assert not world.frames
    (stats,) = world.events
    assert (stats["packet_ins"], stats["unanswered"], stats["ignored"]) == (4, 2, 2)


def test_hosts_hear_of_new_labels() -> None:
    """After a failure that moves a subtree, exactly the askers of moved servers are told."""
    scheme = bind("smallworld:4x4,clusters=2x2,hosts=1", "wmgr")
    fabric, world = scheme.fabric, World(scheme)
    world.connect()
    for target in range(1, 16):
        asked = asks(mac.hardware(0, 1), scheme.ipv4(0), scheme.ipv4(target))
        world.do(world.core.packet_in(fabric.servers, 1, asked))
    world.frames.clear()
    world.reply(100)
    tree_link = fabric.link_at(fabric.servers, 2)
    world.do(world.core.links({tree_link}, 1.0))
    world.reply(100)
    after = scheme.with_failures(LinkState(frozenset({tree_link})))
    moved = {t for t in range(1, 16) if address(after, t) != address(scheme, t)}
    assert moved
    told = {Ether(out.frame)[ARP].psrc: Ether(out.frame)[ARP].hwsrc for out in world.frames}
    assert told == {ipv4.text(scheme.ipv4(t)): mac.text(address(after, t)) for t in moved}
    assert {(out.switch, out.port) for out in world.frames} == {(fabric.servers, 1)}
