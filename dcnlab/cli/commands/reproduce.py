"""``dcnlab reproduce``: measures the papers' claims again, or lists them with their verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcnlab.cli import cluster, options
from dcnlab.cli.app import command
from dcnlab.cli.show import JsonFlag, print_json, progress_bar, table
from dcnlab.lab.errors import UsageError
from topos.spec import SpecError, lookup

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from dcnlab.papers.claim import Result, Row


@command("dcnlab reproduce", "dcnlab reproduce dcube-fig6 --report fig6.html")
def reproduce(
    name: Annotated[
        str, typer.Argument(help="An experiment, or all (default: list every claim with its recorded verdict).")
    ] = "",
    report: options.Html = None,
    markdown: Annotated[
        Path | None, options.output("Write the tables as Markdown (without an experiment: the recorded ones).")
    ] = None,
    dask: options.Dask = "",
    record: Annotated[bool, typer.Option("--record", help="Store the verdicts for the list.")] = False,
    json: JsonFlag = False,
) -> None:
    """Measure the papers' claims again: published and measured values, and whether each claim holds."""
    from dcnlab.papers import registry

    if not name:
        if record or report:
            raise UsageError("no experiment given: write `dcnlab reproduce all`, or name an experiment")
        if markdown is not None:
            markdown.write_text(registry.markdown(_recorded()))
        _list(json)
        return
    with cluster.executor(dask) as executor:
        results = _measure(name, report is not None, json, executor)
    if record:
        _record(results)
    if report is not None:
        report.write_text(registry.html(results))
    if markdown is not None:
        markdown.write_text(registry.markdown(results))
    if json:
        print_json({one: [_plain(row) for row in result.rows] for one, result in results.items()})
    else:
        for one, result in results.items():
            if judged := registry.with_verdict(result.rows):
                table(registry.HEADER, [registry.cells(row) for row in judged], title=_title(one))
            if only := registry.measured_only(result.rows):
                print(f"{_title(one)}: {registry.MEASURED_ONLY.lower()}:")
                table(only.header, only.rows)


def _measure(name: str, figures: bool, quiet: bool, executor: Executor | None) -> dict[str, Result]:
    """Run one experiment, or all of them, here or by the workers of an executor."""
    from addressing.jit import compilations
    from dcnlab.papers import registry

    results, known = {}, registry.experiments()
    names = list(known) if name == "all" else [name]
    try:
        for one in names:
            lookup(one, known, "experiment")
    except SpecError as error:
        raise UsageError(str(error)) from error
    with progress_bar(quiet) as progress, compilations(progress.compiling):
        if executor is not None:
            return registry.run_on(executor, names, figures, progress)
        for done, one in enumerate(names):
            progress(done, len(names), one)
            results[one] = registry.run(one, figures)
    return results


def _title(name: str) -> str:
    """The name and title of an experiment."""
    from dcnlab.papers import registry

    return f"{name}: {registry.experiments()[name].title}"


def _record(results: dict[str, Result]) -> None:
    from dcnlab.papers import record, registry

    rows = {name: result.rows for name, result in results.items()}
    try:
        kept = record.load(record.RECORD)
        record.save(record.merged(kept, rows, list(registry.experiments())), record.RECORD)
    except OSError as error:
        raise UsageError(f"--record writes {record.RECORD}: {error.strerror}") from error


def _recorded() -> dict[str, Result]:
    """The results of the last recorded run."""
    from dcnlab.papers import record
    from dcnlab.papers.claim import Result

    return {name: Result(rows) for name, rows in record.load(record.RECORD).items()}


def _list(json: bool) -> None:
    """Print every claim with its verdict from the last recorded run."""
    from dcnlab.papers import record, registry

    entries = list(record.list_claims(record.load(record.RECORD), registry.experiments()))
    if json:
        print_json(
            [
                {"experiment": e.experiment.name, "paper": e.experiment.paper}
                | (_plain(e.row) if e.row else {"claim": e.experiment.title, "verdict": "not recorded"})
                for e in entries
            ]
        )
        return
    recorded = [entry.row for entry in entries if entry.row]
    table(registry.PAPERS_HEADER, registry.papers(recorded), title="Claims per paper")
    print()
    for paper in dict.fromkeys(e.experiment.paper for e in entries):
        rows = []
        for entry in (e for e in entries if e.experiment.paper == paper):
            if entry.row is None:
                rows.append((entry.experiment.name, entry.experiment.title, "-", "-", "-", "not recorded"))
            else:
                claim, source, published, _, measured, verdict = registry.cells(entry.row)
                rows.append((entry.experiment.name, claim, source, published, measured, verdict))
        table(("experiment", "claim", "source", "published", "measured", "verdict"), rows, title=paper)
        print()
    print(f"Recorded: {registry.totals(recorded)}\nTo measure again: dcnlab reproduce EXPERIMENT, or all")


def _plain(row: Row) -> dict[str, Any]:
    claim = row.claim
    plain: dict[str, Any] = {
        "claim": claim.statement,
        "source": claim.source,
        "printed": claim.printed,
        "upper": claim.upper,
        "relation": claim.relation,
        "independent": row.independent and {"value": row.independent.value, "call": str(row.independent)},
        "measured": row.measured,
        "verdict": row.verdict,
    }
    if row.readings:
        holding = row.holding
        plain["readings"] = [
            {
                "reading": one.name,
                "printed": claim.printed if one.printed is None else one.printed,
                "measured": one.measured,
                "holds": one.name in holding,
            }
            for one in row.readings
        ]
    return plain
