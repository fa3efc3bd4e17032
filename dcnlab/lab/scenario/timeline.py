"""A scenario as a list of moments in order: what begins, happens or ends when."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from dcnlab.lab.scenario.action import Action
from dcnlab.lab.scenario.model import Scenario


class Step(enum.IntEnum):
    """What is done at a moment; at the same instant in this order."""

    BEGIN = 0
    EVENT = 1
    END = 2


@dataclass(frozen=True)
class Moment:
    """Seconds after the launch, and the action that begins, happens or ends then."""

    at: float
    step: Step
    action: Action


def timeline(scenario: Scenario) -> tuple[Moment, ...]:
    """All moments of a scenario.

    Traffic begins before an event of the same instant and ends after it; otherwise the order of the file
    decides.
    """
    moments = [Moment(action.at, Step.BEGIN, action) for action in scenario.traffic]
    moments += [Moment(event.at, Step.EVENT, event) for event in scenario.events]
    moments += [Moment(one.at, Step.BEGIN, one) for one in scenario.services if one.timed]
    ends = [(action, action.end) for action in scenario.traffic]
    moments += [Moment(end, Step.END, action) for action, end in ends if end is not None]
    return tuple(sorted(moments, key=lambda moment: (moment.at, moment.step)))
