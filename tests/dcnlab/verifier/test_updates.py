"""Updates against every mixture of old and new tables, each checked by itself."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import networkx as nx
import pytest

from controller import phases
from dcnlab.verifier.offline import Place
from dcnlab.verifier.search import Ending, Kind
from dcnlab.verifier.updates import NEW, OLD, Update, UpdateReport
from tests.addressing.cases import bound, few, pairs
from topos.graph import LinkState

#: Small networks, so that all mixtures can be tried.
CASES = (("torus:2x3", "dor"), ("hypercube:2,hosts=1", "shortest"), ("torus:2x3", "pow"),
         ("torus:5", "shortest"), ("jellyfish:4,8,3", "tz"), ("random:6,3,hosts=1", "wmgr"))  # fmt: skip


def looping(update: Update, mixture: Mapping[int, str]) -> set[tuple[int, int]]:
    """The pairs whose packets can loop where each node does what the mixture says, by networkx."""
    graph: nx.DiGraph = nx.DiGraph()
    pending = [place for places in update.starts().values() for place in places]
    graph.add_nodes_from(pending)
    seen = set(pending)
    while pending:
        place: Place = pending.pop()
        for copy in update.act(mixture.get(place[0], OLD), place):
            if not isinstance(copy, Ending):
                graph.add_edge(place, copy)
                if copy not in seen:
                    seen.add(copy)
                    pending.append(copy)
    circles = {node for part in nx.strongly_connected_components(graph) if len(part) > 1 for node in part}
    into = set(circles)
    for node in circles:
        into |= nx.ancestors(graph, node)
    return {pair for pair, places in update.starts().items() if into.intersection(places)}


@pytest.mark.parametrize(("spec", "text"), CASES)
def test_pairs_that_can_loop_are_those_of_some_mixture(spec: str, text: str) -> None:
    scheme = bound(spec, text)
    fabric = scheme.fabric
    for link, restored in itertools.product(range(0, len(fabric.link_ends), 3), (False, True)):
        update = Update(scheme, LinkState(frozenset({link})), restored)
        kinds = dict.fromkeys(update.changed, (OLD, NEW))

        def allowed(node: int, kinds: Mapping[int, tuple[str, ...]] = kinds) -> tuple[str, ...]:
            return kinds.get(node, (OLD,))

        report = update.check(allowed)
        assert report.undecided == 0
        nodes = sorted(update.changed)
        if len(nodes) > 8:
            continue
        every: set[tuple[int, int]] = set()
        for choice in itertools.product((OLD, NEW), repeat=len(nodes)):
            every |= looping(update, dict(zip(nodes, choice, strict=True)))
        assert report.looping == len(every)


def test_the_farthest_first_order_is_free_of_loops_where_any_order_is_not() -> None:
    for spec, text, link in (("torus:4x4", "dor", 0), ("dcell:4,1", "shortest", 3), ("clot:4x4", "pow", 0)):
        update = Update(bound(spec, text), LinkState(frozenset({link})))
        report = update.check()
        assert report.looping > 0
        assert report.example is not None
        assert report.example.circle[0] == report.example.circle[-1]
        assert set(report.example.versions.values()) - {OLD}
        turns = [*update.by_distance()]
        assert len(turns) > 1
        assert not any(turn.looping for turn in turns)


def by_distance(spec: str, text: str, every: int) -> Iterator[UpdateReport]:
    """What is proved of the order of the distance, for some links that fail and come back."""
    scheme = bound(spec, text)
    links = range(0, len(scheme.fabric.link_ends), max(1, len(scheme.fabric.link_ends) // every))
    changes = itertools.product(links, (False, True))
    updates = (Update(scheme, LinkState(frozenset({link})), restored) for link, restored in changes)
    return (turn for update in updates for turn in update.by_distance())


ORDERED = [(spec, text) for spec, text in pairs() if bound(spec, text).ordered_by_distance]


@pytest.mark.parametrize(("spec", "text"), few(ORDERED, lambda pair: (pair[1],)))
def test_packets_of_schemes_that_say_so_never_loop_in_the_order_of_the_distance(spec: str, text: str) -> None:
    assert {(turn.looping, turn.undecided) for turn in by_distance(spec, text, 3)} <= {(0, 0)}


@pytest.mark.parametrize(
    ("spec", "text"),
    [("bcube:4,1", "wmgr:root=1"), ("dragonfly:2,1,1", "tz:seed=4"), ("dcell:3,1", "dfr"),
     ("borel:7,2,1,2", "hier"), ("borel:7,2,1,2", "updown"), ("borel:7,2,1,2", "twophase"),
     ("bubblesort:4", "ksp:k=3"), ("clot:4x4", "dor:balanced=yes")],
)  # fmt: skip
def test_packets_of_others_can_loop_in_the_order_of_the_distance(spec: str, text: str) -> None:
    assert not bound(spec, text).ordered_by_distance
    assert any(turn.looping for turn in by_distance(spec, text, 12))


PHASED = [
    (spec, text)
    for spec, text in pairs()
    if not bound(spec, text).ordered_by_distance and phases.room(bound(spec, text))
]


@pytest.mark.parametrize(("spec", "text"), few(PHASED, lambda pair: (pair[1],)))
def test_packets_of_schemes_without_an_order_never_loop_in_phases_where_only_switches_forward(
    spec: str, text: str
) -> None:
    scheme = bound(spec, text)
    links = range(0, len(scheme.fabric.link_ends), max(1, len(scheme.fabric.link_ends) // 3))
    for link, restored in itertools.product(links, (False, True)):
        report = Update(scheme, LinkState(frozenset({link})), restored).in_phases()
        assert report is not None
        assert report.looping == 0


def misdelivered(update: Update, mixture: Mapping[int, str]) -> set[tuple[int, int]]:
    """The pairs whose packets can arrive at another host where each node does what the mixture says."""
    wrong = set()
    for pair, places in update.starts().items():
        pending = [*places]
        seen = set(pending)
        while pending:
            place: Place = pending.pop()
            for copy in update.act(mixture.get(place[0], OLD), place):
                if isinstance(copy, Ending):
                    wrong |= {pair} if copy.kind is Kind.arrives and copy.node != pair[1] else set()
                elif copy not in seen:
                    seen.add(copy)
                    pending.append(copy)
    return wrong


def test_packets_that_can_arrive_at_another_host_are_counted() -> None:
    update = Update(bound("random:6,3,hosts=1", "wmgr"), LinkState(frozenset({6})))
    mixtures = itertools.product((OLD, NEW), repeat=len(update.changed))
    every = [misdelivered(update, dict(zip(sorted(update.changed), one, strict=True))) for one in mixtures]
    assert update.check().misdelivered >= len(set().union(*every)) > 0
    phased = update.in_phases()
    assert phased is not None
    assert 0 < phased.misdelivered <= update.check().misdelivered
    assert Update(bound("torus:2x3", "dor"), LinkState(frozenset({0}))).check().misdelivered == 0


def test_no_phases_exist_where_servers_relay_or_labels_fill_addresses() -> None:
    assert Update(bound("bcube:4,1", "wmgr:root=1"), LinkState(frozenset({0}))).in_phases() is None
    assert phases.room(bound("fattree:4", "twolevel")) == 0
