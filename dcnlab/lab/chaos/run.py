"""A fresh lab, taken through the steps of a plan, with a check after each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from dcnlab.lab.chaos import resources
from dcnlab.lab.chaos.plan import Step
from dcnlab.lab.client import Lab
from dcnlab.lab.errors import LabError
from dcnlab.lab.measurement.invariants import Invariants, InvariantsResult
from dcnlab.lab.scenario.action import Event
from dcnlab.lab.scenario.runner import perform

Note = Callable[[str], None]


@dataclass(frozen=True)
class LabSpec:
    """The lab to launch: topology, scheme, options; and the seconds that it may take to converge."""

    topology: str
    scheme: str
    options: dict[str, Any] = field(default_factory=dict)
    within: float = 60.0


@dataclass
class Outcome:
    """The steps that were done, and how the last check ended."""

    steps: list[Step] = field(default_factory=list)
    pings: int = 0
    slowest_s: float = 0.0
    #: What does not hold after the last step: kinds, and lines about them.
    violated: frozenset[str] = frozenset()
    lines: list[str] = field(default_factory=list)


def run(spec: LabSpec, steps: Iterable[Step], until: float, note: Note, stage: Note | None = None) -> Outcome:
    """Follow the steps until something does not hold, or until ``until`` on the monotonic clock."""
    outcome, watch = Outcome(), resources.Watch()
    lab = Lab(spec.topology, spec.scheme, **spec.options)
    lab.start(stage)
    try:
        for step in steps:
            if time.monotonic() >= until:
                break
            _follow(lab, step, note, len(outcome.steps) + 1)
            _check(lab, spec, outcome, watch)
            outcome.steps.append(step)
            if outcome.violated:
                break
    finally:
        lab.stop()
    return outcome


def _follow(lab: Lab, step: Step, note: Note, number: int) -> None:
    """Do all faults of a step.  An operation may fail, as one while the controller is stopped: whether the lab
    recovers is what the check decides."""
    note(f"step {number}: {', '.join(map(str, step))}")
    for fault in step:
        try:
            perform(lab, Event.model_validate(fault.event()))
        except LabError as error:
            note(f"        {fault}: {error}")


def _check(lab: Lab, spec: LabSpec, outcome: Outcome, watch: resources.Watch) -> None:
    try:
        invariants: InvariantsResult = lab.measure(Invariants(within=spec.within))
    except LabError as error:
        outcome.violated, outcome.lines = frozenset({"answers"}), [f"the lab does not answer: {error}"]
        return
    outcome.pings += invariants.asked
    outcome.slowest_s = max(outcome.slowest_s, invariants.converged_s)
    outcome.violated, outcome.lines = frozenset(invariants.violated), list(invariants.notes())
    if grown := watch.growth(resources.sizes(lab.guard_pid)):
        outcome.violated |= {"growth"}
        outcome.lines += grown
