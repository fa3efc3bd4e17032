"""On/off traces: flows alternate between on and off phases; rates are sampled over time.

On phases are exponential, off phases lognormal (Benson et al., IMC 2010, on data-centre
traffic; the CLOT paper uses the same arrivals).  At every instant, the flows that are on share
the links max-min fairly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from dcnlab.evaluator.traffic.capacities import port_capacities
from dcnlab.evaluator.traffic.flows import Flows
from dcnlab.evaluator.traffic.throughput import max_min
from topos.arrays import Floats
from topos.fabric import Fabric
from topos.spec import SpecError

#: The range of each parameter; with a larger ``sigma`` no trace would come near the mean.
_RANGES = {
    "on": (1e-9, 1e9), "off": (1e-9, 1e9), "sigma": (0.0, 4.0), "length": (1e-9, 1e9), "samples": (1.0, 1e5),
}  # fmt: skip
#: The largest number of mean cycles in a trace: each cycle is drawn for every flow.
_CYCLES = 1e6
#: The number of mean cycles before the first sample.
_WARM_UP = 10


@dataclass(frozen=True)
class Phases:
    """``on`` and ``off`` are mean durations in seconds, ``sigma`` the standard deviation of the logarithm
    of off phases; the trace lasts ``length`` seconds and is sampled ``samples`` times."""

    on: float = 1.0
    off: float = 1.0
    sigma: float = 1.0
    length: float = 100.0
    samples: int = 100


def parse(text: str) -> Phases:
    """Parse ``on=1,off=2,sigma=1,length=100,samples=100``, each optional; SpecError with one line."""
    known = {item.name: item.default for item in fields(Phases)}
    given: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        key, _, value = part.partition("=")
        try:
            number = float(value) if key in known else math.nan
        except ValueError:
            number = math.nan
        least, most = _RANGES.get(key, (math.nan, math.nan))
        if not least <= number <= most or (key == "samples" and not number.is_integer()):
            shown = f", {key} from {least:g} to {most:g}" if key in known else ""
            wanted = ",".join(f"{k}={v}" for k, v in known.items())
            raise SpecError(f"on-off: cannot read {part!r}: write {wanted}{shown}")
        if key in given:
            raise SpecError(f"on-off: {key} is given twice")
        given[key] = number
    phases = Phases(**{**given, "samples": int(given.get("samples", Phases.samples))})  # type: ignore[arg-type]
    if phases.length > _CYCLES * (phases.on + phases.off):
        raise SpecError(f"on-off: length={phases.length:g} is more than {_CYCLES:g} times on and off")
    return phases


def active(phases: Phases, count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """``[sample, flow]``: mask of the flows that are on at each of the equally spaced samples."""
    cycle = phases.on + phases.off
    begin = -_WARM_UP * cycle
    clock = begin + rng.random(count) * cycle
    instants = (np.arange(phases.samples) + 0.5) * phases.length / phases.samples
    sending = np.zeros((phases.samples, count), dtype=np.bool_)
    mu = math.log(phases.off) - phases.sigma**2 / 2  # so that the mean is ``off``
    while (clock < phases.length).any():
        start = clock + rng.lognormal(mu, phases.sigma, count)
        clock = start + rng.exponential(phases.on, count)
        first, last = np.searchsorted(instants, start), np.searchsorted(instants, clock)
        for flow in np.flatnonzero(last > first).tolist():
            sending[first[flow] : last[flow], flow] = True
    return sending


@dataclass(frozen=True, eq=False)
class OnOffRates:
    """Per sample the sum of the rates (``aggregate``) and the number of flows on (``on``); per flow its
    mean rate while on (``while_on``, NaN if it never was)."""

    aggregate: Floats
    on: NDArray[np.int64]
    while_on: Floats


def on_off_rates(fabric: Fabric, flows: Flows, phases: Phases, seed: int, capacity: float = 1.0) -> OnOffRates:
    """The max-min fair rates, at every sample, of the flows that are on."""
    on = active(phases, len(flows), np.random.default_rng([seed, 4])) & flows.delivered
    capacities = capacity * port_capacities(fabric)
    total, aggregate = np.zeros(len(flows)), np.zeros(len(on))
    for i, mask in enumerate(on):
        rates = max_min(flows.select(mask), capacities)
        total[mask] += rates
        aggregate[i] = rates.sum()
    times = on.sum(axis=0)
    while_on = np.where(times > 0, total / np.maximum(times, 1), math.nan)
    return OnOffRates(aggregate, on.sum(axis=1), while_on)
