"""One self-contained HTML page of text, tables and inline SVG figures, without external resources."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dcnlab.evaluator.compare import Row, columns
from dcnlab.evaluator.reporting.plots import Chart, Series, alt_text, lines, svg
from dcnlab.evaluator.traffic.latency import Settings

_STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fff; --ink: #222; --quiet: #666; --line: #ddd; --row: #f3f3f3; --link: #05a;
  --holds: #060; --fails: #a00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #16191e; --ink: #e4e6ea; --quiet: #9aa2ad; --line: #343a43; --row: #20252c; --link: #8bf;
    --holds: #6c6; --fails: #f88;
  }
}
body {
  font: 15px/1.5 Georgia, serif; margin: 2em auto; max-width: 94em; padding: 0 1.5em;
  background: var(--paper); color: var(--ink);
}
h1, h2, p { overflow-wrap: anywhere } p { max-width: 80ch }
h2 { margin-top: 2em; border-bottom: 1px solid var(--line) }
a { color: var(--link); text-decoration: none } a:hover { text-decoration: underline }
nav ul { columns: 24em; padding: 0; list-style: none } nav li { break-inside: avoid }
.table { overflow-x: auto } table { border-collapse: collapse; margin: 1em 0; font: 13px/1.4 sans-serif }
th, td { padding: .25em .7em; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap }
td:first-child { white-space: normal; min-width: 11em } tbody tr:hover { background: var(--row) }
th { border-bottom: 2px solid var(--quiet) }
.text { text-align: left }
.figures { display: flex; flex-wrap: wrap; gap: 1.5em; align-items: flex-start }
figure { margin: 0; max-width: 100%; background: #fff; border-radius: .3em }
figure svg { max-width: 100%; height: auto; display: block }
.holds { color: var(--holds) } .fails { color: var(--fails) } .none { color: var(--quiet) }
@media (max-width: 40em) { body { margin: 1em auto; padding: 0 .8em } td:first-child { min-width: 9em } }
"""
#: A page with more sections starts with a list of them.
_LISTED = 3

#: The parameters of the latency simulation, for captions.
_SETTINGS = (
    f"{Settings.rate / 1e9:g} Gb/s, {Settings.packet} B, buffers of {Settings.buffer}, on/off;"
    f" {Settings.processing // 1000} + {Settings.propagation // 1000} µs per hop"
)
#: The parameters in the captions of all charts, and their labels.
_PARAMETERS = {
    "pairs": "pairs:",
    "hops": "path length in",
    "failure_knowledge": "routing recomputed after failures:",
    "traffic": "traffic:",
    "seed": "seeds",
}
#: A chart with more curves is split into one chart per topology.
_MOST_CURVES = 8
#: The columns of the comparison's table and their headings.
_COLUMNS = {
    "topology": "topology",
    "scheme": "scheme",
    "failures": "failures",
    "delivered": "delivered",
    "path.mean": "mean path",
    "path.max": "longest path",
    "stretch.mean": "mean stretch",
    "stretch.cdf.2": "P(stretch <= 2)",
    "table.entries_max": "table entries, max",
    "table.entries_mean": "table entries, mean",
    "table.bits_max": "table bits",
    "table.label_bits_max": "label bits",
    "throughput.aggregate": "throughput",
    "throughput.abt": "ABT",
    "loads.max": "max link load",
    "latency.load": "offered load",
    "latency.mean_us": "mean latency, µs",
    "latency.p99_us": "99th percentile, µs",
    "latency.throughput": "throughput per server",
    "latency.loss": "loss",
    "bisection.found": "bisection, best cut found",
    "bisection.bound": "bisection, lower bound",
    "diversity.mean": "edge-disjoint paths",
}


@dataclass(frozen=True)
class Section:
    """A heading with text, a table and figures, each optional."""

    title: str
    text: str = ""
    header: tuple[str, ...] = ()
    rows: tuple[tuple[object, ...], ...] = ()
    charts: tuple[Chart, ...] = ()


def page(title: str, sections: Sequence[Section]) -> str:
    """The HTML text of the page."""
    parts = [f"<h1>{html.escape(title)}</h1>"]
    if len(sections) > _LISTED:
        items = "".join(
            f'<li><a href="#section-{number}">{html.escape(section.title)}</a></li>\n'
            for number, section in enumerate(sections)
        )
        parts.append(f"<nav><ul>{items}</ul></nav>")
    parts += (_section(section, number) for number, section in enumerate(sections))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head>\n<body>{''.join(parts)}</body></html>\n"
    )


def _section(section: Section, number: int) -> str:
    parts = [f'<h2 id="section-{number}">{html.escape(section.title)}</h2>']
    if section.text:
        parts.append(f"<p>{html.escape(section.text)}</p>")
    if section.charts:
        figures = "".join(_figure(chart, f"f{number}-{i}-") for i, chart in enumerate(section.charts))
        parts.append(f'<div class="figures">{figures}</div>')
    if section.rows:
        head = "".join(map(_heading, section.header, section.rows[0]))
        body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in section.rows)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        parts.append(f'<div class="table">{table}</div>')
    return "\n".join(parts)


def _figure(chart: Chart, prefix: str) -> str:
    """The chart with a text alternative; ``prefix`` makes its identifiers unique on the page."""
    own = re.sub(r'((?<= id=")|(?<=url\(#)|(?<=href="#))', prefix, svg(chart))
    return f'<figure role="img" aria-label="{html.escape(alt_text(chart))}">{own}</figure>'


#: The CSS class of each verdict.
_VERDICTS = {"holds": "holds", "does not hold": "fails", "not measured": "none", "not published": "none"}


def _heading(name: str, first: object) -> str:
    """The heading of a column, aligned like its cells."""
    kind = ' class="text"' if isinstance(first, str) else ""
    return f"<th{kind}>{html.escape(name)}</th>"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"<td>{value:.4g}</td>"
    if value is None:
        return "<td>-</td>"
    if isinstance(value, int):
        return f"<td>{value}</td>"
    text = str(value)
    return f'<td class="text {_VERDICTS.get(text, "")}">{html.escape(text)}</td>'


def comparison(rows: Sequence[Row], title: str = "Comparison") -> str:
    """The page for the rows of :func:`dcnlab.evaluator.compare.compare`: figures, then the table."""
    good = [row for row in rows if "error" not in row]
    failed = [row for row in rows if "error" in row]
    shown = [key for key in _COLUMNS if key in columns(good)]
    header = (*(_COLUMNS[key] for key in shown), "seed")
    table = tuple((*(row.get(key) for key in shown), row["seed"]) for row in good)
    text = f"{_grid_summary(rows)}; {_caption(rows)}." if rows else "No evaluations were requested."
    sections = [Section("Figures", text, charts=charts(good)), Section("Results", header=header, rows=table)]
    if failed:
        problems = tuple((row["topology"], row["scheme"], row["error"]) for row in failed)
        sections.append(Section("Failed evaluations", header=("topology", "scheme", "error"), rows=problems))
    return page(title, sections)


def _grid_summary(rows: Sequence[Row]) -> str:
    """The grid of evaluations in words."""
    parts = []
    for key, words in (("topology", "topologies"), ("scheme", "schemes"), ("failures", "failures")):
        parts.append(f"{words} {', '.join(dict.fromkeys(row[key] or 'none' for row in rows))}")
    return f"{len(rows)} evaluations: {'; '.join(parts)}"


def charts(rows: Sequence[Row]) -> tuple[Chart, ...]:
    """Stretch distributions, and charts over size, failures and load where the rows vary in these."""
    if not rows:
        return ()
    # Figures that do not depend on the load are repeated in the rows of every load.
    once = list({(r["topology"], r["scheme"], r["failures"], r["seed"]): r for r in rows}.values())
    drawn = [*_panels(once, _stretch, ("topology", "failures"))]
    drawn += _over_sizes(once)
    if len({row["failures"] for row in rows}) > 1:
        drawn += _over_failures(once)
    if len({row.get("latency.load") for row in rows}) > 1:
        drawn += _over_loads(rows)
    return tuple(chart for chart in drawn if chart.series)


def _over_sizes(rows: Sequence[Row]) -> Iterator[Chart]:
    """The largest table of each family that occurs in several sizes, without failures."""
    intact = [{**r, "family": r["topology"].partition(":")[0]} for r in rows if not r["failures"]]
    size = lines(intact, "servers", "table.entries_max", ("family", "scheme"), "Largest table", _caption(rows))
    curves = tuple(series for series in size.series if len(series.x) > 1 and min(series.y) > 0)
    yield replace(size, series=curves, x_label="servers", y_label="entries", log_x=True, log_y=True)


def _over_failures(rows: Sequence[Row]) -> Iterator[Chart]:
    over = {
        "path.mean": "mean path (links)",
        "delivered": "share delivered",
        "throughput.abt": "ABT (multiples of the link rate)",
    }
    for key, label in over.items():
        if key == "delivered" and all(row[key] == 1 for row in rows):
            continue  # constant: the table is enough
        title = f"{label[0].upper()}{label.partition(' (')[0][1:]} under failures"

        def draw(some: Sequence[Row], key: str = key, label: str = label, title: str = title) -> Chart:
            chart = lines(some, "failed_share", key, ("topology", "scheme"), title, _caption(some))
            percent = tuple(replace(s, x=tuple(100 * x for x in s.x)) for s in chart.series)
            return replace(chart, series=percent, x_label="links down, %", y_label=label)

        yield from _panels(rows, draw)


def _over_loads(rows: Sequence[Row]) -> Iterator[Chart]:
    over = {
        "mean_us": "mean latency (µs)",
        "p99_us": "99th percentile of latency (µs)",
        "throughput": "throughput per server (multiples of the link rate)",
        "loss": "share of packets lost",
    }
    broken = len({row["failures"] for row in rows}) > 1
    by = ("topology", "scheme", *(("failures",) if broken else ()))
    for key, label in over.items():
        title = label.partition(" (")[0].capitalize()

        def draw(some: Sequence[Row], key: str = key, label: str = label, title: str = title) -> Chart:
            caption = f"{_caption(some)}; {_SETTINGS}"
            chart = lines(some, "latency.load", f"latency.{key}", by, title, caption)
            return replace(chart, x_label="offered load per server (multiples of the link rate)", y_label=label)

        yield from _panels(rows, draw)


def _panels(
    rows: Sequence[Row], draw: Callable[[Sequence[Row]], Chart], by: tuple[str, ...] = ("topology",)
) -> Iterator[Chart]:
    """One chart; if it would be crowded, one for each value of the first key of ``by``, and so on."""
    whole = draw(rows)
    if len(whole.series) <= _MOST_CURVES or not by:
        yield whole
        return
    key, *rest = by
    for name in dict.fromkeys(row[key] for row in rows):
        for chart in _panels([row for row in rows if row[key] == name], draw, tuple(rest)):
            series = tuple(replace(s, label=_without(s.label, name)) for s in chart.series)
            first, colon, others = chart.title.partition(": ")
            shown = f"{first}: {name or f'no {key}'}{', ' * bool(colon)}{others}"
            yield replace(chart, title=shown, series=series)


def _without(label: str, name: str) -> str:
    """The label of a curve without the part that the chart's title already has."""
    return label.removeprefix(name).lstrip(", ") if label.startswith(name) else label.removesuffix(f" {name}")


def _stretch(rows: Sequence[Row]) -> Chart:
    """The distribution of stretch, as the mean over the seeds."""
    prefix, series = "stretch.cdf.", []
    for name in dict.fromkeys((row["topology"], row["scheme"], row["failures"]) for row in rows):
        seeds = [row for row in rows if (row["topology"], row["scheme"], row["failures"]) == name]
        points = [
            (float(key.removeprefix(prefix)), float(np.mean([row[key] for row in seeds])))
            for key in seeds[0]
            if key.startswith(prefix) and all(row.get(key) is not None for row in seeds)
        ]
        label = " ".join(filter(None, name))
        series.append(Series(label, tuple(x for x, _ in points), tuple(y for _, y in points)))
    return Chart("Stretch", "stretch", "share of pairs", tuple(series), _caption(rows), steps=True)


def _caption(rows: Sequence[dict[str, Any]]) -> str:
    parts = []
    for key, words in _PARAMETERS.items():
        values = sorted({str(row[key]) for row in rows if row.get(key)})
        if values:
            parts.append(f"{words} {', '.join(values)}")
    return "; ".join(parts)
