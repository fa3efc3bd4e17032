"""The stages of a launch, and how long each takes."""

from __future__ import annotations

import time
from collections.abc import Callable

Report = Callable[[str], None]


class Stages:
    """The stages of a launch and their durations in seconds."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._marks: list[tuple[str, float]] = []

    def stage(self, name: str) -> None:
        """End the stage before and begin one; report its name."""
        self._marks.append((name, time.perf_counter()))
        self._report(name)

    def finish(self) -> dict[str, float]:
        """End the last stage: the duration of each, rounded to milliseconds."""
        ends = [*(at for _, at in self._marks[1:]), time.perf_counter()]
        return {name: round(end - at, 3) for (name, at), end in zip(self._marks, ends, strict=True)}
