"""When to begin and end what: a scenario as a list of moments in order."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from dcnlab.lab.scenario.model import Act, Scenario, Stream


class Step(enum.IntEnum):
    """What is done at a moment; at one and the same instant in this order."""

    BEGIN = 0
    EVENT = 1
    END = 2


@dataclass(frozen=True)
class Moment:
    """Seconds after the launch, and what is begun, done or ended then."""

    at: float
    step: Step
    act: Act


def timeline(scenario: Scenario) -> tuple[Moment, ...]:
    """All moments of a scenario: traffic begins before an event of the same instant and ends
    after it; otherwise the file's order decides."""
    moments = [Moment(act.at, Step.BEGIN, act) for act in scenario.traffic]
    moments += [Moment(event.at, Step.EVENT, event) for event in scenario.events]
    moments += [
        Moment(act.at + act.duration, Step.END, act) for act in scenario.traffic if isinstance(act, Stream)
    ]
    return tuple(sorted(moments, key=lambda moment: (moment.at, moment.step)))
