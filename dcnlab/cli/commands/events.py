"""``dcnlab events``: what happens in a lab."""

from __future__ import annotations

import json as codec
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.from_classes.operations import asks
from dcnlab.cli.parameters.arguments import LabName
from dcnlab.cli.show import JsonFlag, harmless, print_json
from dcnlab.lab.client import Lab
from dcnlab.lab.operations.events import Events

if TYPE_CHECKING:
    from dcnlab.lab.events.journal import Record


@command(
    "dcnlab events LAB",
    "dcnlab events LAB --brief",
    "dcnlab events LAB --follow",
    "dcnlab events LAB --follow --json",
    "dcnlab events LAB --kind link --kind converged",
)
@asks(Events)
def events(
    lab: LabName,
    wanted: Events,
    brief: Annotated[
        bool, typer.Option("--brief", help="One line per command, measurement and failure.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Show what has happened in a lab: links, tables, convergence, processes, commands, measurements, alarms.

    A lab keeps its last 10,000 events. With --follow, --json prints one object per line.
    """
    records: Iterable[Record] = Lab.attach(lab).events(wanted.follow, wanted.after, wanted.kinds)
    if brief:
        from dcnlab.lab.events.brief import brief as shortened

        records = shortened(records)
    if json and not wanted.follow:
        print_json([record.to_json() for record in records])
        return
    for record in records:
        print(codec.dumps(record.to_json()) if json else _line(record), flush=wanted.follow)


def _line(record: Record) -> str:
    """An event as a line: local time, kind, text."""
    milliseconds = int(record.at * 1000) % 1000
    clock = time.strftime("%H:%M:%S", time.localtime(record.at))
    return f"{clock}.{milliseconds:03d}  {record.kind:18}{harmless(record.event.text())}"
