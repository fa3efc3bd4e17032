"""One scenario: run it, and predict its flows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dcnlab.experiments.prediction import with_predictions
from dcnlab.experiments.recorded import recorded
from dcnlab.lab.control.rpc import Progress
from dcnlab.lab.scenario import bundled, reading, runner
from dcnlab.lab.scenario.runner import ScenarioResult


def run_scenario(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    stage: Progress | None = None,
    note: Progress | None = None,
    keep: Path | None = None,
) -> ScenarioResult:
    """Run a scenario: a file, the name of an example, or the keys of a file as a dictionary.

    ``stage`` and ``note`` hear the stages of the launch and what happens; ``keep`` is a folder for the results.
    UsageError, in one line, for what is wrong with it.
    """
    if isinstance(scenario, Mapping):
        checked = reading.from_values(scenario)
    else:
        checked = reading.read(bundled.find(Path(scenario)))
    return runner.run(checked, stage or _nobody, note or _nobody, keep, with_predictions, recorded)


def _nobody(_: Any) -> None:
    """Nobody listens."""
