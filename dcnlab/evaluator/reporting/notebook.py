"""Results as the output of a notebook's cell: figures as pictures, and tables."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable

from dcnlab.evaluator.reporting.plots import Drawable, alt_text, svg
from dcnlab.evaluator.reporting.report import Section, tables


def cell_html(sections: Iterable[Section]) -> str:
    """The sections without a page around them, as ``_repr_html_`` returns them."""
    parts: list[str] = []
    for section in sections:
        if section.charts or section.rows or section.parts:
            parts.append(f"<p><b>{html.escape(section.title)}</b></p>")
            parts += map(_picture, section.charts)
            parts += tables(section)
    return "\n".join(parts)


def _picture(chart: Drawable) -> str:
    """A figure as a picture: the identifiers of several ones would meet in one page."""
    data = base64.b64encode(svg(chart).encode()).decode()
    return f'<img alt="{html.escape(alt_text(chart))}" src="data:image/svg+xml;base64,{data}">'
