"""CLOT (Wang et al.): the number of shortest paths (Eq. 11)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dcnlab.evaluator.graph.distances import distance_rows
from dcnlab.evaluator.graph.hop_graph import hop_graph
from dcnlab.papers import oracles
from dcnlab.papers.claim import Claim, Experiment, Independent, Row
from topos.fabric import Fabric
from topos.families.torus import Torus
from topos.registry import fabric

_PAPER = "Wang et al., CLOT"


def shortest_paths(network: Fabric, a: int, b: int, *, same_direction: bool = False) -> int:
    """The number of shortest paths from a to b.

    ``same_direction``: of those that take each link from its first end to its second: on a torus,
    those that only count coordinates up.
    """
    level = distance_rows(hop_graph(network), np.array([b], dtype=np.int32))[0]
    tail, head = network.link_ends[:, 0], network.link_ends[:, 2]
    if not same_direction:
        tail, head = np.concatenate([tail, head]), np.concatenate([head, tail])
    count = np.zeros(network.size, dtype=object)  # Python integers: int64 overflows from 34 by 34 hops on
    count[b] = 1
    for hops in range(1, int(level[a]) + 1):
        down = (level[tail] == hops) & (level[head] == hops - 1)
        np.add.at(count, tail[down], count[head[down]])
    return int(count[a])


def _counts() -> Iterator[Row]:
    how = (
        "exact: shortest paths counted by breadth-first search in the torus of this radix; as in the paper"
        ' only "with the same direction": at half a ring both directions are shortest, and one counts'
    )
    for radix, gaps in ((13, (4, 5, 6)), (8, (3, 2)), (6, (1, 1, 1)), (8, (4, 2)), (4, (2, 2))):
        torus = fabric(f"torus:{'x'.join([str(radix)] * len(gaps))}")
        assert isinstance(torus.family, Torus)
        half = ", half of the ring" if radix in {2 * gap for gap in gaps} else ""
        example = ' and its example "as high as 630630"' if gaps == (4, 5, 6) else ""
        claim = Claim(
            f"eq11-{radix}-{gaps}", _PAPER, f"shortest paths by Eq. 11, displacement {gaps}, k = {radix}{half}",
            math.factorial(sum(gaps)) // math.prod(map(math.factorial, gaps)), how,
            source=f"section 4.2.4, Eq. 11{example}",
        )  # fmt: skip
        paths = shortest_paths(torus, 0, torus.family.server(gaps), same_direction=True)
        yield Row(claim, paths, independent=Independent.by(oracles.monotone_paths, *gaps))
    yield _product()


def _product() -> Row:
    """Eq. 11's product has the whole sum in every factor; its second form and the example need the rest."""
    gaps = (4, 5, 6)
    claim = Claim(
        "eq11-product", _PAPER, f"the product in Eq. 11 as printed, displacement {gaps}", 630630,
        "binomials of the sum over all j, as printed; the factors need the sum over j >= i",
        source='section 4.2.4, Eq. 11 (first form) and its example "as high as 630630"',
    )  # fmt: skip
    return Row(claim, math.prod(math.comb(sum(gaps), gap) for gap in gaps))


EXPERIMENTS = (Experiment("clot-eq11", _PAPER, "number of shortest paths (Eq. 11)", _counts),)
