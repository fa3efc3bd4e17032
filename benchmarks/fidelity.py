"""Verdicts on measurements, beside busy loops: whether a figure that counts as valid is that of the idle
machine.

    python -m benchmarks fidelity [--record FILE]     measure, at most a quarter of an hour
    python -m benchmarks fidelity --derive FILE       the constants of verdicts, from a record

Each experiment runs in one lab: alone first, whose median is the figure of the idle machine, then beside so
many busy loops.  A figure is right where it lies within 5 % of that.

    ping     round-trip time where each link delays packets by 20 ms
    short    the same by 1 ms: a busy machine adds much of that
    rate     TCP over links of 20 Mb/s
    fast     TCP over links of 1 Gb/s: a busy machine carries less
    free     TCP over links without a rate: the machine's own speed

    valid       verdicts that say so        right       of those, figures within 5 %
    limited     the others                  needed      of those, figures that were off by more
    sound       runs that are valid and right, or machine-limited: to be 95 % at least

TOLERANCE and SATURATED (dcnlab/lab/instruments/fidelity/judging.py) are the greatest with which 95 % of the
runs of each kind are sound.  The processors should have nothing else to do: the first line says how busy they
were.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dcnlab import Lab
from dcnlab.lab.host_load import HostLoad
from dcnlab.lab.instruments.fidelity.judging import SATURATED, TOLERANCE
from dcnlab.lab.instruments.result import Result
from dcnlab.lab.instruments.verdict import MachineVerdict

LOOPS = (0, 2, 4, 8)
_RIGHT, _SOUND = 0.05, 0.95
#: Values of the constants that are tried.
TOLERANCES = tuple(n / 100 for n in range(1, 101))
SATURATIONS = tuple(n / 100 for n in range(30, 100))


@dataclass(frozen=True)
class Run:
    """A figure, that of the idle machine, and what its verdict follows from: milliseconds that the machine adds
    to delays and to the longest, the delays and the longest, how busy the lab was, and what else spoiled it."""

    experiment: str
    loops: int
    figure: float
    idle: float
    added: float
    tail: float
    delays: tuple[float, ...]
    tails: tuple[float, ...]
    load: float
    is_rate: bool
    otherwise: bool

    @property
    def right(self) -> bool:
        """Whether the machine has spoiled nothing."""
        return abs(self.figure - self.idle) <= _RIGHT * self.idle

    def is_valid(self, tolerance: float, saturated: float) -> bool:
        """The verdict with these constants."""
        low = any(0 < one < self.added / tolerance for one in self.delays)
        low |= any(0 < one < self.tail / tolerance for one in self.tails)
        return not (low or self.otherwise or (self.is_rate and self.load >= saturated))

    def is_sound(self, tolerance: float = TOLERANCE, saturated: float = SATURATED) -> bool:
        """Whether it is right, or said to be machine-limited."""
        return self.right or not self.is_valid(tolerance, saturated)


def derive(runs: Sequence[Run]) -> tuple[float, float]:
    """The greatest TOLERANCE and SATURATED with which enough runs of delays, and of rates, are sound; the least
    that is tried where none is enough.

    SATURATED first: in runs of rates the delays are judged as well, by the tolerance that those of delays need.
    """
    delays, rates = [one for one in runs if not one.is_rate], [one for one in runs if one.is_rate]
    tolerance = _greatest(TOLERANCES, delays, lambda run, value: run.is_sound(value, 1.0))
    return tolerance, _greatest(SATURATIONS, rates, lambda run, value: run.is_sound(tolerance, value))


def _greatest(values: Sequence[float], runs: Sequence[Run], sound: Callable[[Run, float], bool]) -> float:
    enough = (
        value for value in reversed(values) if sum(sound(run, value) for run in runs) >= _SOUND * len(runs)
    )
    return next(enough, values[0])


Figure = tuple[float, Result]


@dataclass(frozen=True)
class Experiment:
    """A lab with its options, and what is measured there: a figure, and the result that has it."""

    name: str
    options: dict[str, Any]
    measure: Callable[[Lab], Figure]


def _ping(lab: Lab) -> Figure:
    result = lab.ping("h0", "h15")
    assert result.rtt_ms.p50 is not None
    return result.rtt_ms.p50, result


def _iperf(lab: Lab) -> Figure:
    result = lab.iperf("h0", "h15", seconds=1)
    return result.mbps, result


EXPERIMENTS = (
    Experiment("ping", {"delay": "20ms"}, _ping),
    Experiment("short", {"delay": "1ms"}, _ping),
    Experiment("rate", {"rate": "20Mbit"}, _iperf),
    Experiment("fast", {"rate": "1Gbit"}, _iperf),
    Experiment("free", {}, _iperf),
)


def main() -> None:
    """Measure, or derive the constants from a record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=25, help="runs of each experiment beside so many loops")
    parser.add_argument("--minutes", type=float, default=14, help="fewer runs where they would take longer")
    parser.add_argument("--loops", type=int, nargs="*", default=LOOPS)
    parser.add_argument("--record", type=Path, help="write all runs to this file")
    parser.add_argument("--derive", type=Path, help="measure nothing: read this record")
    options = parser.parse_args()
    runs = _read(options.derive) if options.derive else _measured(options)
    if options.record:
        options.record.parent.mkdir(parents=True, exist_ok=True)
        options.record.write_text(json.dumps([asdict(run) for run in runs]))
    show(runs)


def show(runs: Sequence[Run]) -> None:
    """Print the table, the share of sound runs, and the constants that follow."""
    print(f"{'':8}{'loops':>6}{'runs':>6}{'median':>10}{'valid':>7}{'right':>7}{'limited':>9}{'needed':>8}")
    for name, loops in dict.fromkeys((run.experiment, run.loops) for run in runs):
        some = [run for run in runs if (run.experiment, run.loops) == (name, loops)]
        believed = [run for run in some if run.is_valid(TOLERANCE, SATURATED)]
        right = sum(run.right for run in believed)
        needed = sum(not run.right for run in some) - (len(believed) - right)
        median = statistics.median(run.figure for run in some)
        counts = f"{len(believed):7}{right:7}{len(some) - len(believed):9}{needed:8}"
        print(f"{name:8}{loops:6}{len(some):6}{median:10.4g}{counts}")
    tolerance, saturated = derive(runs)
    for title, constants in (("now", (TOLERANCE, SATURATED)), ("derived", (tolerance, saturated))):
        sound, valid = (sum(judge(run, *constants) for run in runs) for judge in (Run.is_sound, Run.is_valid))
        values = "TOLERANCE = {:.2f}, SATURATED = {:.2f}".format(*constants)
        print(f"{title}: {values}: sound {sound} of {len(runs)} runs, {sound / len(runs):.0%}; valid {valid}")


def _measured(options: argparse.Namespace) -> list[Run]:
    end, runs = time.monotonic() + 60 * options.minutes, list[Run]()
    print(f"busy before: {_busy_before():.0f} % of the processors", flush=True)
    loops = sorted({0, *options.loops})
    cells = len(EXPERIMENTS) * len(loops)
    for one in EXPERIMENTS:
        with Lab("bcube:4,1", scheme="brp", **one.options) as lab:
            one.measure(lab)  # the first also starts what watches
            idle: float | None = None
            for count in loops:
                until = time.monotonic() + (end - time.monotonic()) / cells
                with _busy(count):
                    figures = _repeated(lambda one=one, lab=lab: one.measure(lab), options.runs, until)  # type: ignore[misc]
                idle = idle or statistics.median(figure for figure, _ in figures)
                runs += [_run(one.name, count, figure, idle, result) for figure, result in figures]
                cells -= 1
                print(f"{one.name} beside {count} loops: {len(figures)} runs", file=sys.stderr, flush=True)
    return runs


def _repeated(measure: Callable[[], Figure], runs: int, until: float) -> list[Figure]:
    """So many figures, or as many as come in time, but three."""
    figures: list[Figure] = []
    while len(figures) < runs and (len(figures) < 3 or time.monotonic() < until):
        figures.append(measure())
    return figures


def _run(experiment: str, loops: int, figure: float, idle: float, result: Result) -> Run:
    verdict, timed = result.verdict, result.timed()
    assert isinstance(verdict, MachineVerdict)
    return Run(
        experiment, loops, figure, idle,
        verdict.delay_bound_ms * TOLERANCE, verdict.tail_bound_ms * TOLERANCE, timed.delays, timed.tails,
        verdict.load_percent / 100, bool(timed.rates), verdict.dropped > 0 or timed.missed > TOLERANCE,
    )  # fmt: skip


def _read(file: Path) -> list[Run]:
    records: list[dict[str, Any]] = json.loads(file.read_text())
    return [Run(**{**one, "delays": tuple(one["delays"]), "tails": tuple(one["tails"])}) for one in records]


@contextlib.contextmanager
def _busy(count: int) -> Iterator[None]:
    """So many busy loops beside a ``with`` block."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def _busy_before() -> float:
    load = HostLoad.now()
    time.sleep(1)
    return load.figures()["busy_percent"] or 0.0


if __name__ == "__main__":
    main()
