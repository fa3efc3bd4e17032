"""Grading an exercise: its scenario runs in a lab, and each expectation that holds is a point."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dcnlab.lab.contract.values import JsonObject
from dcnlab.lab.control.rpc import Progress
from dcnlab.lab.course import exercises
from dcnlab.lab.scenario import reading, runner
from dcnlab.lab.scenario.expect import Verdict
from dcnlab.lab.scenario.runner import ScenarioResult


@dataclass(frozen=True)
class Grade:
    """The outcome of an exercise; ``hints`` by result and figure, as ``tables.entries``."""

    exercise: str
    outcome: ScenarioResult
    hints: dict[str, str]

    @property
    def points(self) -> int:
        """The number of expectations that hold."""
        return sum(verdict.held for verdict in self.outcome.verdicts)

    @property
    def passed(self) -> bool:
        """Whether all of them hold."""
        return self.outcome.held

    def hint(self, verdict: Verdict) -> str:
        """What helps with an expectation that does not hold; else nothing."""
        expectation = verdict.expectation
        return "" if verdict.held else self.hints.get(f"{expectation.name}.{expectation.figure}", "")

    def remarks(self) -> list[str]:
        """What the measurements say: errors, and the names of answers that are not right."""
        lines = []
        for name, result in self.outcome.results.items():
            if "error" in result:
                lines.append(f"{name}: {result['error']}")
            if result.get("wrong"):
                lines.append(f"{name}: not right yet: {', '.join(result['wrong'])}")
        return lines

    def to_json(self) -> JsonObject:
        """What ``dcnlab grade --json`` prints."""
        tasks = [
            {"text": str(one.expectation), "value": one.value, "held": one.held, "hint": self.hint(one)}
            for one in self.outcome.verdicts
        ]
        return {
            "exercise": self.exercise,
            "title": self.outcome.scenario.title,
            "points": self.points,
            "of": len(tasks),
            "passed": self.passed,
            "tasks": tasks,
            "remarks": self.remarks(),
        }


def grade(folder: Path, stage: Progress, note: Progress) -> Grade:
    """Run the scenario of an exercise's folder; UsageError where it is none, or a file cannot be read."""
    scenario = reading.read(exercises.find(folder) / exercises.SCENARIO)
    hints = folder / "hints.md"
    known = read_hints(hints.read_text(encoding="utf-8")) if hints.is_file() else {}
    return Grade(folder.resolve().name, runner.run(scenario, stage, note), known)


def read_hints(text: str) -> dict[str, str]:
    """The paragraphs below each heading ``## RESULT.FIGURE``, on one line each."""
    parts = re.split(r"^## (\S+)\n", text, flags=re.MULTILINE)[1:]
    return {name: " ".join(body.split()) for name, body in zip(parts[::2], parts[1::2], strict=True)}
