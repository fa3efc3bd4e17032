"""The order in which switches take new tables, checked after every message by a proof over all packets."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from addressing.scheme import Scheme
from controller.core import Core
from controller.effects import Event, Send
from controller.phases import PHASES
from dcnlab.verifier.checking import Check
from dcnlab.verifier.installed import Installed
from dcnlab.verifier.openflow import reading
from dcnlab.verifier.openflow.tables import PortState, Switch
from tests.controller.test_core import Switches, bind
from topos.graph import ALL_UP, LinkState
from topos.stages import stages


class Watched(Switches):
    """Switches of which each message is followed by a proof: what packets of servers can meet then."""

    def __init__(self, scheme: Scheme, ordered: bool, resume: Sequence[int] | None = None) -> None:
        super().__init__(scheme, resume, ordered)
        self.links: LinkState | None = None
        self.met: set[str] = set()

    def receive(self, send: Send) -> None:
        super().receive(send)
        if self.links is not None:
            self.met |= {f"{one.kind}: {one.reason}" for one in self.violations()}

    def violations(self) -> list[object]:
        assert self.links is not None
        fabric, switches = self.scheme.fabric, {}
        for node, table in self.tables.items():
            text = "\n".join(table.lines())
            read = reading.switch(fabric.name(node), text, text)
            ports = {port: PortState() for port, _ in fabric.ports(node)}
            switches[node] = Switch(read.name, read.entries, read.groups, ports)
        model = Installed(self.scheme.with_failures(self.links), self.links, switches)
        every = Check(model).pairs(model.starts()).violations
        return [one for one in every if not one.reason.endswith("is down")]

    def settle(self) -> None:
        while self.barriers:
            self.reply(1)


def watched(spec: str, scheme: str, ordered: bool, link: int, in_phases: bool = False) -> Watched:
    """What packets have met while a link failed and came back."""
    switches = Watched(bind(spec, scheme), ordered)
    switches.connect()
    switches.settle()
    for down in (LinkState(frozenset({link})), ALL_UP):
        switches.links = down
        turns = stages(switches.scheme.fabric, {link}, bool(down)) if ordered else [None]
        for among, phase in [(None, one) for one in PHASES] if in_phases else [(turn, 0) for turn in turns]:
            switches.do(switches.core.links(down.down, 1.0, among=among, phase=phase))
            switches.settle()
        switches.check(set(down.down))
    return switches


@pytest.mark.parametrize(("spec", "scheme"), [("fattree:4", "shortest"), ("random:6,3,hosts=1", "shortest")])
def test_no_packet_loops_or_vanishes_in_the_loop_free_order(spec: str, scheme: str) -> None:
    fabric = bind(spec, scheme).fabric
    links = [n for n, (a, _, b, _) in enumerate(fabric.link_ends.tolist()) if min(a, b) >= fabric.servers]
    met = {link: watched(spec, scheme, True, link).met for link in links[:: max(1, len(links) // 2)]}
    assert set().union(*met.values()) == set(), met


def test_packets_vanish_in_the_fast_order() -> None:
    fabric = bind("fattree:4", "ecmp").fabric
    links = [n for n, (a, _, b, _) in enumerate(fabric.link_ends.tolist()) if min(a, b) >= fabric.servers]
    assert any(watched("fattree:4", "ecmp", False, link).met for link in links)


LOOPING = [("dragonfly:2,1,1", "tz:seed=4", 6), ("random:6,3,hosts=1", "wmgr", 6)]


def loops(switches: Watched) -> set[str]:
    return {one for one in switches.met if one.startswith("loop")}


@pytest.mark.parametrize(("spec", "scheme", "link"), LOOPING)
def test_packets_that_loop_in_the_order_of_the_distance_do_not_in_phases(
    spec: str, scheme: str, link: int
) -> None:
    assert loops(watched(spec, scheme, True, link))
    assert not loops(watched(spec, scheme, True, link, in_phases=True))


@pytest.mark.parametrize(
    ("spec", "scheme", "link"), [("random:6,3,hosts=1", "ksp:k=2", 9), ("dragonfly:2,1,1", "updown", 6)]
)
def test_no_packet_loops_in_phases(spec: str, scheme: str, link: int) -> None:
    assert not loops(watched(spec, scheme, True, link, in_phases=True))


def test_an_update_that_no_free_bit_can_number_says_that_tables_change_at_once() -> None:
    def said(spec: str, scheme: str) -> str:
        core = Core(bind(spec, scheme), 0.0, ordered=True)
        (converged,) = core.links({0}, 1.0, request=1, phase=PHASES[0])
        assert isinstance(converged, Event)
        return str(converged.fields.get("at_once", ""))

    assert "no bit" in said("fattree:4", "twolevel")
    assert said("fattree:4", "updown") == ""


@pytest.mark.parametrize("ended_in", PHASES)
def test_no_packet_loops_where_the_controller_is_started_again_in_a_phase(ended_in: int) -> None:
    """The next one leaves the tables that it finds, and the lab begins the phase again."""
    spec, scheme, link = LOOPING[0]
    first = Watched(bind(spec, scheme), ordered=True)
    first.connect()
    first.settle()
    first.links = LinkState(frozenset({link}))
    for phase in PHASES[:ended_in]:
        effects = first.core.links({link}, 1.0, phase=phase)
        # In its last phase it has told one switch.
        first.do(itertools.islice(effects, 1 if phase == ended_in else None))
        first.settle()
    second = Watched(first.scheme, ordered=True, resume=[link])
    second.tables, second.links = dict(first.tables), first.links
    second.connect()
    second.settle()
    assert second.tables == first.tables
    for phase in dict.fromkeys((PHASES[0], *PHASES[ended_in - 1 :])):
        second.do(second.core.links({link}, 1.0, phase=phase))
        second.settle()
    second.check({link})
    assert not loops(first) | loops(second)
