"""What is computed of two labs that are shown side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping

#: Pairs that are evaluated, and entries that are counted: a page waits for them.
_PAIRS, _ENTRIES = 2000, 200_000


def figures(topology: str, scheme: str, down: frozenset[int]) -> Mapping[str, float | None]:
    """Tables and paths of a scheme while links are down, as the evaluator has them; of many pairs a sample."""
    from addressing.registry import bind
    from dcnlab.cli.catalogue import fabric_of
    from dcnlab.evaluator.graph.pairs import choose
    from dcnlab.evaluator.routing.path_lengths import path_lengths
    from dcnlab.evaluator.routing.table_sizes import table_sizes
    from topos.graph import LinkState

    if scheme == "none":
        return {}
    fabric, links = fabric_of(topology), LinkState(down)
    servers = fabric.servers
    wanted = "servers" if servers * (servers - 1) <= _PAIRS else f"sample:{_PAIRS}"
    bound = bind(scheme, fabric)
    paths = path_lengths(bound, choose(fabric, wanted, 1, frozenset()), links)
    tables = table_sizes(bound.with_failures(links), 1, _ENTRIES)
    values = {
        "entries_mean": tables.entries_mean,
        "entries_max": tables.entries_max,
        "path_mean": paths.path_mean,
        "stretch_mean": paths.stretch_mean,
        "delivered": 100 * paths.delivered,
    }
    return {key: float(value) if math.isfinite(value) else None for key, value in values.items()}
