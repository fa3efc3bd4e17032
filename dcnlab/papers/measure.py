"""Measurements that several papers share."""

from __future__ import annotations

import numpy as np

from addressing.registry import bind, known
from addressing.scheme import Scheme
from dcnlab.evaluator.graph.distances import distances
from dcnlab.evaluator.graph.hop_graph import hop_graph
from dcnlab.evaluator.graph.pairs import Pairs, choose
from dcnlab.evaluator.routing.path_lengths import PathLengths, path_lengths
from topos.fabric import Fabric
from topos.registry import fabric
from topos.spec import split_spec


def scheme_or_none(topology: str, scheme: str) -> Scheme | None:
    """The scheme on the topology; None if there is no such scheme."""
    if split_spec(scheme)[0] not in known():
        return None
    return bind(scheme, fabric(topology))


def routed(topology: str, scheme: str, pairs: str = "servers") -> PathLengths | None:
    """The path lengths of a scheme over pairs; None if there is no such scheme."""
    bound = scheme_or_none(topology, scheme)
    return None if bound is None else path_lengths(bound, choose(bound.fabric, pairs, 1))


def to_sampled_destinations(topology: str, scheme: str, count: int, seed: int) -> PathLengths | None:
    """The path lengths from all servers to ``count`` random ones; None if there is no such scheme."""
    bound, servers = scheme_or_none(topology, scheme), np.arange(fabric(topology).servers, dtype=np.int32)
    drawn = np.random.default_rng(seed).choice(servers, count, replace=False)
    return None if bound is None else path_lengths(bound, Pairs(drawn, (servers,)))


def from_node(network: Fabric, node: int = 0) -> tuple[int, float]:
    """(diameter, average distance) of a vertex-transitive graph, from one vertex."""
    result = distances(hop_graph(network), [node])
    return result.diameter, result.mean
