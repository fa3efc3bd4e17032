"""One path per pair of servers, chosen among candidates so that no two paths share a link.

An integer program of least total length; a member's own links may be shared where it has fewer ports
than there are other members (DCube's servers have two).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from addressing.multipath.construction import NoCompleteGraph, NodePath, Pair
from topos.fabric import Fabric

#: Paths to choose from, by pair.
Candidates = Mapping[Pair, Sequence[NodePath]]

#: The status of scipy's ``milp`` for a program that has no solution.
_INFEASIBLE = 2


def shareable_links(fabric: Fabric, servers: Sequence[int]) -> frozenset[int]:
    """The links that the paths may share: those of members with too few ports."""
    few = [s for s in servers if len(fabric.links_of(s)) < len(servers) - 1]
    return frozenset(link for server in few for link in fabric.links_of(server))


def choose_paths(
    fabric: Fabric, servers: tuple[int, ...], candidates: Candidates, scope: str, budget: float
) -> dict[Pair, NodePath]:
    """One path per pair of ``servers``, edge-disjoint, of the least total length.

    Raises NoCompleteGraph where there is no such choice, or none was found within ``budget``
    seconds; ``scope`` says in its text what was searched.
    """
    from scipy.optimize import milp  # half a second that other commands need not wait

    if not candidates:
        return {}
    options = [(pair, path) for pair, paths in candidates.items() for path in paths]
    if all(candidates.values()):
        solved = milp(
            [len(path) for _, path in options],
            integrality=np.ones(len(options), dtype=np.int8),
            **_program(fabric, list(candidates), options, shareable_links(fabric, servers)),
            options={"time_limit": budget},
        )
        if solved.x is not None:
            return dict(options[i] for i in np.flatnonzero(np.round(solved.x)))
        if solved.status != _INFEASIBLE:
            raise NoCompleteGraph(f"no edge-disjoint complete graph was found among {scope} in {budget:g} s")
    raise NoCompleteGraph(f"there is no edge-disjoint complete graph among {scope}")


def _program(
    fabric: Fabric, pairs: list[Pair], options: list[tuple[Pair, NodePath]], shared: frozenset[int]
) -> dict[str, Any]:
    """Bounds and constraints over one 0/1 variable per option: every pair takes exactly one of its
    options, and every link outside ``shared`` is used at most once."""
    from scipy.optimize import Bounds, LinearConstraint
    from scipy.sparse import coo_array

    number = {pair: row for row, pair in enumerate(pairs)}
    uses = [
        (link, i)
        for i, (_, path) in enumerate(options)
        for link in (fabric.links_between(a, b)[0] for a, b in pairwise(path))
        if link not in shared
    ]
    links, users = np.array(uses, dtype=np.int64).reshape(-1, 2).T
    one = coo_array(
        (np.ones(len(options)), ([number[pair] for pair, _ in options], np.arange(len(options)))),
        shape=(len(pairs), len(options)),
    )
    most = coo_array((np.ones(len(uses)), (links, users)), shape=(len(fabric.link_ends), len(options)))
    return {
        "bounds": Bounds(0, 1),
        "constraints": [LinearConstraint(one, 1, 1), LinearConstraint(most, -np.inf, 1)],
    }
