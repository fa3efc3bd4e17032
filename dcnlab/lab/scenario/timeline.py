"""When to begin and end what: a scenario as a list of moments in order."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from dcnlab.lab.scenario.model import Action, Scenario, Stream


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
    action: Action


def timeline(scenario: Scenario) -> tuple[Moment, ...]:
    """All moments of a scenario: traffic begins before an event of the same instant and ends
    after it; otherwise the file's order decides."""
    moments = [Moment(action.at, Step.BEGIN, action) for action in scenario.traffic]
    moments += [Moment(event.at, Step.EVENT, event) for event in scenario.events]
    moments += [
        Moment(action.at + action.duration, Step.END, action)
        for action in scenario.traffic
        if isinstance(action, Stream)
    ]
    return tuple(sorted(moments, key=lambda moment: (moment.at, moment.step)))
