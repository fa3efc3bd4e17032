"""Runs of one scenario for every combination of a matrix, several times each; resumable.

Labs run one after the other, so that they do not disturb each other.  Each result is a line of JSON in
``results.jsonl`` of the folder, under a key that is made of everything that the run depends on.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dcnlab.evaluator import compare
from dcnlab.experiments import matrix, summary
from dcnlab.experiments.prediction import with_predictions
from dcnlab.experiments.recorded import recorded
from dcnlab.experiments.single import measured
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.scenario import bundled, reading, runner
from dcnlab.lab.scenario.check import LAB
from dcnlab.lab.scenario.expect import MACHINE_LIMITED
from dcnlab.lab.scenario.model import Scenario
from topos import plugins

#: How often a run is made again at once whose scenario expects `valid`, and which the machine has spoiled.
_AGAIN = 2
#: Incremented when results change; part of every key.
FORMAT = 1
Row = dict[str, Any]
Progress = Callable[[Any], None]


@dataclass(frozen=True)
class Sweep:
    """The results of all runs.

    A row has ``values``, ``repetition``, ``seed``, ``results``, ``expect``, ``held``, ``rejected`` and
    ``provenance``; or ``error`` where the lab could not be launched.
    """

    title: str
    rows: tuple[Row, ...]

    @property
    def held(self) -> bool:
        """Whether every run has a result, and every expectation of every run holds."""
        return all(row.get("held", False) for row in self.rows)

    def table(self) -> list[Row]:
        """One flat row per run, for CSV, Parquet or pandas."""
        return [summary.flat(row) for row in self.rows]

    def means(self) -> list[summary.Mean]:
        """The mean of each figure for each combination, over the runs that were not rejected."""
        return summary.means(self.rows)

    def frame(self) -> Any:
        """The table as a pandas data frame; UsageError without pandas."""
        try:
            import pandas
        except ImportError:
            raise UsageError("a data frame needs pandas: pip install 'dcnlab[metrics]'") from None
        return pandas.DataFrame(self.table())

    def _repr_html_(self) -> str:
        """In a notebook: the figures and tables of the report."""
        from dcnlab.evaluator.reporting.notebook import cell_html
        from dcnlab.experiments.report import sections

        return cell_html(sections(self.rows))

    def to_json(self) -> dict[str, Any]:
        """What ``dcnlab run --json`` prints for a sweep."""
        return {
            "title": self.title,
            "runs": list(self.rows),
            "means": [mean.to_json() for mean in self.means()],
            "held": self.held,
        }


@dataclass(frozen=True)
class Plan:
    """The runs of a sweep, checked, with the key of each."""

    title: str
    runs: tuple[tuple[str, matrix.Run, Scenario], ...]


def plan(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    values: matrix.Matrix | None = None,
    repeat: int | None = None,
) -> Plan:
    """All runs of a scenario: a file, the name of an example, or a dictionary.

    ``values`` and ``repeat`` replace ``matrix`` and ``repeat`` of the scenario.  UsageError, in one line, for
    what is wrong with any of the runs; nothing has been started then.
    """
    place = ""
    if isinstance(scenario, Mapping):
        folder, checked, document = Path(), reading.from_values(scenario), dict(scenario)
    else:
        path = bundled.find(Path(scenario))
        place = "" if values else f"{path}: "
        folder, checked, document = path.parent, reading.read(path), dict(reading.document(path))
    given = ({"matrix": values} if values else {}) | ({"repeat": repeat} if repeat is not None else {})
    if given:
        checked = reading.from_values({**document, **given}, folder)
    runs = []
    for run in _runs(document, checked, place):
        try:
            made = reading.from_values(run.document, folder)
        except UsageError as error:
            raise UsageError(f"{run}: {error}") from None
        runs.append((_key(made, run), run, made))
    return Plan(checked.title, tuple(runs))


def _runs(document: Mapping[str, Any], checked: Scenario, place: str) -> list[matrix.Run]:
    """The runs of a document; the error about a matrix that a file states names the file."""
    try:
        return matrix.runs(document, checked.matrix, checked.repeat)
    except UsageError as error:
        raise UsageError(f"{place}{error}") from None


def run(
    wanted: Plan,
    results: Path | None = None,
    stage: Progress | None = None,
    note: Progress | None = None,
    keep: Path | None = None,
) -> Sweep:
    """Run what ``results`` does not hold yet, and return the results of all runs.

    Rejected runs, whose expectations about the lab itself failed, and those that ended with an error are run
    again next time.  ``note`` hears what happens; with ``keep`` each run writes its files into a folder there.
    """
    tell = note or _nobody
    if results is not None and results.exists() and not results.is_dir():
        raise UsageError(f"{results} is a file: name a folder")
    known = compare.load(results) if results else {}
    rows: list[Row] = []
    for number, (key, one, scenario) in enumerate(wanted.runs, 1):
        row = known.get(key)
        place = f"run {number} of {len(wanted.runs)}: {one}"
        if row is None or row["rejected"]:
            tell(place)
            folder = keep / f"run-{number:03}" if keep else None
            row = _run(key, one, scenario, stage or _nobody, tell, folder)
            for _ in range(_AGAIN):
                if not _spoiled(row):
                    break
                tell(f"{place}: the machine has spoiled it: again")
                row = _run(key, one, scenario, stage or _nobody, tell, folder)
            if results and "error" not in row:
                compare.append(results, row)
        else:
            tell(f"{place}: kept")
        rows.append(row)
    return Sweep(wanted.title, tuple(rows))


def run_matrix(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    matrix: matrix.Matrix | None = None,
    repeat: int | None = None,
    results: str | os.PathLike[str] | None = None,
    note: Progress | None = None,
) -> Sweep:
    """Run a scenario for every combination of ``matrix``, ``repeat`` times each.

    ``matrix`` maps keys to values: ``{"scheme": ["brp", "wmgr"], "stream.every": ["1ms", "2ms"]}``.  Without
    the arguments the scenario's own ``matrix`` and ``repeat`` hold.  With a folder ``results`` an interrupted
    sweep resumes.  UsageError, in one line, before anything has started.
    """
    return run(plan(scenario, matrix, repeat), Path(results) if results else None, note=note)


def _nobody(_: Any) -> None:
    """Nobody listens."""


def _run(
    key: str, one: matrix.Run, scenario: Scenario, stage: Progress, note: Progress, keep: Path | None
) -> Row:
    row: Row = {"key": key, "values": one.values, "repetition": one.repetition, "seed": one.seed}
    begun = time.time()
    try:
        outcome = runner.run(scenario, stage, note, keep, with_predictions, recorded)
    except UsageError:
        raise
    except LabError as error:
        note(f"error: {error}")
        return {**row, "error": str(error)}
    return {**row, **measured(outcome, begun)}


def _spoiled(row: Row) -> bool:
    """Whether a run was rejected, and the machine was too slow for it."""
    return bool(row.get("rejected") and row["results"][LAB].get(MACHINE_LIMITED))


def _key(scenario: Scenario, one: matrix.Run) -> str:
    """The key of a run: its scenario, the files that it names, and which repetition it is."""
    parts = [FORMAT, plugins.digest(), _digests(scenario), scenario.model_dump(mode="json"), one.values]
    text = json.dumps([*parts, one.repetition], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _digests(scenario: Scenario) -> Sequence[str]:
    """The digests of the topology's file and of a controller's applications."""
    kind, _, rest = scenario.topology.partition(":")
    names = [rest.partition(",")[0]] if kind == "file" else []
    names += scenario.config().choice().applications
    files = (Path(name) for name in names)
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in files if path.is_file()]
