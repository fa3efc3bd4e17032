"""Tables of full-table schemes from the distances of all pairs, against those of one search at a time."""

from __future__ import annotations

import pytest

from addressing.algorithms.shortest_paths import ShortestPaths
from addressing.table import compile_table, recompiled
from tests.addressing.cases import bound, examples, failures
from tests.topos.graphs import built
from topos.graph import ALL_UP

SPECS = tuple(examples())


@pytest.mark.parametrize("spec", SPECS)
def test_distances_from_each_are_those_of_single_searches(spec: str) -> None:
    fabric = built(spec)
    for down in (ALL_UP, failures(fabric, 1, 0.3, splitting=True)):
        paths = ShortestPaths(fabric, down)
        hops = paths.from_each(fabric.servers)
        for server in range(fabric.servers):
            assert (hops[:, server] == paths.search((server,))).all()


@pytest.mark.parametrize("text", ["shortest", "ecmp"])
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


@pytest.mark.parametrize("text", ["shortest", "ecmp"])
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
