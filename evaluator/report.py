"""One self-contained HTML page: text, tables and figures (inline SVG), nothing loaded from elsewhere."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from evaluator.compare import Row, columns
from evaluator.plots import Chart, Series, lines, svg

_STYLE = """
body { font: 15px/1.5 Georgia, serif; margin: 2em auto; max-width: 70em; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: 1em 0; font: 13px/1.4 sans-serif }
caption { text-align: left; font-weight: bold; padding: .3em 0 }
th, td { padding: .25em .7em; text-align: right; border-bottom: 1px solid #ddd }
th { border-bottom: 2px solid #444 } td.text, th.text { text-align: left }
figure { display: inline-block; margin: 1em 1.5em 1em 0 }
.holds { color: #060 } .fails { color: #a00 } .none { color: #777 }
"""

#: Columns of the comparison's table and their headings.
_COLUMNS = {
    "topology": "topology",
    "scheme": "scheme",
    "failures": "failures",
    "delivered": "delivered",
    "path.mean": "path",
    "path.max": "longest",
    "stretch.mean": "stretch",
    "stretch.cdf.2": "P(stretch <= 2)",
    "table.entries_max": "entries, most",
    "table.entries_mean": "entries, mean",
    "table.bits_max": "table bits",
    "table.label_bits_max": "label bits",
    "throughput.aggregate": "throughput",
    "throughput.abt": "ABT",
    "loads.max": "most loaded link",
    "latency.load": "load",
    "latency.mean_us": "latency, us",
    "latency.p99_us": "99 %, us",
    "latency.throughput": "throughput per server",
    "latency.loss": "loss",
    "bisection.found": "bisection found",
    "bisection.bound": "at least",
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
    """The whole page as text."""
    parts = [f"<h1>{html.escape(title)}</h1>", *map(_section, sections)]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body>{''.join(parts)}</body></html>\n"
    )


def _section(section: Section) -> str:
    parts = [f"<h2>{html.escape(section.title)}</h2>"]
    if section.text:
        parts.append(f"<p>{html.escape(section.text)}</p>")
    if section.rows:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in section.header)
        body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in section.rows)
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    parts += [f"<figure>{svg(chart)}</figure>" for chart in section.charts]
    return "\n".join(parts)


_VERDICTS = {"holds": "holds", "does not hold": "fails", "not measured": "none", "not printed": "none"}


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
    """The page of :func:`evaluator.compare.compare`'s rows: figures, then the table."""
    good = [row for row in rows if "error" not in row]
    failed = [row for row in rows if "error" in row]
    shown = [key for key in _COLUMNS if key in columns(good)]
    header = (*(_COLUMNS[key] for key in shown), "seed")
    table = tuple((*(row.get(key) for key in shown), row["seed"]) for row in good)
    sections = [Section("Figures", charts=charts(good)), Section("Results", header=header, rows=table)]
    if failed:
        problems = tuple((row["topology"], row["scheme"], row["error"]) for row in failed)
        sections.append(Section("Not evaluated", header=("topology", "scheme", "why"), rows=problems))
    return page(title, sections)


def charts(rows: Sequence[Row]) -> tuple[Chart, ...]:
    """Stretch distributions, and what there is to plot over size and over failures."""
    if not rows:
        return ()
    caption = _caption(rows)
    found = [_stretch(rows, caption)]
    if len({row["servers"] for row in rows}) > 1:
        size = lines(rows, "servers", "table.entries_max", ("scheme",), "Largest table", caption)
        found.append(replace(size, x_label="servers", y_label="entries", log_x=True, log_y=True))
    if len({row["failures"] for row in rows}) > 1:
        by = ("topology", "scheme")
        over = {"path.mean": "mean path", "delivered": "share delivered", "throughput.abt": "ABT"}
        for key, label in over.items():
            chart = lines(rows, "failed_share", key, by, f"{label.capitalize()} under failures", caption)
            found.append(replace(chart, x_label="share of links that is down", y_label=label))
    if len({row.get("latency.load") for row in rows}) > 1:
        over = {"mean_us": "mean latency (us)", "p99_us": "99th percentile (us)"}
        for key, label in {**over, "throughput": "throughput per server (link rates)", "loss": "loss"}.items():
            chart = lines(rows, "latency.load", f"latency.{key}", ("topology", "scheme"), "", caption)
            title = label.partition(" (")[0].capitalize()
            found.append(
                replace(chart, title=title, x_label="offered load per server (link rates)", y_label=label)
            )
    return tuple(chart for chart in found if chart.series)


def _stretch(rows: Sequence[Row], caption: str) -> Chart:
    prefix = "stretch.cdf."
    series = []
    for row in {(r["topology"], r["scheme"], r["failures"]): r for r in rows}.values():
        points = [
            (float(k.removeprefix(prefix)), v) for k, v in row.items() if k.startswith(prefix) and v is not None
        ]
        label = " ".join(filter(None, (row["topology"], row["scheme"], row["failures"])))
        series.append(Series(label, tuple(x for x, _ in points), tuple(y for _, y in points)))
    return Chart("Stretch", "stretch", "share of pairs", tuple(series), caption, steps=True)


def _caption(rows: Sequence[dict[str, Any]]) -> str:
    parts = []
    for key in ("pairs", "hops", "aware", "seed"):
        values = sorted({str(row[key]) for row in rows})
        parts.append(f"{key} {', '.join(values)}")
    return "; ".join(parts)
