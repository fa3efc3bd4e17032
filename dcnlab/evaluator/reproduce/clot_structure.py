"""CLOT (Wang et al.): bisection width, the number of shortest paths (Eq. 11), and Table 2."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dcnlab.evaluator.graph.bisection import bisection
from dcnlab.evaluator.graph.distances import distance_rows
from dcnlab.evaluator.graph.hop_graph import hop_graph
from dcnlab.evaluator.reproduce.claim import Claim, Experiment, Row
from topos.fabric import Fabric
from topos.families.torus import Torus
from topos.registry import fabric

_PAPER = "Wang et al., CLOT"
_PRICE = 150
_LOST = "the paper's values are not available"


def _bisections() -> Iterator[Row]:
    """Twice the number of links in the cut: the formula counts each direction of a link."""
    for k, n, computed in ((4, 1, 8), (4, 2, 32), (4, 3, 128), (6, 2, None), (8, 2, 64), (8, 3, None)):
        result = bisection(fabric(f"clot:{'x'.join([str(k)] * n)}"))
        how = (
            "twice the links of the best cut found into halves of the servers; proven lower bounds"
            " (spectral and flow) in the statement"
        )
        claim = Claim(
            f"bisection-{k}-{n}", _PAPER,
            f"bisection k^n + 4k^(n-1), k = {k}, n = {n} (at least {2 * result.bound})",
            k**n + 4 * k ** (n - 1), how, computed=computed,
        )  # fmt: skip
        yield Row(claim, 2 * result.found)


def shortest_paths(network: Fabric, a: int, b: int) -> int:
    """The number of shortest paths from a to b."""
    level = distance_rows(hop_graph(network), np.array([b], dtype=np.int32))[0]
    tail, head = network.link_ends[:, 0], network.link_ends[:, 2]
    tail, head = np.concatenate([tail, head]), np.concatenate([head, tail])
    count = np.zeros(network.size, dtype=object)  # Python integers: int64 overflows from 34 by 34 hops on
    count[b] = 1
    for hops in range(1, int(level[a]) + 1):
        down = (level[tail] == hops) & (level[head] == hops - 1)
        np.add.at(count, tail[down], count[head[down]])
    return int(count[a])


def _counts() -> Iterator[Row]:
    how = "exact: shortest paths counted by breadth-first search in the torus of this radix"
    for radix, gaps, computed in (
        (13, (4, 5, 6), 630630),
        (8, (3, 2), None),
        (6, (1, 1, 1), None),
        (8, (4, 2), 30),
        (4, (2, 2), 24),
    ):
        torus = fabric(f"torus:{'x'.join([str(radix)] * len(gaps))}")
        assert isinstance(torus.family, Torus)
        printed = math.prod(math.comb(sum(gaps[i:]), gap) for i, gap in enumerate(gaps))
        half = ", half of the ring" if radix in {2 * gap for gap in gaps} else ""
        claim = Claim(
            f"eq11-{radix}-{gaps}", _PAPER, f"shortest paths by Eq. 11, displacement {gaps}, k = {radix}{half}",
            printed, how, computed=computed,
        )  # fmt: skip
        yield Row(claim, shortest_paths(torus, 0, torus.family.server(gaps)))


def _table() -> Iterator[Row]:
    """By size: the switches of a 3-D CLOT and their price, and those of a fat tree for as many servers."""
    built = "counted in the topology"
    for k in (4, 6, 8, 10, 16):
        clot = fabric(f"clot:{k}x{k}x{k}")
        size = clot.servers
        ports = (4 * size) ** (1 / 3)
        formula = math.ceil(5 * round(ports, 9) ** 2 / 4)
        real = fabric(f"fattree:{2 * math.ceil(round(ports, 9) / 2)}")
        for words, measured, computed, how in (
            ("switches of CLOT", clot.switches, size // 8, built),
            (f"price of CLOT's switches at ${_PRICE}", _PRICE * clot.switches, _PRICE * size // 8, built),
            (
                "switches of a fat tree by ceil(5p^2/4), p = (4N)^(1/3)", formula, None,
                "the formula itself: p is an integer only for a few N",
            ),
            ("switches of the smallest fat tree for as many servers", real.switches, None, built),
        ):  # fmt: skip
            claim = Claim(
                f"table2-{k}-{words}", _PAPER, f"{words}, N = {size}", None, how, computed=computed
            )  # fmt: skip
            yield Row(claim, measured)


EXPERIMENTS = (
    Experiment("clot-bisection", _PAPER, "bisection width", _bisections),
    Experiment("clot-eq11", _PAPER, "number of shortest paths", _counts),
    Experiment("clot-table2", _PAPER, f"Table 2: switches and their price ({_LOST})", _table),
)
