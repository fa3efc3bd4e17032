"""Checks paths against the fabric: do they exist, are they disjoint, and could there be more?

Independent of the algorithms that construct the paths.
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
from topos.words import counted

NodePath = Sequence[int]


@dataclass(frozen=True)
class PathCheck:
    """The problems of a set of paths: empty tuples mean that there are none.

    ``max_paths`` is the largest possible number of disjoint paths by max-flow (None: not computed).
    """

    count: int
    #: Paths, as text, that do not lead from end to end over links or that visit a node twice.
    broken: tuple[str, ...]
    shared_nodes: tuple[str, ...]
    shared_links: tuple[str, ...]
    max_paths: int | None = None

    @property
    def holds(self) -> bool:
        """True when the paths are valid and disjoint and no larger set exists."""
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
        return f"{counted(self.count, 'path')}: {'; '.join(wrong) or 'disjoint'}{bound}"


def check_parallel(
    fabric: Fabric, source: int, destination: int, paths: Sequence[NodePath], shareable: Collection[int]
) -> PathCheck:
    """Check paths between two servers that may share only their ends and ``shareable`` nodes."""
    free = {source, destination, *shareable}
    broken = _broken(fabric, [((source, destination), path) for path in paths])
    nodes = Counter(node for path in paths for node in path if node not in free)
    links = Counter(
        link for path in paths for link in _links(path) if not {source, destination} & link or len(path) == 2
    )
    return PathCheck(
        len(paths),
        broken,
        tuple(fabric.name(node) for node, times in nodes.items() if times > 1),
        _repeated(fabric, links, ()),
        max_disjoint_paths(fabric, source, destination, shareable),
    )


def check_complete_graph(
    fabric: Fabric, servers: Sequence[int], paths: Mapping[tuple[int, int], NodePath]
) -> PathCheck:
    """Check that every two servers have a path, that no path is relayed by one of ``servers``, and that no
    two paths share a link.  A server with fewer ports than other members may share its own links."""
    few = {s for s in servers if len(list(fabric.neighbours(s))) < len(servers) - 1}
    pairs = {frozenset(pair) for pair in paths}
    wanted = {frozenset((a, b)) for i, a in enumerate(servers) for b in servers[:i]}
    missing = tuple("no path " + " to ".join(fabric.name(v) for v in sorted(pair)) for pair in wanted - pairs)
    links = Counter(link for path in paths.values() for link in _links(path))
    relays = {node for path in paths.values() for node in path[1:-1]} & set(servers)
    own = [link for link in links if link & few]
    return PathCheck(
        len(paths),
        missing + _broken(fabric, paths.items()),
        tuple(map(fabric.name, sorted(relays))),
        _repeated(fabric, links, own),
    )


def max_disjoint_paths(fabric: Fabric, source: int, destination: int, shareable: Collection[int]) -> int:
    """The largest number of paths that share no nodes except ``shareable`` ones: max-flow with every
    other node split.  Two servers adjacent to the same shareable node have one path, through it."""
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
    """The paths that do not lead from end to end over links, visit a node twice, or relay at a host
    that does not relay."""
    broken = []
    for (a, b), path in paths:
        joined = all(fabric.links_between(x, y) for x, y in pairwise(path))
        relayed = not any(fabric.is_end_host(node) for node in path[1:-1])
        if not (joined and relayed and (path[0], path[-1]) == (a, b) and len(set(path)) == len(path)):
            broken.append("-".join(map(fabric.name, path)))
    return tuple(broken)


def _repeated(
    fabric: Fabric, links: Counter[frozenset[int]], allowed: Collection[frozenset[int]]
) -> tuple[str, ...]:
    shared = [link for link, times in links.items() if times > 1 and link not in allowed]
    return tuple("-".join(fabric.name(node) for node in sorted(link)) for link in shared)
