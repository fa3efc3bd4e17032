"""Chains of merged states equal those of a rule that is asked for every header at every node."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

from addressing.header import DELIVER, Drop, Forward, Header, NextHops, Pattern, exact, only, uniform
from addressing.registry import bind, compatible_schemes
from addressing.scheme import ForwardingClass, Scheme, walk
from addressing.schemes.brp import Brp
from addressing.schemes.ecmp import Ecmp
from dcnlab.evaluator.graph import failures
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.routing.chains.exploring import Explorer, explore
from dcnlab.evaluator.routing.chains.tabled import Tabled, questions
from dcnlab.evaluator.routing.path_lengths import path_lengths, with_failure_knowledge
from dcnlab.evaluator.routing.tables.compiled_tables import CompiledTables
from dcnlab.evaluator.routing.vectorized import searches_of
from dcnlab.evaluator.traffic.flows import flows
from dcnlab.evaluator.traffic.loads import carried_load
from dcnlab.traffic.patterns import Traffic, traffic
from tests.addressing.cases import covering
from tests.topos.graphs import built
from topos.fabric import Fabric
from topos.family import Family
from topos.graph import ALL_UP, LinkState
from topos.registry import known


def assert_merging_changes_nothing(scheme: Scheme, down: LinkState, known_down: LinkState, to: int) -> None:
    fabric = scheme.fabric
    cost = np.ones(fabric.size, dtype=np.int32)
    sources = [source for source in range(fabric.servers) if source != to]
    merged = Explorer(scheme, cost, down, known_down).chain(to, sources)
    plain = explore(scheme, to, sources, cost, down, known_down)
    assert merged.size <= plain.size + len(sources)
    for source in sources[:: max(1, len(sources) // 12)]:
        one, other = merged.outcome(source), plain.outcome(source)
        width = max(len(one), len(other))
        assert np.pad(one, (0, width - len(one))) == pytest.approx(np.pad(other, (0, width - len(other))))
    (loads, arrived), expected = (
        merged.loads(len(fabric.adjacency.peer)),
        plain.loads(len(fabric.adjacency.peer)),
    )
    assert loads == pytest.approx(expected[0])
    assert arrived == expected[1]
    assert merged.crossings()[0].tolist() == plain.crossings()[0].tolist()
    assert merged.crossings()[2].sum() == pytest.approx(loads.sum())


CASES = covering(
    (family.example, name)
    for family in known().values()
    for name in compatible_schemes(built(family.example).family)
)


@pytest.mark.parametrize(("spec", "name"), CASES)
@pytest.mark.parametrize(("failing", "knowledge"), [("", "yes"), ("links=8%", "yes"), ("nodes=8%", "local")])
def test_merging_states_changes_nothing(spec: str, name: str, failing: str, knowledge: str) -> None:
    network = built(spec)
    scheme, failed = bind(name, network), failures.draw(network, failing, seed=3)
    bound, seen = with_failure_knowledge(scheme, failed.links, "local" if knowledge == "local" else "yes")
    alive = choose(network, "servers", 1, failed.nodes).destinations
    for to in alive[[0, -1]].tolist()[: 1 if searches_of(scheme) else 2]:
        assert_merging_changes_nothing(bound, failed.links, seen, to)


@pytest.mark.parametrize(("spec", "name"), CASES)
@pytest.mark.parametrize("failing", ["", "links=8%"])
def test_packets_that_follow_tables_fare_as_by_the_rule(spec: str, name: str, failing: str) -> None:
    network = built(spec)
    failed = failures.draw(network, failing, seed=3).links
    scheme, cost = bind(name, network).with_failures(failed), np.ones(network.size, dtype=np.int32)
    if questions(scheme) == np.inf:
        pytest.skip("its tables are not compiled")
    explorer = Explorer(scheme, cost, failed, failed)
    tabled = Tabled(CompiledTables(scheme), cost, explorer.usable, explorer.first)
    for to in (0, network.servers - 1)[: 1 if searches_of(scheme) else 2]:
        sources = np.array([source for source in range(network.servers) if source != to])
        by_tables = tabled.chain(to, explorer.sent(to, sources))
        assert explore(scheme, to, sources, cost, failed, failed).agrees(by_tables, len(explorer.usable))


@dataclass(frozen=True)
class OwnBrp(Brp):
    """BCube's source routing without its vectorised form."""

    name: ClassVar[str] = "own-brp"
    asked: Counter[int] = field(default_factory=Counter, compare=False)

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        self.asked[at] += 1
        return super().next_hops(at, header, links)


def test_a_rule_is_asked_once_per_class_where_many_packets_are_alike() -> None:
    network = built("bcube:16,1")
    own, pairs = OwnBrp(network), choose(network, "servers", 1)
    assert (path_lengths(own, pairs).joint == path_lengths(bind("brp", network), pairs).joint).all()
    entries = 256 * (2 * 15 + 1) + 32 * 16
    assert sum(own.asked.values()) < 4 * entries < len(pairs), "some are asked twice, others before tables pay"


@dataclass(frozen=True)
class Own(Ecmp):
    """Equal-cost multipath as a user may write it: a scheme without a vectorised form."""

    name: ClassVar[str] = "own"
    asked: Counter[tuple[int, int, int]] = field(default_factory=Counter, compare=False)

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        self.asked[at, header.label, 0] += 1
        return super().next_hops(at, header, links)


def test_a_rule_is_asked_once_for_a_node_and_a_label() -> None:
    network = built("fattree:4")
    own, ecmp = Own(network), bind("ecmp", network)
    pairs = choose(network, "servers", 1)
    assert carried_load(own, pairs).loads == pytest.approx(carried_load(ecmp, pairs).loads)
    again = {asked: count for asked, count in own.asked.items() if count > 1}
    assert {label for _, label, _ in again} == {0}, "only the answers for the first destination are checked"
    assert len(own.asked) == 20 * 16, "every switch for every server"
    wanted = traffic(network, "permutation", 1)
    one, other = flows(own, wanted), flows(ecmp, wanted)
    size = len(network.adjacency.peer)
    assert one.loads(size) == pytest.approx(other.loads(size))
    twice = Traffic("", np.repeat(wanted.sources, 2), np.repeat(wanted.destinations, 2), np.ones(32))
    assert flows(own, twice).loads(size) == pytest.approx(2 * other.loads(size)), "flows of one pair"


class Ring(Scheme):
    """On a ring of servers: clockwise; the rule is completed by each test."""

    name: ClassVar[str] = "ring-test"
    summary: ClassVar[str] = ""
    source: ClassVar[str] = ""

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        return None

    @property
    def label_bits(self) -> int:
        return 8

    @property
    def tag_bits(self) -> int:
        return 4

    def label(self, node: int) -> int:
        return node

    def forwarding_classes(self, at: int) -> Iterable[ForwardingClass]:
        yield from ((exact(node, 8), Header(node)) for node in range(self.fabric.servers))

    def by(self, at: int) -> tuple[Forward, Forward]:
        """To the next server, and to the one before."""
        size = self.fabric.servers
        ports = [self.fabric.port_to(at, (at + step) % size) for step in (1, -1)]
        return Forward(ports[0] or 0), Forward(ports[1] or 0)


@dataclass(frozen=True)
class Straight(Ring):
    """Reads the arrival port: packets go on in the direction in which they started, at random."""

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        if header.label == at:
            return DELIVER
        ahead, back = self.by(at)
        if not header.in_port:
            return uniform([ahead, back])
        return only(ahead if header.in_port == back.port else back)


@dataclass(frozen=True)
class Compared(Ring):
    """Compares and stores whole headers, so that equality and hashes count as reading all of it."""

    seen: dict[Header, int] = field(default_factory=dict, compare=False)

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        if (
            header == Header(at, header.tag, header.in_port)
            and Header(at, header.tag, header.in_port) == header
        ):
            return DELIVER
        self.seen.setdefault(header, at)
        return only(self.by(at)[0] if {header: True}.get(Header(header.label)) else self.by(at)[1])


@dataclass(frozen=True)
class Counting(Ring):
    """Rewrites the tag at each hop, and turns round or drops when it is full."""

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        if header.label == at:
            return DELIVER
        if header.tag == 6:
            return ((Drop("too far"), 0.5), (Forward(self.by(at)[1].port, tag=0), 0.5))
        return only(Forward(self.by(at)[0].port, tag=header.tag + 1))


@dataclass(frozen=True)
class Missing(Ring):
    """Names ports that do not exist, and delivers at wrong servers."""

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        if at in (header.label, 2):
            return DELIVER
        return only(self.by(at)[0] if at != 5 else Forward(9))


@pytest.mark.parametrize("kind", [Straight, Compared, Counting, Missing])
@pytest.mark.parametrize("down", [ALL_UP, LinkState(frozenset({3}))])
def test_whatever_a_rule_reads_and_writes_is_kept_apart(kind: type[Ring], down: LinkState) -> None:
    network = built("torus:9")
    for to in (0, 4, 8):
        assert_merging_changes_nothing(kind(network), down, ALL_UP, to)


def test_a_packet_goes_on_in_its_direction() -> None:
    """The merged chain equals the plain walk, packet by packet."""
    network = built("torus:9")
    chain = Explorer(Straight(network), np.ones(9, dtype=np.int32)).chain(3, [0])
    runs = [sum(1 for _ in walk(Straight(network), 0, 3, rng=random.Random(seed))) - 1 for seed in range(64)]
    assert set(runs) == set(np.flatnonzero(chain.outcome(0)).tolist()) == {3, 6}


@dataclass(frozen=True)
class Lying(Ring):
    """States other classes than its rule has."""

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        return DELIVER if header.label == at else only(self.by(at)[header.label % 2])

    def forwarding_classes(self, at: int) -> Iterable[ForwardingClass]:
        yield Pattern(), Header(1)
        yield exact(at, 8), Header(at)


def test_tables_that_do_not_state_the_rule_are_not_followed() -> None:
    network = built("torus:40")
    pairs, lying = choose(network, "servers", 1), Lying(network)
    assert questions(lying) < len(pairs) / 4
    lengths, expected = path_lengths(lying, pairs), path_lengths(lying, pairs, generic=True)
    assert (lengths.joint == expected.joint).all()


@dataclass(frozen=True)
class Drawing(Ring):
    """Draws the direction itself, from the module's generator, its own, or a counter."""

    how: str = "module"
    own: random.Random | None = field(default=None, compare=False)
    asked: Counter[int] = field(default_factory=Counter, compare=False)

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        self.asked[at] += 1
        if header.label == at:
            return DELIVER
        draw = random.random() if self.own is None else self.own.random()
        if self.how == "counter":
            draw = self.asked[at] % 2
        return only(self.by(at)[draw > 0.5])


@pytest.mark.parametrize("how", ["module", "counter"])
def test_rules_that_draw_are_asked_for_every_header(how: str) -> None:
    explorer = Explorer(Drawing(built("torus:9"), how), np.ones(9, dtype=np.int32))
    explorer.chain(3, [0, 5])
    assert not explorer.merging
    own = Drawing(built("torus:9"), own=random.Random(1))
    assert not Explorer(own, np.ones(9, dtype=np.int32)).merging


def test_a_network_of_plain_hosts_has_a_state_per_node() -> None:
    network: Fabric = built("fattree:4")
    chain = Explorer(Own(network), np.ones(network.size, dtype=np.int32)).chain(0, range(1, 16))
    assert chain.size == 2 + 20 + 1 + 15, "the ends, the switches, the destination, and the sources"
