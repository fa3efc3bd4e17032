"""Measurements that several papers share."""

from __future__ import annotations

import itertools
import math
import random
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from types import FrameType
from typing import Any

import numpy as np
from scipy import stats

from addressing.registry import bind, known
from addressing.scheme import Scheme, walk
from dcnlab.evaluator.graph.distances import distances
from dcnlab.evaluator.graph.hop_graph import hop_graph
from dcnlab.evaluator.graph.pairs import Pairs, choose
from dcnlab.evaluator.optimum.problem import all_to_all, problem_of
from dcnlab.evaluator.optimum.solve import solve
from dcnlab.evaluator.routing.path_lengths import PathLengths, path_lengths
from topos.fabric import Fabric
from topos.registry import fabric
from topos.spec import split_spec

#: Sampled paths whose lines are counted.
_WALKS = 50
#: The method of :func:`growth_exponent`, for claims about bounds.
GROWTH = (
    "exponent of n in quantity / bound, fitted over the sizes; in brackets its 95 % interval, with the limit"
    " of the exponents between successive sizes"
)


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


def growth_exponent(sizes: Sequence[int], ratios: Sequence[float]) -> tuple[float, float, float]:
    """e of ratio = c n^e by least squares of the logarithms, and the ends of an interval.

    It has the 95 % interval of e, and the limit of the exponents between successive sizes: by lower-order terms
    these fall or rise as sizes grow, and a line over 1 / log n says where to.  Raises ValueError unless the
    sizes increase.
    """
    if any(after <= before for before, after in itertools.pairwise(sizes)):
        raise ValueError(f"sizes that increase are needed, not {list(sizes)}")
    x, y = np.log(sizes), np.log(ratios)
    fit = stats.linregress(x, y)
    off = y - fit.intercept - fit.slope * x
    half = math.sqrt(float((off**2).sum()) / (len(x) - 2) / float(((x - x.mean()) ** 2).sum()))
    half *= float(stats.t.ppf(0.975, len(x) - 2))
    limit = stats.linregress(2 / (x[1:] + x[:-1]), np.diff(y) / np.diff(x)).intercept
    exponents = fit.slope, min(fit.slope - half, limit), max(fit.slope + half, limit)
    return tuple(round(float(value), 6) + 0.0 for value in exponents)  # type: ignore[return-value]


@cache
def optimal_abt(topology: str) -> tuple[float, float]:
    """The largest all-to-all ABT of any routing is at least and at most so much; link capacity 1."""
    network = fabric(topology)
    optimum = solve(problem_of(network, all_to_all(network)))
    pairs = network.servers * (network.servers - 1)
    return optimum.lower * pairs, optimum.upper * pairs


def lines(call: Callable[[], object]) -> int:
    """The lines of Python that a call executes."""
    count, before = 0, sys.gettrace()

    def trace(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def path_time(scheme: Scheme) -> int:
    """The lines that the decisions on a path execute together, at most over sampled pairs."""
    draw, most = random.Random(1), 0
    for _ in range(_WALKS):
        source, destination = (draw.randrange(scheme.fabric.servers) for _ in range(2))
        hops = list(walk(scheme, source, destination))
        most = max(most, sum(lines(partial(scheme.next_hops, hop.node, hop.header)) for hop in hops))
    return most
