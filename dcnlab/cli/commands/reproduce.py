"""``dcnlab reproduce``: measures the papers' claims again, or lists them with their verdicts."""

from __future__ import annotations

import shutil
import textwrap
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters import cluster, options
from dcnlab.cli.show import JsonFlag, print_json, progress_bar, table
from dcnlab.lab.errors import UsageError
from topos.spec import SpecError, lookup

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Executor

    from dcnlab.papers.claim import Result, Row
    from dcnlab.papers.sentences import Judged

#: The size of a terminal that tells none, the lines around a list of sentences, and the fewest that are listed.
_COLUMNS, _LINES, _AROUND, _FEWEST = 160, 40, 16, 8
#: The width of a verdict, the least of another column, and how text, place and reading share the rest.
_VERDICT, _LEAST, _SHARES = 20, 10, (0.5, 0.2, 0.25)


class Paper(StrEnum):
    """The papers."""

    BOREL = "borel"
    CLOT = "clot"
    DCUBE = "dcube"
    HRSW = "hrsw"
    WMGR = "wmgr"


class Shown(StrEnum):
    """The verdicts that can be asked for."""

    FAILS = "fails"
    READING = "reading"
    OPEN = "open"
    HOLDS = "holds"
    UNMEASURED = "unmeasured"


#: The verdicts of the record by the words of the option.
_ASKED = dict(
    zip(Shown, ("does not hold", "holds by reading", "not refuted", "holds", "not measured"), strict=True)
)


@command("dcnlab reproduce --paper clot --verdict fails", "dcnlab reproduce dcube-fig6 --report fig6.html")
def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            help="An experiment, or all (default: list what the papers say, with recorded verdicts)."
        ),
    ] = "",
    report: options.Html = None,
    markdown: Annotated[
        Path | None, options.output("Write the tables as Markdown (without an experiment: the recorded ones).")
    ] = None,
    dask: options.Dask = "",
    record: Annotated[bool, typer.Option("--record", help="Store the verdicts for the list.")] = False,
    paper: Annotated[Paper | None, typer.Option(help="List the sentences of one paper.")] = None,
    verdict: Annotated[
        Shown | None, typer.Option(help="List sentences with this verdict; open: not refuted.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="List all sentences and cells, with the whole text.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Measure the papers' claims again: published and measured values, and whether each claim holds."""
    from dcnlab.papers import registry

    if not name:
        if record or report:
            raise UsageError("no experiment given: write `dcnlab reproduce all`, or name an experiment")
        if markdown is not None:
            markdown.write_text(registry.markdown(_recorded()))
        _list(paper, verdict, everything, json)
        return
    if paper or verdict or everything:
        raise UsageError("--paper, --verdict and --all choose from the list: give no experiment with them")
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


def _list(paper: Paper | None, verdict: Shown | None, everything: bool, json: bool) -> None:
    """Print what the papers say with the verdicts of the last recorded run."""
    from dcnlab.papers import registry

    results = _recorded()
    chosen = [
        one
        for one in registry.judged(results)
        if (paper is None or one.folder == paper) and (verdict is None or one.verdict == _ASKED[verdict])
    ]
    if json:
        print_json([_plain_sentence(one) for one in chosen])
        return
    if paper is None:
        table(registry.PAPERS_HEADER, registry.papers(results))
        print(f"\nRecorded: {registry.totals(results)}")
    if paper or verdict or everything:
        _print_sentences(chosen, everything)
    print(
        "\nWhat fails: --verdict fails. One paper: --paper clot. To measure again: dcnlab reproduce EXPERIMENT"
    )


def _print_sentences(chosen: Sequence[Judged], everything: bool) -> None:
    """Print sentences, what does not hold first: as many as the screen has lines for, or all."""
    from dcnlab.papers import registry
    from dcnlab.papers.sentences import ordered

    if everything:
        every = [(one.text, one.source, one.verdict, one.reading) for one in ordered(chosen)]
        table(registry.SENTENCES_HEADER, every)
        return
    lines = registry.said(chosen)
    size = shutil.get_terminal_size((_COLUMNS, _LINES))
    most = max(_FEWEST, size.lines - _AROUND)
    print()
    widths = [max(_LEAST, int(share * (size.columns - _VERDICT))) for share in _SHARES]
    shown = [tuple(map(_shortened, line, (widths[0], widths[1], _VERDICT, widths[2]))) for line in lines[:most]]
    table(registry.SENTENCES_HEADER, shown)
    if len(lines) > most:
        print(f"... and {len(lines) - most} more: --all")


def _shortened(text: str, width: int) -> str:
    return textwrap.shorten(text, width, placeholder="...")


def _plain_sentence(one: Judged) -> dict[str, Any]:
    return {
        "paper": one.paper,
        "name": one.folder,
        "experiments": list(one.experiments),
        "sentence": one.text,
        "source": one.source,
        "verdict": one.verdict,
        "reading": one.reading,
        "values": [_plain(row) for row in one.rows],
    }


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
