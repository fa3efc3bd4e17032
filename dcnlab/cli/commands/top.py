"""``dcnlab top``: a lab in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters.arguments import LabName
from dcnlab.cli.show import JsonFlag, cell, print_json, table
from dcnlab.lab.client import Lab
from dcnlab.lab.errors import UsageError

if TYPE_CHECKING:
    from dcnlab.lab.top.snapshot import Snapshot

#: Lines per table where the output is no terminal.
_LINES = 12


@command("dcnlab top LAB", "dcnlab top LAB --interval 0.5", "dcnlab top LAB --json")
def top(
    lab: LabName,
    interval: Annotated[
        float, typer.Option(min=0.1, max=3600, help="Seconds between two readings of the loads.")
    ] = 1.0,
    json: JsonFlag = False,
) -> None:
    """Show a lab in the terminal: links by load, tables, convergence, events; q ends it.

    Other keys are at the bottom of the screen. Where the output is no terminal, it is one reading, as text.
    """
    attached = Lab.attach(lab)
    if json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        from dcnlab.lab.top.reader import once

        snapshot = once(attached, interval)
        print_json(snapshot.to_json()) if json else _print(snapshot)
        return
    try:
        from dcnlab.lab.top.screen import Top
    except ImportError:
        raise UsageError("top needs textual: pip install 'dcnlab[top]', or use --json") from None
    from dcnlab.lab.top.reader import Reader

    Top(Reader(attached), interval).run()


def _print(now: Snapshot) -> None:
    """One reading as text: the busiest links, the largest tables, the newest changes and events."""
    from dcnlab.lab.top.snapshot import rate

    print(f"{now.name}: {now.topology} with {now.scheme}; {now.down} of {len(now.links)} links down")
    for line in now.ended:
        print(line)
    links = [
        (f"{one.a}-{one.b}", "up" if one.up else "down", rate(one.to_b_mbps), rate(one.to_a_mbps))
        for one in [*(one for one in now.links if not one.up), *(one for one in now.links if one.up)]
    ]
    _some(("link", "state", "a to b", "b to a"), links)
    _some(("switch", "entries"), [(one.switch, one.entries) for one in now.tables])
    changes = [
        (", ".join(one.links), one.flow_mods, one.error or cell(one.converged_ms)) for one in now.changes
    ]
    _some(("change", "flow mods", "converged, ms"), changes)
    _some(("event", "text"), [(one.kind, one.event.text()) for one in now.events])


def _some(columns: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> None:
    """A table of the first lines, and how many more there are; nothing without any."""
    if not rows:
        return
    print()
    table(columns, rows[:_LINES])
    if len(rows) > _LINES:
        print(f"and {len(rows) - _LINES} more")
