"""Two-level tables of a fat tree, vectorised: shortest paths, and table sizes."""

from __future__ import annotations

from typing import cast

import numpy as np

from addressing.scheme import Scheme
from addressing.schemes.twolevel import TwoLevel
from dcnlab.evaluator.routing.forms import Tables
from dcnlab.evaluator.routing.tables.table_counts import by_kind
from topos.arrays import Longs
from topos.graph import IntArray


def always_shortest(scheme: Scheme) -> bool:
    """Packets go up only as far as they must, unless failures are known and paths are repaired."""
    return not scheme.known


def table_counts(scheme: Scheme) -> Tables | None:
    """All switches of a level have tables of equal size, unless failures are known."""
    tree, levels = cast(TwoLevel, scheme).tree, ("core", "aggregation", "edge")

    def level(nodes: IntArray) -> Longs:
        return np.array([levels.index(tree.level(node)) for node in nodes.tolist()], dtype=np.int64)

    return None if scheme.known else by_kind(scheme, level)
