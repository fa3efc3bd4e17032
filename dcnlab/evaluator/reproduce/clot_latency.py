"""CLOT (Wang et al.): latency and throughput of packets, compared with CamCube and NovaCube.

The values in the paper's figures are not available, so there are no verdicts.  The simulation
uses the parameters that the paper gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from dcnlab.evaluator.reporting.plots import Chart, Series
from dcnlab.evaluator.reproduce.claim import Claim, Experiment, Row
from dcnlab.evaluator.reproduce.measure import scheme_or_none
from dcnlab.evaluator.traffic.latency import Latency, Settings, simulate

_PAPER = "Wang et al., CLOT"
_SEEDS = range(1, 4)
_LOADS = (0.5, 1.0, 2.0)
_CURVE = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
_SETTINGS = Settings(until=4_000_000)
#: The paper's 216 and 512 servers, as cubes of an even radix.
_RADICES = (6, 8)
_NETWORKS = (("clot", "pow", "CLOT"), ("torus", "dor", "CamCube"), ("novacube", "pow", "NovaCube"))
_HOW = (
    "simulated packet by packet: all-to-all, on/off sources (exponential on, 100 us; lognormal off, sigma 1;"
    " on half of the time), 1 Gb/s, 1500 bytes, buffers of 10, 10 us of processing at every node, 5 us of"
    f" propagation; 3 ms after 1 ms of warm-up; mean (and range) of seeds {_SEEDS[0]} to {_SEEDS[-1]};"
    " load and throughput per server as multiples of the link rate; pow on CLOT and NovaCube, dor on CamCube"
)


@cache
def run(family: str, scheme: str, radix: int, load: float, seed: int) -> Latency | None:
    """One simulation; None if there is no such scheme."""
    bound = scheme_or_none(f"{family}:{radix}x{radix}x{radix}", scheme)
    return None if bound is None else simulate(bound, load, seed=seed, settings=_SETTINGS)


def _measured(
    family: str, scheme: str, radix: int, load: float, figure: Callable[[Latency], float]
) -> list[float]:
    runs = (run(family, scheme, radix, load, seed) for seed in _SEEDS)
    return [figure(one) for one in runs if one is not None]


#: Each figure with its number of digits: further digits differ between machines.
_FIGURES: dict[str, tuple[Callable[[Latency], float], int]] = {
    "mean latency, us": (lambda found: found.mean, 1),
    "throughput": (lambda found: found.throughput, 3),
    "share of packets lost": (lambda found: found.loss, 4),
}


def _rows() -> Iterator[Row]:
    for radix in _RADICES:
        for load in _LOADS:
            for words, (figure, digits) in _FIGURES.items():
                for family, scheme, name in _NETWORKS:
                    claim = Claim(
                        f"{family}-{radix}-{load}-{words}", _PAPER,
                        f"{words}: {name}, {radix**3} servers, load {load:g}", None, _HOW,
                    )  # fmt: skip
                    values = [round(v, digits) for v in _measured(family, scheme, radix, load, figure)]
                    seen = (min(values), max(values)) if values else None
                    yield Row(claim, round(float(np.mean(values)), digits) if values else None, seen)


def _charts() -> tuple[Chart, ...]:
    return tuple(chart for radix in _RADICES for chart in _charts_of(radix))


def _charts_of(radix: int) -> Iterator[Chart]:
    """Charts of one seed; the intervals are over consecutive batches of the run."""
    latency, throughput = [], []
    for family, scheme, name in (*_NETWORKS, ("torus", "pow", "CamCube")):
        runs = [found for load in _CURVE if (found := run(family, scheme, radix, load, _SEEDS[0]))]
        at, label = tuple(found.load for found in runs), f"{name}, {scheme}"
        means, errors = tuple(found.mean for found in runs), tuple(found.confidence for found in runs)
        latency.append(Series(label, at, means, errors))
        throughput.append(Series(label, at, tuple(found.throughput for found in runs)))
    caption = (
        f"tori of {radix} x {radix} x {radix} servers; all-to-all, on/off sources; 1 Gb/s, 1500 B,"
        f" buffers of 10; 4 ms; seed {_SEEDS[0]}, bars: 95 % interval from batches of the run"
    )
    offered = "offered load per server (multiples of the link rate)"
    for words, unit, series in (
        ("Mean latency", "µs", latency),
        ("Throughput per server", "multiples of the link rate", throughput),
    ):
        yield Chart(
            f"{words}, {radix**3} servers", offered, f"{words.lower()} ({unit})", tuple(series), caption
        )


EXPERIMENTS = (
    Experiment(
        "clot-latency", _PAPER, "latency and throughput of packets (the paper's values are not available)",
        _rows, _charts,
    ),
)  # fmt: skip
