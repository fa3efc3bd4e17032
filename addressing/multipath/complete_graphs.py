"""Edge-disjoint complete graphs of servers, along which one server sends to several at once.

Every two of the servers are joined by a path, and no cable lies on two of the paths.
A server with fewer ports than there are other members cannot do without sharing its
own cables (DCube's have two): those alone may be shared.

H-DCube and BCube have such graphs by construction (Guo et al., DCube and BCube, on
one-to-several traffic).  On the other cubes, where the construction works from few sources
only, and for any given servers on any network, paths are chosen by an integer program.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from addressing.algorithms.cubeways import NodePath, path_along, simple_paths
from topos.fabric import Fabric
from topos.families.bcube import BCube
from topos.families.dcube import CubeOfSwitches

Pair = tuple[int, int]
#: Paths to choose from, by pair.
Candidates = Mapping[Pair, Sequence[NodePath]]

#: The longest paths between members that are searched on a DCube, in switch hops.
_SWITCH_HOPS = 4
#: What scipy's ``milp`` says of a program that has been proved to have no solution.
_INFEASIBLE = 2
#: How many shortest paths per pair are searched on any other network.
_PER_PAIR = 24


class NoCompleteGraph(ValueError):
    """None was found; its text is one line that says whether there can be one."""


@dataclass(frozen=True)
class CompleteGraph:
    """``servers``, the source first, and for every two of them (in that order) the nodes of a path."""

    servers: tuple[int, ...]
    paths: Mapping[Pair, NodePath]
    method: Literal["construction", "search"]

    def path(self, a: int, b: int) -> NodePath:
        """The nodes from member ``a`` to member ``b``; KeyError when either is no member."""
        return self.paths[a, b] if (a, b) in self.paths else self.paths[b, a][::-1]


def complete_graph(
    fabric: Fabric, source: int, others: Sequence[int] = (), budget: float = 20.0
) -> CompleteGraph:
    """A complete graph of ``source`` and ``others``, or, without them, the family's own: on DCube m + 1
    servers, on BCube k + 2.

    Raises NoCompleteGraph when there is none or none was found within ``budget`` seconds, and
    where others must be named.
    """
    family = fabric.family
    if others:
        return _among(fabric, (source, *others), budget)
    if isinstance(family, BCube):
        return _bcube(family, source)
    if isinstance(family, CubeOfSwitches):
        return _hypercube(family, source) if family.cube == "hyper" else _cube(fabric, family, source, budget)
    raise NoCompleteGraph(f"{fabric.spec} has no complete graph of its own: name the other servers")


def shareable_links(fabric: Fabric, servers: Sequence[int]) -> frozenset[int]:
    """The cables that the paths may share: those of members with too few ports."""
    few = [s for s in servers if len(fabric.links_of(s)) < len(servers) - 1]
    return frozenset(link for server in few for link in fabric.links_of(server))


# --- by construction ----------------------------------------------------------------


def _bcube(bcube: BCube, source: int) -> CompleteGraph:
    """The source and, per level, a neighbour d_i: d_i reaches d_j by way of the server that has both
    their digits."""
    own = bcube.digits(source)

    def at(*levels: int) -> int:
        return bcube.server(tuple((d + 1) % bcube.radices[i] if i in levels else d for i, d in enumerate(own)))

    def through(a: int, b: int, level: int) -> NodePath:
        low = bcube.n**level
        return a, bcube.level_starts[level] + a // (low * bcube.n) * low + a % low, b

    members = [at(level) for level in range(bcube.k + 1)]
    paths = {(source, member): through(source, member, level) for level, member in enumerate(members)}
    for i, j in itertools.combinations(range(bcube.k + 1), 2):
        paths[members[i], members[j]] = (
            *through(members[i], at(i, j), j),
            *through(at(i, j), members[j], i)[1:],
        )
    return CompleteGraph((source, *members), paths, "construction")


def _members(cube: CubeOfSwitches, source: int) -> tuple[int, ...]:
    """Per dimension the server at the far end of the cable by which the source's sub-network leaves."""
    block, here = cube.place(source) // cube.m, cube.address(source)
    return tuple(cube.server(cube.neighbour(here, j), block * cube.m + j) for j in range(cube.m))


def _hypercube(cube: CubeOfSwitches, source: int) -> CompleteGraph:
    """Members i and j meet at the switch that differs from the source's in bits i and j."""
    block, members = cube.place(source) // cube.m, _members(cube, source)
    paths = {(source, m): path_along(cube, source, m, (j,), block) for j, m in enumerate(members)}
    for i, j in itertools.combinations(range(cube.m), 2):
        paths[members[i], members[j]] = path_along(cube, members[i], members[j], (j, i), block)
    return CompleteGraph((source, *members), paths, "construction")


# --- by search ----------------------------------------------------------------------


def _cube(fabric: Fabric, cube: CubeOfSwitches, source: int, budget: float) -> CompleteGraph:
    """As on the hypercube, members joined by any ways of at most four switch hops."""
    block, members, here = cube.place(source) // cube.m, _members(cube, source), cube.address(source)
    neighbours = [[cube.neighbour(a, j) for j in range(cube.m)] for a in range(2**cube.m)]
    closed = frozenset((here, *neighbours[here]))
    paths = {(source, m): path_along(cube, source, m, (j,), block) for j, m in enumerate(members)}
    candidates = {
        (a, b): [
            path_along(cube, a, b, dimensions, block)
            for dimensions in simple_paths(neighbours, cube.address(a), cube.address(b), _SWITCH_HOPS, closed)
        ]
        for a, b in itertools.combinations(members, 2)
    }
    scope = f"ways of at most {_SWITCH_HOPS} switch hops between the neighbours of {fabric.name(source)}"
    found = _choose(fabric, (source, *members), candidates, scope, budget)
    return CompleteGraph((source, *members), paths | found, "search")


def _among(fabric: Fabric, servers: tuple[int, ...], budget: float) -> CompleteGraph:
    """Among each pair's shortest simple paths that avoid the other members."""
    if len(set(servers)) != len(servers):
        raise NoCompleteGraph("a server is named twice")
    candidates = {
        (a, b): list(itertools.islice(_simple_paths(fabric, a, b, set(servers) - {a, b}), _PER_PAIR))
        for a, b in itertools.combinations(servers, 2)
    }
    scope = f"the {_PER_PAIR} shortest paths of each pair"
    return CompleteGraph(servers, _choose(fabric, servers, candidates, scope, budget), "search")


def _simple_paths(fabric: Fabric, a: int, b: int, avoid: set[int]) -> Iterator[NodePath]:
    import networkx as nx  # wanted for searches only

    graph = nx.Graph((link.a.node, link.b.node) for link in fabric.links())
    plain = {node for node in range(fabric.servers) if fabric.is_end_host(node)} - {a, b}
    graph.remove_nodes_from(avoid | plain)
    try:
        yield from map(tuple, nx.shortest_simple_paths(graph, a, b))
    except nx.NetworkXNoPath:
        return


def _choose(
    fabric: Fabric, servers: tuple[int, ...], candidates: Candidates, scope: str, budget: float
) -> dict[Pair, NodePath]:
    """One path per pair, no two with a cable in common that they may not share, of the least total
    length: an integer program."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    if not candidates:
        return {}
    pairs = [pair for pair, paths in candidates.items() for _ in paths]
    paths = [path for some in candidates.values() for path in some]
    shared, number = shareable_links(fabric, servers), {pair: i for i, pair in enumerate(candidates)}
    uses = [
        (fabric.links_between(a, b)[0], i) for i, path in enumerate(paths) for a, b in itertools.pairwise(path)
    ]
    taken = np.array([(link, i) for link, i in uses if link not in shared]).reshape(-1, 2).T
    one = coo_array(
        (np.ones(len(pairs)), ([number[pair] for pair in pairs], np.arange(len(pairs)))),
        shape=(len(number), len(pairs)),
    )
    most = coo_array((np.ones(taken.shape[1]), (taken[0], taken[1])), shape=(len(fabric.link_ends), len(pairs)))
    if all(candidates.values()):
        solved = milp(
            [len(path) for path in paths], integrality=np.ones(len(paths), dtype=np.int8), bounds=Bounds(0, 1),
            constraints=[LinearConstraint(one, 1, 1), LinearConstraint(most, -np.inf, 1)],
            options={"time_limit": budget},
        )  # fmt: skip
        if solved.x is not None:
            return {pairs[i]: paths[i] for i in np.flatnonzero(np.round(solved.x))}
        if solved.status != _INFEASIBLE:
            raise NoCompleteGraph(f"no edge-disjoint complete graph was found among {scope} in {budget:g} s")
    raise NoCompleteGraph(f"there is no edge-disjoint complete graph among {scope}")
