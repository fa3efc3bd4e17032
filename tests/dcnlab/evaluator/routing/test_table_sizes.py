"""Table sizes by the schemes' vectorised forms: those of the compiled tables."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from addressing.algorithms.cover import prefixes
from addressing.registry import bind, known
from dcnlab.evaluator.routing.table_sizes import holders, table_sizes
from dcnlab.evaluator.routing.tables.prefix_counts import Trie
from dcnlab.evaluator.routing.vectorized import tables_of
from tests.addressing.cases import bound, failures, pairs
from topos.registry import fabric, from_networkx

#: The schemes, and the options of others, whose tables are always compiled.
COMPILED = {"ksp", "cr", "cr-bfs", "min-ad", "vertex-transitive", "weighted"}
COMPILED_OPTIONS = ("represented=yes", "ties=spread")


@pytest.mark.parametrize("spec", dict.fromkeys(spec for spec, _ in pairs()))
@pytest.mark.parametrize("share", [0.0, 0.05, 0.3])
def test_counted_tables_are_as_large_as_the_compiled_tables(spec: str, share: float) -> None:
    for text in (text for other, text in pairs() if other == spec):
        scheme = bound(spec, text)
        if share:
            scheme = scheme.with_failures(failures(scheme.fabric, 3, share, True))
        if tables_of(scheme) is None:
            compiled = scheme.name in COMPILED or any(option in text for option in COMPILED_OPTIONS)
            assert share or compiled or not len(holders(scheme)), text
            continue
        for seed, budget in ((1, 200_000), (2, 30)):
            counted = table_sizes(scheme, seed, budget)
            assert counted == table_sizes(scheme, seed, budget, generic=True), (text, seed, budget)


@pytest.mark.parametrize("spec", ["bcube:4,1", "random:20,4", "dcell:3,1", "torus:2x3"])
@pytest.mark.parametrize("order", ["shortlex", "revlex", "searched"])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_every_scan_order_of_wmgr_is_counted(spec: str, order: str, share: float) -> None:
    scheme = bound(spec, f"wmgr:order={order}")
    scheme = scheme.with_failures(failures(scheme.fabric, 3, share, True)) if share else scheme
    assert table_sizes(scheme) == table_sizes(scheme, generic=True)


def test_the_schemes_without_the_form_are_known() -> None:
    assert known().keys() >= COMPILED
    assert not any(tables_of(bound(spec, text)) for spec, text in pairs() if text.split(":")[0] in COMPILED)


@pytest.mark.parametrize("spec", ["leafspine:2,66,1", "leafspine:3,130,1", "torus:2x3", "trunks"])
def test_many_next_hops_of_ecmp_are_counted(spec: str) -> None:
    """Of more ports than a word has bits, and of two links to one neighbour."""
    trunks = nx.MultiGraph([(0, 1), (0, 1), (1, 2), (1, 2), (2, 3)])
    scheme = bind("ecmp", from_networkx(trunks) if spec == "trunks" else fabric(spec))
    assert table_sizes(scheme) == table_sizes(scheme, generic=True)


@pytest.mark.parametrize("bits", range(1, 8))
@pytest.mark.parametrize("decisions", [1, 2, 3, 9])
def test_prefixes_are_counted_as_they_are_written(bits: int, decisions: int) -> None:
    rng = np.random.default_rng([bits, decisions])
    for share in (0.2, 0.6, 1.0):
        values = np.flatnonzero(rng.random(1 << bits) < share)
        chosen = rng.integers(-1, decisions, (20, len(values)))
        masks = np.where(chosen < 0, 0, 1 << np.maximum(chosen, 0)).astype(np.uint64)
        counted = Trie.of(values.astype(np.uint64), bits).prefixes(masks)
        for row, (number, lengths) in zip(chosen.tolist(), counted.tolist(), strict=True):
            decided = {v: c for v, c in zip(values.tolist(), row, strict=True) if c >= 0}
            written = [block.length for block in prefixes(bits, decided.get, values.tolist())]
            assert (len(written), sum(written)) == (number, lengths)
