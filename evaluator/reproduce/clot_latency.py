"""CLOT (Wang et al.): latency and throughput of packets, against CamCube and NovaCube.

The figures' printed numbers are not to hand, so nothing here holds or fails; what is
measured follows the settings that the paper states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from evaluator.latency import Latency, Settings, simulate
from evaluator.plots import Chart, Series
from evaluator.reproduce.claim import Claim, Experiment, Row
from evaluator.reproduce.measure import mean_and_error, scheme_or_none

_PAPER = "Wang et al., CLOT"
_SEEDS = range(1, 4)
_LOADS = (0.5, 1.0, 2.0)
_CURVE = (0.1, 0.3, 0.5, 0.7, 0.9, 1.1, 1.3, 1.5, 1.75, 2.0)
_SETTINGS = Settings(until=4_000_000)
#: The 216 and 512 servers of the paper as cubes of an even radix.
_RADICES = (6, 8)
_NETWORKS = (("clot", "pow", "CLOT"), ("torus", "dor", "CamCube"), ("novacube", "pow", "NovaCube"))
_HOW = (
    "simulated packet by packet: all-to-all, on/off sources (exponential on, 100 us; lognormal off, sigma 1;"
    " on half of the time), 1 Gb/s, 1500 bytes, buffers of 10, 10 us of processing at every node, 5 us of"
    f" propagation; 3 ms after 1 ms of warm-up; mean (and range) of seeds {_SEEDS[0]} to {_SEEDS[-1]};"
    " load and throughput per server in link rates; pow on CLOT and NovaCube, dor on CamCube"
)


@cache
def run(family: str, scheme: str, radix: int, load: float, seed: int) -> Latency | None:
    """One simulation; None where there is no such scheme."""
    bound = scheme_or_none(f"{family}:{radix}x{radix}x{radix}", scheme)
    return None if bound is None else simulate(bound, load, seed=seed, settings=_SETTINGS)


def _measured(
    family: str, scheme: str, radix: int, load: float, figure: Callable[[Latency], float]
) -> list[float]:
    found = (run(family, scheme, radix, load, seed) for seed in _SEEDS)
    return [figure(one) for one in found if one is not None]


#: Unit and digits of each figure: more would differ from machine to machine.
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
    charts = []
    for radix in _RADICES:
        for words, figure in (
            ("mean latency (us)", lambda found: found.mean),
            ("throughput per server (link rates)", lambda found: found.throughput),
        ):
            series = []
            for family, scheme, name in (*_NETWORKS, ("torus", "pow", "CamCube")):
                values = [_measured(family, scheme, radix, load, figure) for load in _CURVE]
                points = [mean_and_error(some) for some in values if some]
                means, errors = tuple(p[0] for p in points), tuple(p[1] for p in points)
                series.append(Series(f"{name}, {scheme}", _CURVE[: len(means)], means, errors))
            sizes = f"{radix}x{radix}x{radix}"
            caption = (
                f"{sizes}; all-to-all, on/off; buffers of 10 packets; 95 % of {len(_SEEDS)} seeds"
            )
            title = f"{words.partition(' (')[0].capitalize()}, {radix**3} servers"
            charts.append(Chart(title, "offered load per server (link rates)", words, tuple(series), caption))
    return tuple(charts)


EXPERIMENTS = (
    Experiment("clot-latency", _PAPER, "latency and throughput of packets", _rows, _charts),
)  # fmt: skip
