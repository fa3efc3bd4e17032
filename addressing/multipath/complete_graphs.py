"""Edge-disjoint complete graphs of servers, along which one server sends to several at once.

A path joins every two of the servers, and no link lies on two of the paths.  Links of a server that
has fewer ports than there are other members are an exception (DCube's servers have two ports).

H-DCube, BCube, DCell and HCN have such graphs by construction (Guo et al., DCube and BCube,
one-to-several traffic).  On the other cubes, and for any given servers on any network, an integer
program chooses the paths.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from addressing.multipath.construction import CompleteGraph, NoCompleteGraph, NodePath
from addressing.multipath.edge_disjoint import choose_paths
from addressing.multipath.registry import construction
from topos.fabric import Fabric

#: How many shortest paths per pair are searched for given servers.
_PER_PAIR = 24


def complete_graph(
    fabric: Fabric, source: int, others: Sequence[int] = (), budget: float = 20.0
) -> CompleteGraph:
    """A complete graph of ``source`` and ``others``; without others, the family's own: m + 1 servers
    on DCube, k + 2 on BCube and DCell, 3 on HCN.

    Raises NoCompleteGraph when there is none, none was found within ``budget`` seconds, or the
    family defines none.
    """
    if not others:
        return construction(fabric).complete_graph(source, budget)
    servers = (source, *others)
    if len(set(servers)) != len(servers):
        raise NoCompleteGraph("a server is named twice")
    candidates = {
        (a, b): list(itertools.islice(_simple_paths(fabric, a, b, set(servers) - {a, b}), _PER_PAIR))
        for a, b in itertools.combinations(servers, 2)
    }
    scope = f"the {_PER_PAIR} shortest paths of each pair"
    return CompleteGraph(servers, choose_paths(fabric, servers, candidates, scope, budget), "search")


def _simple_paths(fabric: Fabric, a: int, b: int, avoid: set[int]) -> Iterator[NodePath]:
    """The simple paths between two servers, the shortest first, over relaying nodes outside ``avoid``."""
    import networkx as nx  # wanted for searches only

    graph = nx.Graph((link.a.node, link.b.node) for link in fabric.links())
    plain = {node for node in range(fabric.servers) if fabric.is_end_host(node)} - {a, b}
    graph.remove_nodes_from(avoid | plain)
    try:
        yield from map(tuple, nx.shortest_simple_paths(graph, a, b))
    except nx.NetworkXNoPath:
        return
