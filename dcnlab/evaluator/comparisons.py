"""``dcnlab.compare``: the results of many evaluations as a list that notebooks show as figures and a table."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from dcnlab.evaluator import compare as evaluations
from dcnlab.evaluator.compare import Progress, Request, Row


class Comparison(list[Row]):
    """The rows of a comparison, one per evaluation."""

    def _repr_html_(self) -> str:
        """Figures, and a table with means over the seeds."""
        from dcnlab.evaluator.reporting.comparison import sections
        from dcnlab.evaluator.reporting.notebook import cell_html

        return cell_html(sections(self))

    def figures(self) -> tuple[Any, ...]:
        """The same figures as matplotlib's, to change or to save."""
        from dcnlab.evaluator.reporting.comparison import charts
        from dcnlab.evaluator.reporting.plots import draw

        return tuple(map(draw, charts([row for row in self if "error" not in row])))


def compare(
    wanted: Sequence[Request],
    directory: Path | None = None,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> Comparison:
    """The results of ``wanted`` (of ``grid``), in that order; those in ``directory`` are not computed again.

    ``workers`` processes compute them (default: one per core), or any ``concurrent.futures`` executor.
    """
    rows = evaluations.compare(wanted, directory, workers=workers, progress=progress, executor=executor)
    return Comparison(rows)
