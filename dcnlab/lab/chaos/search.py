"""A chaos run as a whole: the steps of a seed until time is over, and of those that fail the fewest."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from dcnlab.lab.chaos import plan, written
from dcnlab.lab.chaos.plan import Step, Targets
from dcnlab.lab.chaos.run import LabSpec, Note, Outcome, run
from dcnlab.lab.chaos.shrink import shrink
from dcnlab.lab.contract.values import JsonObject

#: How often steps that failed once are run again before their failure counts as one that comes and goes.
_AGAIN = 2


@dataclass
class Report:
    """What ``dcnlab chaos`` prints."""

    spec: LabSpec
    seed: int
    steps: int
    faults: int
    pings: int
    slowest_s: float
    seconds: float
    #: What did not hold: kinds, and lines about them.
    violated: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    #: The fewest steps found that fail, and the runs that this took.
    shrunk: list[Step] = field(default_factory=list)
    tries: int = 0
    #: Whether the steps failed again in a fresh lab.
    repeated: bool = False

    @property
    def held(self) -> bool:
        """Whether everything held after every step."""
        return not self.violated

    @property
    def scenario(self) -> str:
        """The steps that fail as a scenario file; empty where everything held."""
        if self.held:
            return ""
        title = f"chaos, seed {self.seed}: {', '.join(self.violated)}"
        return written.text(written.scenario(self.spec, self.shrunk, title))

    def to_json(self) -> JsonObject:
        """As a JSON object."""
        return {
            "topology": self.spec.topology, "scheme": self.spec.scheme, "options": self.spec.options,
            "seed": self.seed, "held": self.held, "steps": self.steps, "faults": self.faults,
            "pings": self.pings, "slowest_s": self.slowest_s, "seconds": self.seconds,
            "violated": self.violated, "lines": self.lines,
            "shrunk": [[str(fault) for fault in step] for step in self.shrunk],
            "tries": self.tries, "repeated": self.repeated, "scenario": self.scenario,
        }  # fmt: skip


def search(
    spec: LabSpec, targets: Targets, seed: int, seconds: float, steps: int | None, tries: int, note: Note,
    stage: Note | None = None,
) -> Report:  # fmt: skip
    """Run the plan of a seed for so many seconds, or ``steps``; shrink what fails with at most ``tries`` runs.

    ``note`` hears a line per step, ``stage`` the stages of the first launch.
    """
    begun = time.monotonic()
    drawn = itertools.islice(plan.steps(targets, seed), steps)
    outcome = run(spec, drawn, float("inf") if steps is not None else begun + seconds, note, stage)
    report = Report(
        spec, seed, len(outcome.steps), sum(map(len, outcome.steps)), outcome.pings, outcome.slowest_s,
        round(time.monotonic() - begun, 1), sorted(outcome.violated), outcome.lines, list(outcome.steps),
    )  # fmt: skip
    if not report.held and tries:
        _Shrinking(report, outcome, note).work(tries)
    return report


@dataclass
class _Shrinking:
    """Runs parts of the steps in fresh labs."""

    report: Report
    outcome: Outcome
    note: Note

    def work(self, tries: int) -> None:
        """Find the fewest faults that fail alike, with their repairs; the report gets them."""
        for line in self.outcome.lines:
            self.note(f"        {line}")
        units = plan.units(self.outcome.steps)
        self.report.repeated = any(self._fails(units) for _ in range(min(_AGAIN, tries)))
        if self.report.repeated:
            self.report.shrunk = plan.joined(shrink(units, self._fails, tries - self.report.tries))

    def _fails(self, units: Sequence[plan.Unit]) -> bool:
        """Whether these faults alone violate something that the whole did."""
        self.report.tries += 1
        steps = plan.joined(units)
        outcome = run(self.report.spec, steps, float("inf"), lambda _: None)
        fails = bool(outcome.violated & self.outcome.violated)
        self.note(f"try {self.report.tries}: {sum(map(len, steps))} faults {'fail' if fails else 'hold'}")
        return fails
