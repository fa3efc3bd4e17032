"""Tables of full-table schemes from the distances of all pairs, against those of one search at a time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from addressing import registry
from addressing.algorithms.shortest_paths import ShortestPaths
from addressing.header import NextHops
from addressing.scheme import Decided, Redecided
from addressing.schemes.pow import Pow
from addressing.table import compile_table, recompiled
from tests.addressing.cases import bound, examples, failures
from tests.topos.graphs import built
from topos.graph import ALL_UP, LinkState

SPECS = tuple(examples())
#: Schemes that compare the paths to all destinations after a failure with those before.
COMPARED = ("shortest", "ecmp", "updown", "updown:ties=spread", "updown:root=3", "tz", "tz:represented=yes")


@pytest.mark.parametrize("spec", SPECS)
def test_distances_from_each_are_those_of_single_searches(spec: str) -> None:
    fabric = built(spec)
    for down in (ALL_UP, failures(fabric, 1, 0.3, splitting=True)):
        paths = ShortestPaths(fabric, down)
        hops = paths.from_each(fabric.servers)
        for server in range(fabric.servers):
            assert (hops[:, server] == paths.search((server,))).all()


@pytest.mark.parametrize("text", COMPARED)
@pytest.mark.parametrize("spec", SPECS)
def test_prepared_tables_are_equal_and_those_kept_do_not_change(spec: str, text: str) -> None:
    fabric = built(spec)
    before = bound(spec, text).with_failures(failures(fabric, 1, 0.01))
    nodes = [node for node in range(fabric.size) if not fabric.is_end_host(node)][::5]
    down = before.known.fail(failures(fabric, 2, 0.1, splitting=True).down)
    slow, prepared = before.with_failures(down), before.with_failures(down)
    for scheme in (before, prepared):
        scheme.prepare_tables(range(fabric.size))
    for at in nodes:
        table = compile_table(prepared, at)
        assert table == compile_table(slow, at, down)
        assert table == compile_table(prepared, at, down)
        assert not prepared.keeps_table(at, before) or table == compile_table(before, at)


@pytest.mark.parametrize("text", COMPARED)
@pytest.mark.parametrize("spec", SPECS)
def test_tables_compiled_again_in_part_are_those_compiled_whole(spec: str, text: str) -> None:
    fabric, intact = built(spec), bound(spec, text)
    intact.prepare_tables(range(fabric.size))
    nodes = [node for node in range(fabric.size) if not fabric.is_end_host(node)]
    held = {at: compile_table(intact, at) for at in nodes}
    last = None
    for seed, share in ((1, 0.01), (2, 0.1)):
        down = failures(fabric, seed, share, splitting=True)
        slow, after = intact.with_failures(down), intact.with_failures(down)
        vars(slow).pop("_intact", None)
        after.prepare_tables(range(fabric.size))
        for at in nodes:
            table = compile_table(slow, at, down)
            assert recompiled(after, held[at], intact) == table
            if last is not None:
                assert recompiled(last, table, after) == compile_table(last, at, last.known)
        last = after


@pytest.mark.parametrize("text", ["pow", "min-ad"])
@pytest.mark.parametrize("spec", ["torus:4x4", "torus:3x4x2", "clot:4x4"])
def test_coordinates_tables_compiled_again_in_part_are_those_compiled_whole(spec: str, text: str) -> None:
    fabric, intact = built(spec), bound(spec, text)
    held = {at: compile_table(intact, at) for at in range(fabric.size)}
    some = [LinkState(frozenset({link})) for link in range(0, len(fabric.link_ends), 5)]
    for down in (*some, *(failures(fabric, seed, 0.2, splitting=True) for seed in (1, 2, 3))):
        after = intact.with_failures(down)
        assert isinstance(after, Pow)
        for at in range(fabric.size):
            table = compile_table(after, at, down)
            assert recompiled(after, held[at], intact) == table
            assert table == held[at] or not after.keeps_table(at, intact)
            for server in range(fabric.servers):
                ends = [end for _, end, _ in after._candidates(at, server)]
                leads = at == server or any(after.arrives(end, server) for end in ends)
                assert after.arrives(at, server) == leads


@pytest.mark.parametrize("text", ["cr", "cr:d=3", "cr-bfs", "cr-bfs:d=2"])
@pytest.mark.parametrize("spec", ["borel:7,2,1,2", "borel:5,2,0,1"])
def test_decisions_computed_for_all_nodes_at_once_are_those_of_the_rule(spec: str, text: str) -> None:
    fabric = built(spec)
    for down in (ALL_UP, failures(fabric, 1, 0.05), failures(fabric, 2, 0.4, splitting=True)):
        slow, prepared = (bound(spec, text).with_failures(down) for _ in range(2))
        prepared.prepare_tables(range(fabric.size))
        assert "_ports" in vars(prepared)
        for at in range(fabric.size):
            table = compile_table(slow, at, down)
            assert compile_table(prepared, at, down) == table
            decided = prepared.decided_of(at)
            assert decided is not None
            rows = zip(decided.labels.tolist(), decided.in_ports.tolist(), decided.which.tolist(), strict=True)
            assert {(label, port): decided.hops[which] for label, port, which in rows} == {
                (one.pattern.label, one.pattern.in_port): one.next_hops for one in table.entries
            }


def rows(at: Decided | Redecided) -> Iterator[tuple[int, int, NextHops]]:
    """Label, arrival port and next hops."""
    columns = at.labels.tolist(), at.in_ports.tolist(), at.which.tolist()
    return ((label, port, at.hops[which]) for label, port, which in zip(*columns, strict=True))


@pytest.mark.parametrize("text", ["cr", "cr:d=3", "cr-bfs", "cr-bfs:d=2"])
@pytest.mark.parametrize("spec", ["borel:7,2,1,2", "borel:5,2,0,1"])
def test_tables_with_the_labels_decided_otherwise_are_those_after_a_failure(spec: str, text: str) -> None:
    fabric = built(spec)
    states = [bound(spec, text), *(bound(spec, text).with_failures(failures(fabric, s, 0.05)) for s in (1, 2))]
    for scheme in states:
        scheme.prepare_tables(range(fabric.size))
    for before, after in itertools.permutations(states, 2):
        fresh_rows = after.redecided_of(before)
        assert fresh_rows is not None
        fresh = {
            (int(node), label, port): hops
            for node, (label, port, hops) in zip(fresh_rows.nodes, rows(fresh_rows), strict=True)
        }
        labels = {(node, label) for node, label, _ in fresh}
        assert 0 < len(labels) < fabric.size * (fabric.size - 1)
        for at in range(fabric.size):
            then, now = before.decided_of(at), after.decided_of(at)
            assert then is not None
            assert now is not None
            kept = {(at, label, p): hops for label, p, hops in rows(then) if (at, label) not in labels}
            mine = {key: hops for key, hops in fresh.items() if key[0] == at}
            assert kept | mine == {(at, label, p): hops for label, p, hops in rows(now)}


@pytest.mark.parametrize("spec", ["fattree:4 + new", "bcube:2,1 + new", "torus:3x3 + new"])
def test_a_switch_without_links_has_a_prepared_table(spec: str) -> None:
    """Which drops all packets: a lab may get the switch first, and its links later."""
    fabric = built(spec)
    for name in registry.compatible_schemes(fabric.family):
        scheme = registry.bind(name, fabric)
        before = compile_table(scheme, fabric.size - 1)
        scheme.prepare_tables(range(fabric.size))
        assert compile_table(scheme, fabric.size - 1) == before
