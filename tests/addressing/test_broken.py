"""The paths that failures break, searched backward, against the walk of each path."""

from __future__ import annotations

import itertools

import pytest

from addressing.header import Header, NextHops, drop
from addressing.rule import RuleScheme
from addressing.scheme import Scheme
from addressing.schemes.dor import Dor
from addressing.table import compile_table, recompiled
from tests.addressing.cases import bound, failures, few, pairs
from topos.graph import NONE, LinkState

#: Every example with every compatible scheme whose paths can be searched backward.
PLAIN = [
    (spec, text)
    for spec, text in pairs()
    if isinstance(scheme := bound(spec, text), RuleScheme) and scheme.plain
]

#: A seed, a share of links that are down (one link, of few), and whether that may split the network.
KINDS = ((0, 0.01, True), (1, 0.3, False), (1, 0.3, True))
#: Each such pair with one of these kinds of failures; every scheme, setting and network with each.
FAILING = few(
    ((*pair, KINDS[(i + turn) % 3]) for turn in range(3) for i, pair in enumerate(PLAIN)),
    lambda item: (item[:2], (item[0], item[2]), (item[1], item[2])),
)


def deciding(scheme: Scheme) -> list[int]:
    """The nodes that choose next hops."""
    return [node for node in range(scheme.fabric.size) if not scheme.fabric.is_end_host(node)]


def two(spec: str, text: str, down: LinkState) -> tuple[RuleScheme, RuleScheme]:
    """The scheme that knows ``down``, once as it is and once prepared for the tables of all nodes."""
    slow, prepared = (bound(spec, text).with_failures(down) for _ in range(2))
    assert isinstance(slow, RuleScheme)
    assert isinstance(prepared, RuleScheme)
    prepared.prepare_tables(deciding(prepared) * 4)
    return slow, prepared


def test_there_are_such_schemes() -> None:
    assert {text.partition(":")[0] for _, text in PLAIN} >= {"dor", "greedy", "permsort", "twolevel"}


@pytest.mark.parametrize(("spec", "text", "kind"), FAILING)
def test_tables_and_broken_paths_are_those_of_the_walk(
    spec: str, text: str, kind: tuple[int, float, bool]
) -> None:
    slow, prepared = two(spec, text, failures(bound(spec, text).fabric, *kind))
    for at in deciding(slow):
        assert compile_table(prepared, at) == compile_table(slow, at)
        for case in slow.cases(NONE):
            now = prepared.intact(at, case.vertex, case.header)
            assert now == slow.intact(at, case.vertex, case.header), (at, case)


#: Schemes whose tables depend on a tree.
TREES = [
    (spec, f"wmgr{order}")
    for spec in ("bcube:3,2", "clot:4x4", "torus:3x4", "fattree:4", "smallworld:4x4,clusters=2x2")
    for order in ("", ":order=revlex", ":root=centre")
]


#: Hierarchies, whose tables depend on clusters.
CLUSTERS = [
    (spec, text)
    for spec in ("smallworld:6x6,clusters=2x2", "smallworld:8x4,clusters=4x2,links=2")
    for text in ("hrsw", "hrsw:budget=0", "hrsw-set", "hier", "hier:ties=spread")
] + [("fattree:4", "hier"), ("torus:4x4", "hier"), ("jellyfish:8,8,4", "hier")]


#: Schemes whose packets go over a stop, on two minimal paths.
STOPS = [("dragonfly:2,2,1", "valiant"), ("dragonfly:4,2,2", "valiant"), ("torus:4x3", "valiant")]


@pytest.mark.parametrize(("spec", "text"), PLAIN + TREES + CLUSTERS + STOPS)
def test_a_table_that_is_said_to_stay_is_the_same(spec: str, text: str) -> None:
    intact = bound(spec, text)
    nodes = deciding(intact)
    states = [intact, *(intact.with_failures(failures(intact.fabric, seed, 0.01)) for seed in range(2))]
    tables = []
    for scheme in states:
        scheme.prepare_tables(nodes * 4)
        tables.append([compile_table(scheme, at) for at in nodes])
    for (before, old), (after, new) in itertools.permutations(zip(states, tables, strict=True), 2):
        for at, was, now in zip(nodes, old, new, strict=True):
            if after.keeps_table(at, before):
                assert was == now


@pytest.mark.parametrize(
    ("spec", "text"), [("bcube:3,2", "brp"), ("dcube:4,1", "dcube"), ("hdcube:4,2", "dcube-shortest")]
)
def test_tables_of_source_routes_stay_but_at_the_ends_of_links_that_change(spec: str, text: str) -> None:
    intact = bound(spec, text)
    down = failures(intact.fabric, 1, 0.1)
    broken = intact.with_failures(down)
    ends = {end.node for link in down.down for end in (intact.fabric.link(link).a, intact.fabric.link(link).b)}
    for before, after in ((intact, broken), (broken, intact)):
        assert all(after.keeps_table(at, before) == (at not in ends) for at in range(intact.fabric.size))
        for at in set(range(intact.fabric.size)) - ends:
            assert compile_table(after, at) == compile_table(before, at)


def test_many_tables_of_a_fat_tree_stay() -> None:
    intact = bound("fattree:8", "twolevel")
    after = intact.with_failures(LinkState(frozenset({len(intact.fabric.link_ends) // 2})))
    switches = deciding(intact)
    after.prepare_tables(switches)
    assert sum(after.keeps_table(at, intact) for at in switches) > len(switches) / 3


@pytest.mark.parametrize(("spec", "text"), CLUSTERS + STOPS)
def test_tables_stay_after_each_link_of_another_cluster_or_group(spec: str, text: str) -> None:
    intact = bound(spec, text)
    nodes, kept = deciding(intact), 0
    intact.prepare_tables(nodes)
    tables = {at: compile_table(intact, at) for at in nodes}
    for link in range(0, len(intact.fabric.link_ends), 3):
        after = intact.with_failures(LinkState(frozenset({link})))
        after.prepare_tables(nodes * 4)
        for at in nodes:
            if after.keeps_table(at, intact):
                kept += 1
                assert compile_table(after, at) == tables[at]
    assert kept > 0 or text == "hrsw-set"  # whose exits depend on the whole network


def test_tables_of_a_tree_stay_but_near_the_link_that_changes() -> None:
    """A link that the tree does not use changes the two ends of it only."""
    intact = bound("bcube:4,2", "wmgr")
    switches = deciding(intact)[intact.fabric.servers :]
    stay = []
    for link in range(len(intact.fabric.link_ends)):
        after = intact.with_failures(LinkState(frozenset({link})))
        stay.append(sum(after.keeps_table(at, intact) for at in switches))
    assert max(stay) == len(switches) - 1
    assert sum(stay) > len(stay) * len(switches) / 2


@pytest.mark.parametrize(("spec", "text", "kind"), FAILING)
def test_tables_compiled_again_in_part_are_those_compiled_whole(
    spec: str, text: str, kind: tuple[int, float, bool]
) -> None:
    intact = bound(spec, text)
    slow, after = two(spec, text, failures(intact.fabric, *kind[:2], splitting=kind[2]))
    after.prepare_tables(deciding(after) * 4)
    for at in deciding(intact):
        assert recompiled(after, compile_table(intact, at), intact) == compile_table(slow, at, slow.known)


def test_ports_known_at_once_are_those_of_the_rule() -> None:
    met = set[str]()
    for spec, text in PLAIN:
        scheme = bound(spec, text)
        assert isinstance(scheme, RuleScheme)
        for at in deciding(scheme):
            ports = scheme.rule_ports(at)
            if ports is None:
                continue
            met.add(text)
            for case in scheme.cases(at):
                forward = scheme.rule(at, case.vertex, case.header)
                assert forward is not None
                assert forward.port == ports[case.vertex]
    assert met >= {"dor", "vertex-transitive", "wmgr-cayley:order=search"}


class Refusing(Dor):
    """Packets for one vertex are dropped, whatever the rule says; all nodes have a class for each vertex."""

    rule_classes = RuleScheme.rule_classes

    def transit_next_hops(self, at: int, vertex: int, header: Header, links: LinkState) -> NextHops:
        return drop("refused") if vertex == 5 else super().transit_next_hops(at, vertex, header, links)


def test_next_hops_known_at_once_are_not_those_of_a_scheme_that_states_others() -> None:
    fabric = bound("torus:4x4", "dor").fabric
    intact = Refusing(fabric)
    for down in (LinkState(frozenset({3})), failures(fabric, 1, 0.2)):
        scheme = intact.with_failures(down)
        scheme.prepare_tables(range(fabric.size))
        for at in set(range(fabric.size)) - {5}:
            whole = compile_table(intact, at)
            for table in (whole, compile_table(scheme, at, down), recompiled(scheme, whole, intact)):
                assert table.lookup(scheme.towards(5)) == drop("refused")
