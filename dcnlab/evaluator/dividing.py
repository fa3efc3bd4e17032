"""One evaluation on several workers: each computes the pairs to a share of the destinations at a time.

A worker builds the network and the schemes once, from their specifications.  Another worker
computes the shares of one that ends, where the executor does that (Dask's does).
"""

from __future__ import annotations

import functools
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass

from addressing.registry import bind
from addressing.scheme import Scheme
from dcnlab.evaluator.graph import failures as failing
from dcnlab.evaluator.graph.hop_graph import Hops
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.metrics import Progress
from dcnlab.evaluator.routing import pair_distances
from dcnlab.evaluator.routing.histogram import distance_histogram, plus
from dcnlab.evaluator.routing.path_lengths import EMPTY, FailureKnowledge, PathLengths, all_alike, path_lengths
from dcnlab.evaluator.worker_processes import with_custom
from topos.arrays import Longs
from topos.fabric import Fabric
from topos.registry import fabric


@dataclass(frozen=True)
class Asked:
    """What is evaluated: as in :func:`dcnlab.evaluator.evaluate.evaluate`."""

    topology: str
    schemes: tuple[str, ...]
    pairs: str
    failures: str
    seed: int
    failure_seed: int | None
    failure_knowledge: FailureKnowledge
    hops: Hops


@dataclass(frozen=True, eq=False)
class PairFigures:
    """The path lengths of each scheme, and how many pairs are how far apart."""

    lengths: tuple[PathLengths, ...]
    histogram: Longs

    def plus(self, other: PairFigures) -> PairFigures:
        """Return the figures of both sets of pairs."""
        lengths = (one.plus(two) for one, two in zip(self.lengths, other.lengths, strict=True))
        return PairFigures(tuple(lengths), plus(self.histogram, other.histogram))


def compute(executor: Executor, asked: Asked, shares: int, progress: Progress) -> PairFigures:
    """The figures over all pairs, from so many shares; the sums are made in their order."""
    progress("paths", 0.0)
    work = with_custom(functools.partial(measure, asked, shares))
    waiting = [executor.submit(work, number) for number in range(shares)]
    try:
        for done, _ in enumerate(as_completed(waiting), 1):
            progress("paths", done / shares)
        return functools.reduce(PairFigures.plus, (future.result() for future in waiting))
    finally:
        for future in waiting:
            future.cancel()


def measure(asked: Asked, shares: int, number: int) -> PairFigures:
    """The figures of one share, in a worker."""
    network = _network(asked.topology)
    failed = failing.draw(network, asked.failures, asked.failure_seed or 0)
    chosen = choose(network, asked.pairs, asked.seed, failed.nodes)
    mine = chosen.share(number, shares)
    apart = pair_distances.of_single(network, mine, failed.links, asked.hops)
    lengths = []
    for text in asked.schemes:
        scheme, pairs = _scheme(asked.topology, text), mine
        if not failed.links and all_alike(scheme, chosen, asked.hops):  # one destination is enough for all
            if number:
                lengths.append(EMPTY)
                continue
            pairs = chosen
        figures = path_lengths(
            scheme, pairs, failed.links, failure_knowledge=asked.failure_knowledge, hops=asked.hops, apart=apart
        )
        lengths.append(figures)
    return PairFigures(tuple(lengths), distance_histogram(network, mine, failed, asked.hops, apart))


@functools.lru_cache(1)
def _network(topology: str) -> Fabric:
    return fabric(topology)


@functools.lru_cache(8)
def _scheme(topology: str, text: str) -> Scheme:
    return bind(text, _network(topology))
