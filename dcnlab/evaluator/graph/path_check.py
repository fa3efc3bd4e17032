"""Paths held against the cables themselves: do they run, what do they share, can there be more?

Nothing here knows how the paths were found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from topos.fabric import Fabric

NodePath = Sequence[int]


@dataclass(frozen=True)
class PathCheck:
    """What is wrong with a set of paths: nothing when all three are empty, and ``most``, the
    largest number that there can be by max-flow, is their number (None: not asked)."""

    count: int
    #: Paths that do not lead from end to end over cables, each node once, as texts.
    broken: tuple[str, ...]
    shared_nodes: tuple[str, ...]
    shared_links: tuple[str, ...]
    max_paths: int | None = None

    @property
    def holds(self) -> bool:
        """True when the paths are disjoint, and there can be no more of them."""
        wrong = self.broken or self.shared_nodes or self.shared_links
        return not wrong and self.max_paths in (None, self.count)

    def __str__(self) -> str:
        """One line."""
        bound = "" if self.max_paths is None else f"; max-flow allows {self.max_paths}"
        wrong = [
            f"{what} {', '.join(names)}"
            for what, names in (
                ("broken:", self.broken),
                ("shared nodes:", self.shared_nodes),
                ("shared links:", self.shared_links),
            )
            if names
        ]
        return f"{self.count} paths: {'; '.join(wrong) or 'disjoint'}{bound}"


def check_parallel(
    fabric: Fabric, source: int, destination: int, paths: Sequence[NodePath], shareable: Collection[int]
) -> PathCheck:
    """Paths between two servers with no node in common but the ends and ``shareable`` ones."""
    free = {source, destination, *shareable}
    broken = _broken(fabric, [((source, destination), path) for path in paths])
    nodes = Counter(node for path in paths for node in path if node not in free)
    cables = Counter(
        cable for path in paths for cable in _links(path) if not {source, destination} & cable or len(path) == 2
    )
    return PathCheck(
        len(paths),
        broken,
        tuple(fabric.name(node) for node, times in nodes.items() if times > 1),
        _repeated(fabric, cables, ()),
        max_disjoint_paths(fabric, source, destination, shareable),
    )


def check_complete_graph(
    fabric: Fabric, servers: Sequence[int], paths: Mapping[tuple[int, int], NodePath]
) -> PathCheck:
    """A path for every two servers, no cable on two of them but those of servers with fewer ports
    than there are other servers; no path relayed by a member."""
    few = {s for s in servers if len(list(fabric.neighbours(s))) < len(servers) - 1}
    pairs = {frozenset(pair) for pair in paths}
    wanted = {frozenset((a, b)) for i, a in enumerate(servers) for b in servers[:i]}
    missing = tuple("no path " + " to ".join(fabric.name(v) for v in sorted(pair)) for pair in wanted - pairs)
    cables = Counter(cable for path in paths.values() for cable in _links(path))
    relays = {node for path in paths.values() for node in path[1:-1]} & set(servers)
    own = [cable for cable in cables if cable & few]
    return PathCheck(
        len(paths),
        missing + _broken(fabric, paths.items()),
        tuple(map(fabric.name, sorted(relays))),
        _repeated(fabric, cables, own),
    )


def max_disjoint_paths(fabric: Fabric, source: int, destination: int, shareable: Collection[int]) -> int:
    """How many paths there can be without a node in common, but for ``shareable`` ones: max-flow with
    every other node split.  Ends that a shareable node joins have one path: through it."""
    near = set(fabric.neighbours(source)) & set(fabric.neighbours(destination))
    if near & set(shareable) and destination not in set(fabric.neighbours(source)):
        return 1
    size, large = fabric.size, len(fabric.link_ends)
    capacity = np.ones(size, dtype=np.int32)
    capacity[[source, destination, *shareable]] = large
    a, b = fabric.link_ends[:, 0], fabric.link_ends[:, 2]
    ends = np.isin(a, [source, destination]) & np.isin(b, [source, destination])
    width = np.where(ends, 1, np.minimum(capacity[a], capacity[b]))
    rows, columns = (
        np.concatenate([np.arange(size), size + a, size + b]),
        np.concatenate([size + np.arange(size), b, a]),
    )
    network = csr_array(
        (np.concatenate([capacity, width, width]).astype(np.int32), (rows, columns)), shape=(2 * size,) * 2
    )
    return int(maximum_flow(network, size + source, destination).flow_value)


def _links(path: NodePath) -> list[frozenset[int]]:
    return [frozenset(step) for step in pairwise(path)]


def _broken(fabric: Fabric, paths: Iterable[tuple[tuple[int, int], NodePath]]) -> tuple[str, ...]:
    """Those that do not lead from end to end over cables, visit a node twice, or pass a plain host."""
    found = []
    for (a, b), path in paths:
        joined = all(fabric.links_between(x, y) for x, y in pairwise(path))
        relayed = not any(fabric.is_end_host(node) for node in path[1:-1])
        if not (joined and relayed and (path[0], path[-1]) == (a, b) and len(set(path)) == len(path)):
            found.append("-".join(map(fabric.name, path)))
    return tuple(found)


def _repeated(
    fabric: Fabric, cables: Counter[frozenset[int]], allowed: Collection[frozenset[int]]
) -> tuple[str, ...]:
    again = [cable for cable, times in cables.items() if times > 1 and cable not in allowed]
    return tuple("-".join(fabric.name(node) for node in sorted(cable)) for cable in again)
