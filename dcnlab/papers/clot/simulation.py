"""CLOT (Wang et al.): throughput (figures 15 and 16) and latency of packets (figure 17).

The figures' curves are not printed, the text has percentages.  The simulation uses the parameters that
the paper gives; the load is not among them, so each load is a reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import product

import numpy as np

from dcnlab.evaluator.reporting.charts import Chart, Series
from dcnlab.evaluator.traffic.latency import Latency, Settings, simulate
from dcnlab.papers.claim import Claim, Experiment, Reading, Row
from dcnlab.papers.clot.distances import between_servers
from dcnlab.papers.clot.ideal import channel_load
from dcnlab.papers.measure import scheme_or_none

_PAPER = "Wang et al., CLOT"
#: Topology, scheme and name.
Network = tuple[str, str, str]
_SEEDS = range(1, 4)
_LOADS = (0.5, 1.0, 2.0)
_CURVE = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)
_SETTINGS = Settings(until=4_000_000)
#: Figures 15 and 16: 216 and 512 servers.
_RADICES = (6, 8)
#: Figure 17 goes from k = 4 to k = 16; the larger tori have too many packets for every seed and load.
_FIGURE_17, _SAMPLED = (4, 6, 8), (10, 12, 14, 16)
_FIGURE_17_LOADS, _SAMPLED_LOADS = (0.25, 0.5, 1.0, 2.0), (0.25,)
_CLOT = (("clot", "pow", "CLOT, POW"), ("clot", "shortest", "CLOT, SP"))
_CAMCUBE = ("torus", "dor", "CamCube, DOR")
_NOVACUBE = ("novacube", "pow", "NovaCube, POW")
_NETWORKS = (*_CLOT, _CAMCUBE, _NOVACUBE)
_HOW = (
    "simulated packet by packet: all-to-all, on/off sources (exponential on, 100 us; lognormal off, sigma 1;"
    " on half of the time), 1 Gb/s, 1500 bytes, buffers of 10, 10 us of processing at every node, 5 us of"
    f" propagation; 3 ms after 1 ms of warm-up; mean (and range) of seeds {_SEEDS[0]} to {_SEEDS[-1]};"
    " load and throughput per server as multiples of the link rate; schemes: pow and shortest (SP) on CLOT,"
    " dor on CamCube, pow on NovaCube (the paper names PORA there and does not define it); with credits: in"
    f" all networks, seed {_SEEDS[0]}"
)


@cache
def run(family: str, scheme: str, radix: int, load: float, seed: int, credits: bool = False) -> Latency | None:
    """One simulation; None if there is no such scheme."""
    bound = scheme_or_none(f"{family}:{radix}x{radix}x{radix}", scheme)
    settings = replace(_SETTINGS, flow_control="credits") if credits else _SETTINGS
    return None if bound is None else simulate(bound, load, seed=seed, settings=settings)


def _measured(
    network: Network, radix: int, load: float, figure: Callable[[Latency], float], credits: bool = False,
    seeds: Sequence[int] = _SEEDS,
) -> list[float]:  # fmt: skip
    family, scheme, _ = network
    runs = (run(family, scheme, radix, load, seed, credits) for seed in (seeds[:1] if credits else seeds))
    return [figure(one) for one in runs if one is not None]


def _mean(
    network: Network, radix: int, load: float, figure: Callable[[Latency], float], credits: bool = False,
    seeds: Sequence[int] = _SEEDS,
) -> float:  # fmt: skip
    return float(np.mean(_measured(network, radix, load, figure, credits, seeds)))


def _named(network: Network, credits: bool) -> str:
    """The scheme as a reading names it."""
    return network[1].replace("shortest", "SP") + (" with credits" if credits else "")


#: Each figure with its number of digits: further digits differ between machines.
_FIGURES: dict[str, tuple[Callable[[Latency], float], int]] = {
    "mean latency, us": (lambda latency: latency.mean, 1),
    "throughput": (lambda latency: latency.throughput, 3),
    "share of packets lost": (lambda latency: latency.loss, 4),
}


#: The percentages of the text of Figure 17.
_PERCENTAGES = (
    (_CAMCUBE, "CamCube", 42.2, 50.1, "42.2% ~ 50.1% lower than CamCube"),
    (_NOVACUBE, "NovaCube", 7.3, 19.7, "7.3% ~ 19.7% lower than NovaCube"),
)


def _latency() -> Iterator[Row]:
    """The percentages of the text by size, then the values behind them, which are not printed."""
    yield from _figure_17(_FIGURE_17, _FIGURE_17_LOADS, (False, True), _SEEDS, _HOW)
    yield from _values()


def _sampled() -> Iterator[Row]:
    how = f"{_HOW}; from k = {_SAMPLED[0]} on a sample: one load, seed {_SEEDS[0]}, without credits"
    yield from _figure_17(_SAMPLED, _SAMPLED_LOADS, (False,), _SEEDS[:1], how)


def _figure_17(
    radices: Sequence[int], loads: Sequence[float], credits: Sequence[bool], seeds: Sequence[int], how: str
) -> Iterator[Row]:
    for rival, name, low, high, quote in _PERCENTAGES:
        for radix in radices:
            readings = tuple(_savings(rival, radix, loads, credits, seeds))
            claim = Claim(
                f"fig17-{name}-{radix}", _PAPER, f"latency below {name}'s, per cent, k = {radix}, n = 3", low,
                how, tolerance=0.05, upper=high, source=f'section 8.4, text of Fig. 17: "{quote}"',
            )  # fmt: skip
            yield Row.by_reading(claim, *readings)


def _savings(
    rival: Network, radix: int, loads: Sequence[float], credits: Sequence[bool], seeds: Sequence[int]
) -> Iterator[Reading]:
    """By how many per cent CLOT's latency is below the rival's, at each load and between two far hosts."""
    for credit, ours, load in product(credits, _CLOT, loads):
        latency, other = (_mean(one, radix, load, _latency_of, credit, seeds) for one in (ours, rival))
        yield Reading(f"{_named(ours, credit)} at load {load:g}", round(100 * (1 - latency / other), 1))
    near, far = (between_servers(family, radix, 3, "links").diameter for family in ("clot", rival[0]))
    yield Reading("idle, between the farthest hosts", round(100 * (1 - near / far), 1))


def _latency_of(result: Latency) -> float:
    return result.mean


def _throughput_of(result: Latency) -> float:
    return result.throughput


def _values() -> Iterator[Row]:
    for radix in _RADICES:
        for load in _LOADS:
            for words, (figure, digits) in _FIGURES.items():
                for network in _NETWORKS:
                    family, scheme, name = network
                    claim = Claim(
                        f"{family}-{scheme}-{radix}-{load}-{words}", _PAPER,
                        f"{words}: {name}, {radix**3} servers, load {load:g}", None, _HOW,
                        source="section 8.3 and 8.4, Figs. 15 to 17 (plots without printed values)",
                    )  # fmt: skip
                    values = [round(v, digits) for v in _measured(network, radix, load, figure)]
                    seen = (min(values), max(values)) if values else None
                    yield Row(claim, round(float(np.mean(values)), digits) if values else None, seen)


def _throughput(radix: int) -> Iterator[Row]:
    """The percentages of the text: the largest and the mean gain over the loads of the curve."""
    number, most, mean = {6: (15, 84.22, 76.13), 8: (16, 94.38, 82.73)}[radix]
    source = f"section 8.3, text of Fig. {number}: " + {
        6: '"84.22% at most and 76.13% on average"', 8: '"94.38% at most and 82.73% on average"'
    }[radix]  # fmt: skip
    ideal = Reading("ideal (Eq. 7)", round(_ideal_gain(radix), 1))
    gains = {
        _named(ours, credits): _gains(ours, _CAMCUBE, radix, credits)
        for credits in (False, True)
        for ours in _CLOT
    }
    for words, printed, figure in (("largest", most, max), ("mean", mean, _average)):
        claim = Claim(
            f"fig{number}-{words}", _PAPER,
            f"throughput above CamCube's, {words} gain in %, {radix**3} servers", printed,
            f"{_HOW}; loads {', '.join(f'{load:g}' for load in _CURVE)}; ideal: by linear programming", "=",
            0.5,
            source=source,
        )  # fmt: skip
        readings = [Reading(f"{name}, simulated", round(figure(values), 1)) for name, values in gains.items()]
        saturated = [
            Reading(f"{name}, loads from 2 on", round(figure(values[_CURVE.index(2.0):]), 1))
            for name, values in gains.items()
        ]  # fmt: skip
        yield Row.by_reading(claim, *readings, *saturated, ideal)
    claim = Claim(
        f"fig{number}-novacube", _PAPER,
        f"throughput above NovaCube's, mean gain in %, {radix**3} servers", 3, _HOW,
        tolerance=0.5, upper=4, source='section 8.3: "3% ~ 4% improvement on average"',
    )  # fmt: skip
    yield Row.by_reading(
        claim,
        *(
            Reading(_named(ours, credits), round(_average(_gains(ours, _NOVACUBE, radix, credits)), 1))
            for credits in (False, True)
            for ours in _CLOT
        ),
    )


def _gains(ours: Network, rival: Network, radix: int, credits: bool = False) -> list[float]:
    """At each load of the curve by how many per cent the throughput is above the rival's."""
    ratios = (
        _mean(ours, radix, load, _throughput_of, credits) / _mean(rival, radix, load, _throughput_of, credits)
        for load in _CURVE
    )
    return [100 * (ratio - 1) for ratio in ratios]


def _average(values: list[float]) -> float:
    return float(np.mean(values))


def _ideal_gain(radix: int) -> float:
    return 100 * (channel_load("torus", radix, 3) / channel_load("clot", radix, 3) - 1)


def _charts() -> tuple[Chart, ...]:
    return tuple(next(iter(_charts_of(radix))) for radix in _RADICES)


def _throughput_charts(radix: int) -> tuple[Chart, ...]:
    return tuple(_charts_of(radix))[1:]


def _charts_of(radix: int) -> Iterator[Chart]:
    """Charts of one seed; the intervals are over consecutive batches of the run."""
    latency, throughput = [], []
    for family, scheme, name in (*_NETWORKS, ("torus", "pow", "CamCube, POW")):
        runs = [point for load in _CURVE if (point := run(family, scheme, radix, load, _SEEDS[0]))]
        at, label = tuple(point.load for point in runs), name
        means, errors = tuple(point.mean for point in runs), tuple(point.confidence for point in runs)
        latency.append(Series(label, at, means, errors))
        throughput.append(Series(label, at, tuple(point.throughput for point in runs)))
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
        "clot-fig15", _PAPER, "Figure 15: throughput, 216 servers",
        partial(_throughput, 6), partial(_throughput_charts, 6),
    ),
    Experiment(
        "clot-fig16", _PAPER, "Figure 16: throughput, 512 servers",
        partial(_throughput, 8), partial(_throughput_charts, 8),
    ),
    Experiment("clot-latency", _PAPER, "latency (Figure 17), and values by load", _latency, _charts),
    Experiment("clot-fig17", _PAPER, "Figure 17: latency, k = 10 to 16, a sample", _sampled),
)  # fmt: skip
