"""The optimum of a problem: even splits first, which symmetric networks need no more than; else a search."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dcnlab.evaluator.optimum import by_paths, by_sources
from dcnlab.evaluator.optimum.pool import Pool
from dcnlab.evaluator.optimum.problem import Demands, Problem
from dcnlab.evaluator.optimum.restricted import Limit, over
from dcnlab.evaluator.optimum.search import Bounds, Progress, even_prices, unfollowed
from dcnlab.evaluator.optimum.shortest import split_evenly
from topos.arrays import Floats

#: The search by paths takes at most so many pairs: 100 bytes and more of each.
MOST_PAIRS = 1_500_000
_ROUNDS = 300
#: The flows of all sources may take so many bytes; two copies are held.
_MEMORY = 3 << 29


@dataclass(frozen=True, eq=False)
class Optimum:
    """The factor by which all demands can be carried at once is at least ``lower`` and at most ``upper``.

    ``loads`` are those of a flow of all demands once, on the arcs of ``problem.network``; ``prices`` are
    per unit of flow on these arcs, with sum(capacity * price) = 1.  ``method``: ``hosts`` where only folded
    links limit the factor, ``even splits``, ``paths`` or ``sources``.  ``interrupted``: the search was ended
    before the gap was met.
    """

    problem: Problem
    lower: float
    upper: float
    method: str
    rounds: int
    loads: Floats
    prices: Floats
    interrupted: bool
    _flow: Pool | Floats | None

    @property
    def gap(self) -> float:
        """upper / lower - 1; 0 where nothing is demanded."""
        if self.upper <= self.lower:
            return 0.0
        return self.upper / self.lower - 1 if self.lower else math.inf

    def flows(self) -> Iterator[Floats]:
        """For each source of the demands the load of each arc by its flow: together ``loads``."""
        network, demands = self.problem.network, self.problem.demands
        for q in range(len(demands.sources)):
            if isinstance(self._flow, Pool):
                yield self._flow.loads_from(network, int(demands.sources[q]))
            elif self._flow is not None:
                yield self._flow[q]
            else:
                yield split_evenly(network, _of_source(demands, q), even_prices(network.capacity))[0]


def _of_source(demands: Demands, q: int) -> Demands:
    begin, end = int(demands.first[q]), int(demands.first[q + 1])
    return Demands(
        demands.sources[q : q + 1], np.array([0, end - begin]), demands.target[begin:end],
        demands.amount[begin:end],
    )  # fmt: skip


def solve(
    problem: Problem,
    gap: float = 0.01,
    *,
    limit: Limit | None = None,
    progress: Progress = unfollowed,
    rounds: int = _ROUNDS,
    most_pairs: int = MOST_PAIRS,
) -> Optimum:
    """The optimum over all paths, or over those that ``limit`` allows, to a ``gap`` of upper / lower - 1.

    ``progress`` hears both bounds after each round; KeyboardInterrupt ends the search with the best so far.
    More than ``most_pairs`` pairs are searched by source.  Raises ValueError for a limit of so many pairs,
    and MemoryError where the flows of all sources would not fit.
    """
    bounds = Bounds(problem, gap, progress)
    if not len(problem.demands):
        empty = np.zeros(len(problem.network.head))
        return Optimum(problem, problem.limit, problem.limit, "hosts", 0, empty, empty, False, None)
    if limit is None and _evenly(problem, bounds):
        return _result(problem, bounds, "even splits", None)
    mirrored = limit is None and problem.mirrored
    searched = problem.demands.half() if mirrored else problem.demands
    if len(searched) > most_pairs:
        if limit is not None:
            raise ValueError(f"{len(searched):,} pairs: limited paths are for at most {most_pairs:,}")
        _check_memory(problem)
        return _last(problem, bounds, "sources", by_sources.improve(problem, bounds, rounds))
    network = problem.network
    extend = by_paths.over_all_paths(network, searched) if limit is None else over(limit, network, searched)
    least = limit.number if limit is not None and limit.kind == "k" else 0
    pool = Pool.of(network, searched, least, mirrored)
    return _last(problem, bounds, "paths", by_paths.improve(problem, bounds, rounds, pool, extend))


def _evenly(problem: Problem, bounds: Bounds) -> bool:
    """Split every demand evenly over its shortest paths by capacity; whether that meets the gap."""
    loads, cost = split_evenly(problem.network, problem.demands, bounds.prices)
    bounds.feasible(loads)
    bounds.priced(bounds.prices, cost)
    return bounds.met()


def _check_memory(problem: Problem) -> None:
    need = 8 * len(problem.demands.sources) * len(problem.network.head)
    if need > _MEMORY:
        raise MemoryError(f"the flows of all sources take {2 * need >> 30} GB")


def _last(problem: Problem, bounds: Bounds, method: str, flows: Iterator[Pool | Floats]) -> Optimum:
    """Search to the end, or to an interrupt; the last flow is the best, or even splits are."""
    best, interrupted = None, False
    try:
        for flow in flows:
            best = flow
    except KeyboardInterrupt:
        if best is None and not bounds.lower:
            raise
        interrupted = True
    return _result(problem, bounds, method if best is not None else "even splits", best, interrupted)


def _result(
    problem: Problem, bounds: Bounds, method: str, flow: Pool | Floats | None, interrupted: bool = False
) -> Optimum:
    return Optimum(
        problem,
        bounds.lower,
        bounds.upper,
        method,
        bounds.rounds,
        bounds.loads,
        bounds.prices,
        interrupted,
        flow,
    )
