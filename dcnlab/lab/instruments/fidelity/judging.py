"""The verdict on a measurement, from what was seen of the machines meanwhile.  Pure.

A figure counts as spoiled where the machine may have changed it by more than ``TOLERANCE``.

Of delays: in a node a packet waits until the process that forwards it has a processor. The mean of this wait
is the run-queue delay of the part of the lab (agents, switches, programs) by the number of times that its
processes got a processor. A round trip passes each node of the path twice, the process that delays packets
once for each delay, and the program that waits for the answer once. To this come the time for which the
hypervisor takes a processor away, by which timers are later than the run queue explains, and the time that
frames wait in sockets of the emulator: their bytes by the rate (Little's law). Delays below this sum by
``TOLERANCE`` mean nothing.

Of rates: the part of the lab whose busiest thread needs a processor for a share U of the time, waiting for one
included, could have carried 1/U of the rate; and all its threads together not more than the processors have
time for.  Rates above that mean nothing, and a rate near it was the machine's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from dcnlab.lab.instruments.fidelity.observation import (
    AGENTS,
    DELAYS,
    PROGRAMS,
    SWITCHES,
    Observation,
    PartSeen,
)
from dcnlab.lab.instruments.verdict import VALID, MachineVerdict, Timed

#: The share of a figure that the machine may have changed.
TOLERANCE = 0.05
#: From this utilisation on a rate is the machine's own.
SATURATED = 0.85
_EVERYTHING = "the processors"


@dataclass(frozen=True)
class Passed:
    """The nodes of a path where a process forwards: servers by agents, switches in user space; and how often
    links delay a packet and its answer.  ``options`` would have the kernel forward, by the part of the lab that
    would rest."""

    servers: float = 2.0
    switches: float = 0.0
    delays: float = 0.0
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Bounds:
    """Of one machine: seconds that it adds to a delay, and to the longest; its utilisation, and by what."""

    added: float
    tail: float
    load: float
    busiest: str


def judge(seen: Sequence[Observation], timed: Timed, passed: Passed) -> MachineVerdict:
    """The verdict on figures that were measured over a path, from what was seen of each machine."""
    rate = max(timed.rates, default=0.0)
    bounds = [_bounds(one, rate, passed) for one in seen]
    worst = max(bounds, key=lambda one: one.load)
    bound = rate / worst.load if rate and worst.load else None
    delay, tail = (
        1000 * max(bound_of) / TOLERANCE for bound_of in zip(*((b.added, b.tail) for b in bounds), strict=True)
    )
    dropped = sum(one.dropped for one in seen)
    low = [tail] * any(0 < one < tail for one in timed.tails) + [delay] * any(
        0 < one < delay for one in timed.delays
    )
    fast = rate > 0 and worst.load >= SATURATED
    waiting = _share(
        sum(o.waited + o.throttled for o in seen), sum(o.ran + o.waited + o.throttled for o in seen)
    )
    reasons = [
        *([f"{dropped:,} packets were not read in time"] if dropped else []),
        *([f"{timed.missed:.0%} of the packets were not sent in time"] if timed.missed > TOLERANCE else []),
        *_meaningless(bound if fast else None, max(low, default=None)),
    ]
    text = (
        f"machine-limited: {waiting:.0%} of time without a processor; {'; '.join(reasons)}"
        if reasons
        else VALID
    )
    return MachineVerdict(
        valid=not reasons, text=text,
        rate_bound_mbps=None if bound is None else _digits(bound),
        delay_bound_ms=_digits(delay), tail_bound_ms=_digits(tail),
        waiting_percent=round(100 * waiting, 2),
        others_percent=round(100 * max(_share(o.others, o.seconds * o.processors) for o in seen), 2),
        stolen_percent=round(100 * max(_share(o.stolen, o.seconds * o.processors) for o in seen), 2),
        busiest=worst.busiest, load_percent=round(100 * worst.load, 2),
        late_p99_ms=_digits(1000 * max(o.late_p99 for o in seen)),
        queued_bytes=round(max(o.queued_bytes for o in seen), 1),
        dropped=dropped, missed_percent=round(100 * timed.missed, 2),
        helps=list(_helps(seen, worst, bound if fast else None, passed)) if reasons else [],
    )  # fmt: skip


def _bounds(seen: Observation, rate: float, passed: Passed) -> _Bounds:
    """Return the bounds of one machine, where ``rate`` Mb/s were carried."""
    nodes = passed.servers + passed.switches
    stolen = max(0.0, seen.late_mean - seen.late_least - seen.late_waited)
    queued = 8 * seen.queued_bytes / (rate * 1e6) if rate else 0.0
    waits = passed.servers * seen.part(AGENTS).wait + passed.switches * seen.part(SWITCHES).wait
    late = passed.delays * seen.part(DELAYS).wait  # nothing where the kernel delays packets
    added = 2 * waits + late + seen.part(PROGRAMS).wait + nodes * stolen + queued
    load, busiest = max((seen.part(name).top, name) for name in (AGENTS, SWITCHES, DELAYS, PROGRAMS))
    together = _load(seen, list(seen.parts.values()))
    if together > load:
        load, busiest = together, _EVERYTHING
    return _Bounds(added, added + max(0.0, seen.late_p99 - seen.late_mean), min(1.0, load), busiest)


def _load(seen: Observation, parts: Sequence[PartSeen]) -> float:
    """The share of all processors that parts of the lab need, waiting included, and interrupts."""
    needed = sum(part.ran + part.waited for part in parts) + seen.interrupts + seen.throttled
    return needed / (seen.seconds * seen.processors)


def _meaningless(rate: float | None, delay: float | None) -> list[str]:
    """Which figures mean nothing."""
    words = [f"rates above {_rate(rate)}"] if rate is not None else []
    words += [f"delays under {_digits(delay):g} ms"] if delay is not None else []
    return [f"{' and '.join(words)} mean nothing"] if words else []


def _helps(seen: Sequence[Observation], worst: _Bounds, bound: float | None, passed: Passed) -> list[str]:
    """What would help, and by how much at most."""
    lines = []
    busy = max(seen, key=lambda one: _load(one, list(one.parts.values())))
    others = _share(busy.others, busy.seconds * busy.processors)
    if others > TOLERANCE:
        lines.append(f"other programs used {others:.0%} of the processors: end them")
    stolen = _share(busy.stolen, busy.seconds * busy.processors)
    if stolen > TOLERANCE:
        lines.append(f"the hypervisor took {stolen:.0%} of the processors: use a machine of your own")
    for part, option in passed.options.items():
        rest = [one for name, one in busy.parts.items() if name != part]
        needed = max(_load(busy, rest), max((one.top for one in rest), default=0.0))
        if busy.part(part).turns and needed < worst.load:
            lines.append(f"{option}: the kernel forwards; up to {_times(worst.load / needed)} the rate")
    if bound is not None:
        lines.append(f"--rate {_rate(SATURATED * bound, option=True)}: what this machine can carry")
        if worst.busiest == _EVERYTHING:
            lines.append("more machines (--machines): two carry up to twice the rate")
    return lines


def _times(factor: float) -> str:
    return f"{factor:.2g} times" if factor < 100 else "100 times"


def _rate(mbps: float, option: bool = False) -> str:
    """A rate for people, or as ``--rate`` reads it."""
    if option:
        return f"{math.floor(_digits(mbps))}Mbit" if mbps >= 10 else f"{math.floor(1000 * mbps)}Kbit"
    return f"{_digits(mbps / 1000):g} Gb/s" if mbps >= 1000 else f"{_digits(mbps):g} Mb/s"


def _share(part: float, whole: float) -> float:
    return min(1.0, part / whole) if whole > 0 else 0.0


def _digits(value: float) -> float:
    """Two significant digits."""
    return float(f"{value:.2g}")
