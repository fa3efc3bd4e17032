"""The distances of single pairs: in closed form on a torus, else by searches."""

from __future__ import annotations

from dcnlab.evaluator.graph.hop_graph import Hops, hop_graph
from dcnlab.evaluator.graph.pairs import Pairs
from dcnlab.evaluator.graph.sweeps import Levels
from dcnlab.evaluator.routing.blocks import single_distances
from dcnlab.evaluator.routing.torus_distances import single_shifted_distances, single_torus_distances
from topos.fabric import Fabric
from topos.graph import LinkState


def of_single(network: Fabric, pairs: Pairs, failed: LinkState, hops: Hops) -> Levels | None:
    """Destination by destination; None where the destinations share sources."""
    apart = None if failed else single_torus_distances(network, pairs)
    if apart is not None:
        return apart
    graph = hop_graph(network, failed, hops)
    apart = None if failed else single_shifted_distances(network, graph, pairs)
    return single_distances(graph, pairs) if apart is None else apart
