"""The origin's part of AACM: it collects reports and concludes how the configuration went."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hostagent.protocols.aacm.diagnosis import Finding, diagnose
from hostagent.protocols.aacm.frames import Flag, Report
from hostagent.protocols.aacm.ports import Coordinates
from hostagent.protocols.aacm.retransmission import AacmTiming


@dataclass(frozen=True)
class ConfigurationOutcome:
    """The outcome of a configuration.

    ``success``: all servers have their addresses, which was known after ``seconds``.  Otherwise ``findings``
    are the errors, ``causes`` the reports of disagreement or missing answers, ``secondary`` those of servers
    that only waited.
    """

    success: bool
    seconds: float
    findings: tuple[Finding, ...]
    causes: tuple[Report, ...]
    secondary: tuple[Report, ...]


class Origin:
    """The origin's state of one configuration."""

    def __init__(self, server: int, sizes: Coordinates, timing: AacmTiming, now: float) -> None:
        self._server, self._sizes = server, sizes
        self._timeout = timing.timeout(sizes)
        self._started_at = now
        self._deadline = now + self._timeout * (2 + sum(sizes))
        self._succeeded: float | None = None
        self._alarms: list[Report] = []
        self._surveyed: dict[int, Report] = {}
        self._findings: tuple[Finding, ...] | None = None
        #: When the survey ends at the latest, once it has begun.
        self._survey_deadline: float | None = None
        self._reported = False

    def on_message(self, kind: Flag, data: bytes, now: float) -> bool:
        """Success or a report has arrived; False when that is malformed."""
        if kind == Flag.SUCCESS:
            self._succeeded = now if self._succeeded is None else self._succeeded
            return True
        report = Report.decode(data)
        if report is None:
            return False
        if kind & Flag.COMBINE:
            self._surveyed[report.server] = report
        else:
            self._alarms.append(report)
            self._reported = False
        if self._survey_deadline is not None:
            self._survey_deadline = now + 2 * self._timeout
        return True

    def wants_survey(self, now: float) -> bool:
        """Whether the survey is due: after any alarm, or when Success is overdue."""
        overdue = self._succeeded is None and now >= self._deadline
        if self._survey_deadline is None and (self._alarms or overdue):
            self._survey_deadline = now + 2 * self._timeout
        return self._survey_deadline is not None

    def next_timer(self) -> float | None:
        """When a conclusion is due even if nothing arrives."""
        if self._reported:
            return None
        if self._survey_deadline is not None and self._findings is None:
            return self._survey_deadline
        return self._deadline

    def conclusion(self, now: float) -> ConfigurationOutcome | None:
        """The outcome, once, as soon as it is known."""
        if self._reported:
            return None
        if self._survey_deadline is not None and self._findings is None:
            if len(self._surveyed) < math.prod(self._sizes) and now < self._survey_deadline:
                return None
            self._findings = diagnose(self._sizes, self._server, self._surveyed)
        if not self._findings and self._succeeded is None and now < self._deadline:
            return None
        self._reported = True
        return self._outcome(now)

    def _outcome(self, now: float) -> ConfigurationOutcome:
        causes = tuple(alarm for alarm in self._alarms if not alarm.secondary)
        secondary = tuple(alarm for alarm in self._alarms if alarm.secondary)
        success = self._succeeded is not None and not self._findings
        ended = self._succeeded if success and self._succeeded is not None else now
        return ConfigurationOutcome(success, ended - self._started_at, self._findings or (), causes, secondary)
