"""Finds experiments by name, runs them, and writes sentences and values as Markdown or HTML."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from dcnlab import papers as packages
from dcnlab.evaluator.reporting.notebook import cell_html
from dcnlab.evaluator.reporting.report import Section, page
from dcnlab.papers.claim import Experiment, Reading, Result, Row
from dcnlab.papers.figures import figures
from dcnlab.papers.sentences import VERDICTS, Judged, by_paper, counts, folder_of, judge, ordered
from topos.spec import lookup

#: How to read the verdicts and columns.
_PREFACE = (
    "A sentence of a paper, a cell of a table or a point of a figure has one verdict. Several values can be"
    " evidence for it: sizes, seeds, scan orders.",
    "*Holds by reading*: under one reading of the sentence all its values hold; every reading is listed."
    " *Not refuted*: measured growth is within a bound that no finite number of sizes can prove.",
    "*Printed* is the value in the paper with its relation to the measured one (equality where none is"
    " shown); a range, such as 35 to 50, holds between its ends. *Source* is the place in the paper.",
    'The tolerance is half a unit of the last printed digit, or more where the paper says "about". Some'
    " criteria were chosen after the first results were known; each paper lists its own.",
    "*Independent* is the same value by networkx, scipy or brute force from the paper's definitions,"
    " without the program's topologies, schemes and evaluator: a function of"
    " [dcnlab/papers/oracles.py](../dcnlab/papers/oracles.py), with its call.",
)
#: Tolerances and readings of a paper, by its folder: what was chosen here.
_CRITERIA: Mapping[str, str] = {
    "borel": "*Close* is read as within 10 %, *in general* as for three of four look-aheads.",
    "clot": (
        "Throughput gains have a tolerance of half a percentage point, Valiant's 50 % one of a whole point."
        " The paper gives no loads for its Figures 15 to 17; those that are readings, with and without"
        " credits, were chosen here. *Greatly* is read as by a quarter, *much* as by half, *rarely* as at most"
        " 1 %, *high probability* as more than half."
    ),
    "dcube": (
        "Theorems 1 and 3 are judged from m = 2 on: with m = 1 both fail by one hop. For Theorem 8 and Lemma 1"
        " half a hop of the proof's average path is the tolerance. The ABT of BCube and Fat-Tree is judged as"
        " at least N. *Graceful* is read as: no larger share of the throughput is lost than of the servers or"
        " switches; *largely* as by a third, *similar* diameters as within one hop."
    ),
    "hrsw": (
        "The paper does not give its random network, so the range over the seeds decides; of 30 % smaller"
        " tables the mean of the seeds. *Similar* and *good* are read as within 10 %, *significantly* as by"
        " half."
    ),
    "wmgr": (
        "Whole percentages have a tolerance of half a unit. On DCell the root matters, so the value is the"
        " mean over twelve roots; all other rows use server h0. A bound of Tables I to IV is refuted where"
        " the whole interval of the fitted exponent is above 0; that the interval reaches to the limit of"
        " the exponents between successive sizes was chosen after the first fits had been seen."
    ),
}
HEADER = ("claim", "source", "printed", "independent", "measured", "verdict")
#: What stands above values that no paper gives.
MEASURED_ONLY = "Measured here; the paper prints no value"
#: A table of them has at most so many columns beside the first.
_MOST_QUANTITIES = 6
#: More places in the paper are not listed above it.
_MOST_SOURCES = 2
#: From here on six digits would not be the whole number.
_LARGE = 1e6
#: The columns of :func:`papers`, of :func:`said` and of the experiments in HTML.
PAPERS_HEADER = ("paper", "name", "sentences", *VERDICTS, "values")
SENTENCES_HEADER = ("sentence", "source", "verdict", "reading")
_EXPERIMENTS_HEADER = ("experiment", "title", *VERDICTS)


@cache
def experiments() -> Mapping[str, Experiment]:
    """All experiments by name, grouped by paper."""
    known: dict[str, Experiment] = {}
    for info in pkgutil.walk_packages(packages.__path__, f"{packages.__name__}."):
        module = importlib.import_module(info.name)
        known |= {item.name: item for item in getattr(module, "EXPERIMENTS", ())}
    return MappingProxyType(known)


def run(name: str, figures: bool = True) -> Result:
    """Run one experiment; raises SpecError, with similar names, for an unknown one."""
    result = lookup(name, experiments(), "experiment").run(figures)
    return Reproduction(result.rows, result.charts, name)


def run_on(
    executor: Executor, names: Sequence[str], figures: bool, progress: Callable[[int, int, str], object]
) -> dict[str, Result]:
    """Run experiments by the workers of an executor, several at a time; ``progress`` gets how many have ended,
    of how many, and which ended last."""
    waiting = {executor.submit(run, name, figures): name for name in names}
    results: dict[str, Result] = {}
    try:
        for future in as_completed(waiting):
            results[waiting[future]] = future.result()
            progress(len(results), len(names), waiting[future])
    finally:
        for future in waiting:
            future.cancel()
    return {name: results[name] for name in names}


@dataclass(frozen=True)
class Reproduction(Result):
    """The result of the experiment ``name``, which a notebook shows as figures and tables."""

    name: str = ""

    def _repr_html_(self) -> str:
        return cell_html([_section(self.name, self)])


def cells(row: Row) -> tuple[str, ...]:
    """The row as text, in the columns of ``HEADER``."""
    claim = row.claim
    relation = "" if claim.relation == "=" else f"{claim.relation} "
    published = "-" if claim.printed is None else f"{relation}{_number(claim.printed)}"
    published += "" if claim.upper is None else f" to {_number(claim.upper)}"
    known = row.independent
    independent = "-" if known is None else f"{_number(known.value)} by {known}"
    return claim.statement, claim.source, published, independent, _measured(row), row.judgement


def _measured(row: Row) -> str:
    """The measured value; with readings, the value of each."""
    if row.readings:
        return "; ".join(_reading(one) for one in row.readings)
    return "-" if row.measured is None else _value(row.measured, row.seen)


def _reading(one: Reading) -> str:
    published = "" if one.printed is None else f", published {_number(one.printed)}"
    return f"{one.name}: {_value(one.measured, one.seen)}{published}"


def _value(measured: float, seen: tuple[float, float] | None) -> str:
    extent = "" if seen is None else f" ({seen[0]:.4g} to {seen[1]:.4g})"
    return f"{_number(measured)}{extent}"


def _number(value: float) -> str:
    """Six digits; large numbers whole, as papers print them."""
    return f"{value:,.0f}" if abs(value) >= _LARGE else f"{value:.6g}"


def with_verdict(rows: Iterable[Row]) -> list[Row]:
    """The rows about a published value, or about something that was not measured."""
    return [row for row in rows if row.verdict != "not published"]


def measured_only(rows: Iterable[Row]) -> Section | None:
    """The values that no paper prints: a table with a line per subject and a column per quantity, where it is
    well filled.

    A statement is then ``QUANTITY: SUBJECT``.  None without such values.
    """
    unpublished = [row for row in rows if row.verdict == "not published"]
    if not unpublished:
        return None
    sources = list(dict.fromkeys(row.claim.source for row in unpublished))
    title = f"{MEASURED_ONLY} ({'; '.join(sources)})." if len(sources) <= _MOST_SOURCES else f"{MEASURED_ONLY}."
    header, lines = _by_quantity(unpublished)
    filled = sum(value != "-" for _, *values in lines for value in values)
    wide = len(header) - 1 > _MOST_QUANTITIES or 2 * filled < len(lines) * (len(header) - 1)
    if wide or any(row.independent is not None for row in unpublished):
        header = ("of", "measured", "independent")
        lines = [(cell[0], cell[4], cell[3]) for cell in map(cells, unpublished)]
    return Section(title, "", *_without_empty(header, lines))


def _by_quantity(rows: Iterable[Row]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """A line per subject, and a column per quantity."""
    quantities: dict[str, None] = {}
    subjects: dict[str, dict[str, str]] = {}
    for row in rows:
        quantity, colon, subject = row.claim.statement.partition(": ")
        column = quantity if colon else "measured"
        quantities[column] = None
        subjects.setdefault(subject if colon else quantity, {})[column] = _measured(row)
    lines = [(subject, *(values.get(one, "-") for one in quantities)) for subject, values in subjects.items()]
    return ("of", *quantities), lines


def _without_empty(
    header: tuple[str, ...], rows: Sequence[tuple[str, ...]]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """A table without the columns in which no line has anything."""
    kept = [at for at in range(len(header)) if not rows or any(row[at] != "-" for row in rows)]
    return tuple(header[at] for at in kept), tuple(tuple(row[at] for at in kept) for row in rows)


def papers(results: Mapping[str, Result]) -> list[tuple[str, ...]]:
    """Per paper, in the columns of ``PAPERS_HEADER``: its sentences by verdict, and the number of values."""
    values = Counter(folder_of(name) for name, result in results.items() for _ in with_verdict(result.rows))
    return [
        (
            mine[0].paper, folder, str(len(mine)), *(str(counts(mine)[verdict]) for verdict in VERDICTS),
            str(values[folder]),
        )
        for folder, mine in by_paper(judged(results))
    ]  # fmt: skip


def judged(results: Mapping[str, Result]) -> list[Judged]:
    """What the papers say, judged by the results."""
    return judge({name: result.rows for name, result in results.items()})


def totals(results: Mapping[str, Result]) -> str:
    """The number of sentences per verdict, of values, and of agreements, in words."""
    rows, verdicts = _all_rows(results), counts(judged(results))
    rest = ", ".join(
        f"{verdicts[verdict]} {words}"
        for verdict, words in (
            ("holds by reading", "hold by one reading"),
            ("not refuted", "are not refuted"),
            ("not measured", "were not measured"),
        )
        if verdicts[verdict]
    )
    known = [row.agrees for row in rows if row.agrees is not None]
    agreeing = (
        f" {sum(known)} of {len(known)} independent values agree with the measured ones." if known else ""
    )
    return (
        f"{verdicts['holds']} of {verdicts.total()} published sentences, cells and points hold;"
        f" {verdicts['does not hold']} do not{f'; {rest}' if rest else ''}."
        f" They rest on {len(with_verdict(rows))} values.{agreeing}"
    )


def said(judgements: Iterable[Judged]) -> list[tuple[str, ...]]:
    """In the columns of ``SENTENCES_HEADER``, what does not hold first; cells that hold are counted."""
    lines: list[tuple[str, ...]] = []
    cells_that_hold = Counter[str]()
    for one in ordered(judgements):
        if one.alone and one.verdict == "holds":
            cells_that_hold[one.experiments[0]] += 1
        else:
            lines.append((one.text, one.source, one.verdict, one.reading))
    for name, count in cells_that_hold.items():
        lines.append(
            (
                experiments()[name].title,
                name,
                "holds",
                f"{count} {'cell or point' if count == 1 else 'cells or points'}",
            )
        )
    return lines


def markdown(results: Mapping[str, Result]) -> str:
    """docs/reproduction.md: per paper a table of what it says, and the values below, folded."""
    lines = ["# Reproduction", "", "Generated by `dcnlab reproduce all`; do not edit.", ""]
    lines += [totals(results), "", *_table(PAPERS_HEADER, papers(results)), ""]
    lines += [f"- {sentence}" for sentence in _PREFACE]
    for folder in dict.fromkeys(map(folder_of, results)):
        own = {name: result for name, result in results.items() if folder_of(name) == folder}
        lines += ["", f"## {experiments()[next(iter(own))].paper}", "", _CRITERIA[folder], ""]
        lines += [*_table(SENTENCES_HEADER, said(judged(own))), ""]
        lines += ["<details>", f"<summary>The values: {len(own)} experiments</summary>"]
        for name, result in own.items():
            lines += ["", *_values(name, result)]
        lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def _values(name: str, result: Result) -> list[str]:
    """The values of an experiment in Markdown."""
    lines, compared = [f"### {name}: {experiments()[name].title}", ""], with_verdict(result.rows)
    lines += _table(HEADER, map(cells, compared)) if compared else []
    if only := measured_only(result.rows):
        lines += [*([""] if compared else []), only.title, "", *_table(only.header, _texts(only.rows))]
    return [*lines, "", "Method: " + "; ".join(_methods(result.rows)) + "."]


def _texts(rows: Iterable[Sequence[object]]) -> list[list[str]]:
    return [[str(cell) for cell in row] for row in rows]


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table in Markdown, one line per row."""
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def html(results: Mapping[str, Result]) -> str:
    """The results as one self-contained HTML page, with the figures; one paper's begin with that paper."""
    mine = by_paper(judged(results))
    sections = [
        Section(own[0].paper, _CRITERIA[folder].replace("*", ""), SENTENCES_HEADER, tuple(said(own)))
        for folder, own in mine
    ]
    preface = " ".join((totals(results), *_PREFACE)).replace("*", "")
    over = Section("Papers", preface, PAPERS_HEADER, tuple(papers(results)))
    sections.insert(0 if len(sections) > 1 else len(sections), over)
    sections.append(Section("Experiments", "", _EXPERIMENTS_HEADER, tuple(_counts(results))))
    for name, result in results.items():
        sections.append(_section(name, result))
    return page("dcnlab reproduce", sections)


def _section(name: str, result: Result) -> Section:
    """An experiment: what the paper prints beside what was measured, and what only was measured."""
    item = experiments()[name]
    text = f"{item.paper}. Method: {'; '.join(_methods(result.rows))}."
    shown = with_verdict(result.rows)
    charts = (*figures(shown), *result.charts)
    parts = tuple(filter(None, [measured_only(result.rows)]))
    header, rows = _without_empty(HEADER, [cells(row) for row in shown])
    return Section(f"{name}: {item.title}", text, header, rows, charts, parts=parts)


def _counts(results: Mapping[str, Result]) -> Iterator[tuple[object, ...]]:
    """Per experiment the number of claims per verdict."""
    for name, result in results.items():
        verdicts = Counter(row.verdict for row in result.rows)
        yield (name, experiments()[name].title, *(verdicts[verdict] for verdict in VERDICTS))


def _all_rows(results: Mapping[str, Result]) -> list[Row]:
    return [row for result in results.values() for row in result.rows]


def _methods(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row.claim.how for row in rows))
