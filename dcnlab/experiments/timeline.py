"""What happened in a run, as a picture: measurements as bars, failures as lines, outages in red.  Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

Event = Mapping[str, Any]
#: Pixels: the picture, names at its left, a row, the axis, and the least width of a bar.
_WIDTH, _LEFT, _ROW, _AXIS, _LEAST = 900.0, 190.0, 24.0, 22.0, 3.0
_STYLE = """
  text{font:12px sans-serif;fill:#222}.axis{fill:#666}.bar{fill:#56b4e9}.failed{fill:#d55e00}
  .gap{fill:#c42f2f}.cut{stroke:#c42f2f}.restore{stroke:#0e7a49}.grid{stroke:#ddd}
  .cut,.restore{stroke-width:1.5;stroke-dasharray:4 3}
"""
#: Commands that change links, and how they are drawn.
_CHANGES = {"fail": "cut", "restore": "restore"}


@dataclass(frozen=True)
class _Bar:
    """A measurement: its name, when it began and ended, and its outage in milliseconds."""

    name: str
    begin: float
    end: float
    outage_ms: float | None
    failed: bool


def timeline(events: Sequence[Event]) -> str:
    """The events of a run as SVG; empty where nothing was measured."""
    bars, changes = _bars(events), _changes(events)
    if not bars:
        return ""
    first = min([bar.begin for bar in bars] + [at for at, _, _ in changes])
    last = max([bar.end for bar in bars] + [at for at, _, _ in changes])
    unit = (_WIDTH - _LEFT - 90) / max(last - first, 1e-3)

    def x(clock: float) -> float:
        return _LEFT + (clock - first) * unit

    height = _ROW * len(bars) + 2 * _AXIS
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH:.0f}" height="{height:.0f}"'
        f' viewBox="0 0 {_WIDTH:.0f} {height:.0f}"><style>{_STYLE}</style>'
        '<rect width="100%" height="100%" fill="#fff"/>'
    ]
    parts += _axis(last - first, lambda seconds: x(first + seconds), height)
    parts += [
        f'<line class="{kind}" x1="{x(at):.1f}" x2="{x(at):.1f}" y1="{_AXIS}" y2="{height - _AXIS}"/>'
        f'<text x="{x(at) + 3:.1f}" y="14">{escape(text)}</text>'
        for at, kind, text in changes
    ]
    for number, bar in enumerate(bars):
        parts += _bar(bar, _AXIS + _ROW * number, x, [at for at, kind, _ in changes if kind == "cut"])
    return "\n".join([*parts, "</svg>"])


def _bars(events: Sequence[Event]) -> list[_Bar]:
    begun = {one["number"]: one for one in events if one["kind"] == "measurement"}
    bars = []
    for ended in events:
        if ended["kind"] != "measurement-ended" or ended["measurement"] not in begun:
            continue
        begin, figures = begun[ended["measurement"]], ended.get("figures") or {}
        arguments = begin.get("arguments") or {}
        pair = "-".join(str(arguments[end]) for end in ("a", "b") if arguments.get(end))
        failed = bool(ended.get("error")) or bool(figures.get("failed"))
        outage = figures.get("outage_ms")
        bars.append(_Bar(f"{ended['name']} {pair}".strip(), begin["clock"], ended["clock"], outage, failed))
    return sorted(bars, key=lambda bar: bar.begin)


def _changes(events: Sequence[Event]) -> list[tuple[float, str, str]]:
    """When links were cut and restored, the kind of line, and its words."""
    return [
        (
            one["clock"],
            _CHANGES[one["op"]],
            f"{one['op']} {'-'.join(map(str, one['arguments'].get('names', ())))}",
        )
        for one in events
        if one["kind"] == "command" and one["op"] in _CHANGES
    ]


def _bar(bar: _Bar, top: float, x: Any, cuts: Sequence[float]) -> list[str]:
    begin, end = x(bar.begin), max(x(bar.end), x(bar.begin) + _LEAST)
    kind = "failed" if bar.failed else "bar"
    parts = [
        f'<text x="8" y="{top + 16}">{escape(bar.name)}</text>',
        f'<rect class="{kind}" x="{begin:.1f}" y="{top + 5}" width="{end - begin:.1f}" height="14" rx="2"/>',
    ]
    during = [at for at in cuts if bar.begin <= at <= bar.end]
    if bar.outage_ms is None:
        return parts
    if bar.outage_ms and during:
        wide = max(_LEAST, x(during[0] + bar.outage_ms / 1000) - x(during[0]))
        gap = f'<rect class="gap" x="{x(during[0]):.1f}" y="{top + 2}" width="{wide:.1f}" height="20"/>'
        parts.append(gap)
    words = f"gap of {bar.outage_ms:g} ms" if bar.outage_ms else "no gap"
    return [*parts, f'<text x="{end + 6:.1f}" y="{top + 16}">{words}</text>']


def _axis(seconds: float, x: Any, height: float) -> list[str]:
    step = next((one for one in (0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300) if seconds / one <= 12), 600)
    parts = []
    for number in range(int(seconds / step) + 1):
        at = number * step
        parts.append(
            f'<line class="grid" x1="{x(at):.1f}" x2="{x(at):.1f}" y1="{_AXIS}" y2="{height - _AXIS}"/>'
        )
        parts.append(
            f'<text class="axis" x="{x(at):.1f}" y="{height - 6}" text-anchor="middle">{at:g} s</text>'
        )
    return parts
