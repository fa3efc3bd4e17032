"""One self-contained HTML page of text, tables and inline SVG figures, without external resources."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from dcnlab.evaluator.averages import Average
from dcnlab.evaluator.reporting.plots import Drawable, alt_text, svg

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
th { border-bottom: 2px solid var(--quiet); white-space: normal; vertical-align: bottom }
.text { text-align: left }
.banner { padding: .7em 1em; border-left: .4em solid; font: 600 17px/1.4 sans-serif; background: var(--row) }
.figures { display: flex; flex-wrap: wrap; gap: 1.5em; align-items: flex-start }
figure { margin: 0; max-width: 100%; background: #fff; border-radius: .3em }
figure svg, figure img { max-width: 100%; height: auto; display: block }
.holds { color: var(--holds) } .fails { color: var(--fails) } .none { color: var(--quiet) }
@media (max-width: 40em) { body { margin: 1em auto; padding: 0 .8em } td:first-child { min-width: 9em } }
"""
#: The letters of one line of a table, of which more would be cut off, and those between two columns.
_MOST_LETTERS, _BETWEEN = 130, 3
#: A page with more sections starts with a list of them.
_LISTED = 3


@dataclass(frozen=True)
class Section:
    """A heading with text, a table and figures, each optional."""

    title: str
    text: str = ""
    header: tuple[str, ...] = ()
    rows: tuple[tuple[object, ...], ...] = ()
    charts: tuple[Drawable, ...] = ()
    #: Pictures as SVG that has styles of its own.
    images: tuple[str, ...] = ()
    #: Parts below it, without figures.
    parts: tuple[Section, ...] = ()


def page(title: str, sections: Sequence[Section], banner: tuple[bool, str] | None = None) -> str:
    """The HTML text of the page; ``banner``: whether all is well, in a sentence at the top."""
    parts = [f"<h1>{html.escape(title)}</h1>"]
    if banner is not None:
        kind = "holds" if banner[0] else "fails"
        parts.append(f'<p class="banner {kind}" role="status">{html.escape(banner[1])}</p>')
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
    if section.charts or section.images:
        figures = "".join(_figure(chart, f"f{number}-{i}-") for i, chart in enumerate(section.charts))
        figures += "".join(_image(image, section.title) for image in section.images)
        parts.append(f'<div class="figures">{figures}</div>')
    parts += tables(section)
    for part in section.parts:
        parts += [f"<p>{html.escape(part.title)}</p>", *tables(part)]
    return "\n".join(parts)


def tables(section: Section) -> list[str]:
    """The table of a section, if it has one; a wide one in parts below each other, with the first columns."""
    if not section.rows:
        return []
    wide, first = len(section.header), section.rows[0]
    keys = next((number for number, cell in enumerate(first) if not isinstance(cell, str)), wide)
    letters = [_letters(section, column) for column in range(wide)]
    room = max(_MOST_LETTERS - sum(letters[:keys]), _MOST_LETTERS // 3)
    parts, left = [list(range(keys))], room
    for column in range(keys, wide):
        if left < letters[column] and len(parts[-1]) > keys:
            parts.append(list(range(keys)))
            left = room
        parts[-1].append(column)
        left -= letters[column]
    return [_table(section, part) for part in parts]


def _letters(section: Section, column: int) -> int:
    """How wide a column is: headings are wrapped, cells are not, but for the first."""
    words = [*section.header[column].split(), *(_text(row[column]) for row in section.rows if column)]
    return max(map(len, words)) + _BETWEEN


def _table(section: Section, columns: Sequence[int]) -> str:
    """A table of some columns."""
    head = "".join(_heading(section.header[at], section.rows[0][at]) for at in columns)
    body = "".join(f"<tr>{''.join(_cell(row[at]) for at in columns)}</tr>\n" for row in section.rows)
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _image(svg_text: str, title: str) -> str:
    """A picture that has its own styles: they would hold for the page as well."""
    data = base64.b64encode(svg_text.encode()).decode()
    return f'<figure><img alt="{html.escape(title)}" src="data:image/svg+xml;base64,{data}"></figure>'


def _figure(chart: Drawable, prefix: str) -> str:
    """The chart with a text alternative; ``prefix`` makes its identifiers unique on the page."""
    own = re.sub(r'((?<= id=")|(?<=url\(#)|(?<=href="#))', prefix, svg(chart))
    return f'<figure role="img" aria-label="{html.escape(alt_text(chart))}">{own}</figure>'


#: The CSS class of each verdict.
_VERDICTS = {
    "holds": "holds",
    "not refuted": "none",
    "does not hold": "fails",
    "not measured": "none",
    "not published": "none",
}


def _heading(name: str, first: object) -> str:
    """The heading of a column, aligned like its cells."""
    kind = ' class="text"' if isinstance(first, str) else ""
    return f"<th{kind}>{html.escape(name)}</th>"


def _cell(value: object) -> str:
    kind = f' class="text {_VERDICTS.get(value, "")}"' if isinstance(value, str) else ""
    return f"<td{kind}>{html.escape(_text(value))}</td>"


def _text(value: object) -> str:
    """What a cell shows."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Average):
        return value.text("±")
    return "-" if value is None else str(value)
