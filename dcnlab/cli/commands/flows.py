"""``dcnlab flows``: the entries of a switch with live counters."""

from __future__ import annotations

import json as codec
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from dcnlab.cli.app import command
from dcnlab.cli.from_classes.operations import asks
from dcnlab.cli.parameters.arguments import LabName
from dcnlab.cli.show import JsonFlag, brief, print_json, table
from dcnlab.lab.contract.switches import FlowEntries
from dcnlab.lab.methods.asking import perform
from dcnlab.lab.operations.flows import Flows

_CLEAR = "\x1b[H\x1b[2J"


@command(
    "dcnlab flows LAB s3", "dcnlab flows LAB s3 --follow", "dcnlab flows LAB s3 --follow --count 10 --json"
)
@asks(Flows)
def flows(
    lab: LabName,
    wanted: Flows,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Show rates, updated until Ctrl-C.")] = False,
    interval: Annotated[float, typer.Option(min=0.1, help="With --follow: seconds between readings.")] = 1.0,
    count: Annotated[
        int | None, typer.Option(min=1, help="With --follow: end after this many readings.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Show the flow entries of a switch with their packets and bytes, of any controller.

    With --follow also packets and bits per second; --json then prints one object per line. Open vSwitch
    updates these counters about twice per second.
    """
    entries = perform(lab, wanted)
    if not follow:
        print_json(entries) if json else _show(entries.to_json()["flows"])
        return
    looks = 0
    while count is None or looks < count:
        time.sleep(interval)
        before, entries, looks = entries, perform(lab, wanted), looks + 1
        flows = _with_rates(before, entries)
        if json:
            print(codec.dumps({**entries.to_json(), "flows": flows}), flush=True)
        else:
            print(_CLEAR if sys.stdout.isatty() else "", end="")
            _show(flows)
            sys.stdout.flush()


def _with_rates(before: FlowEntries, now: FlowEntries) -> list[dict[str, Any]]:
    from dcnlab.lab.inspection.flow_rates import rates

    return [
        {**entry, "packets_per_s": round(packets, 1), "bits_per_s": round(bits, 1)}
        for entry, (packets, bits) in zip(now.to_json()["flows"], rates(before, now), strict=True)
    ]


def _show(flows: Sequence[Mapping[str, Any]]) -> None:
    """A table of the entries."""
    keys = ["table", "priority", "match", "actions", "packets", "bytes"]
    followed = any("bits_per_s" in entry for entry in flows)
    columns = [*keys, *(["packets/s", "bits/s"] if followed else [])]
    keys += ["packets_per_s", "bits_per_s"] if followed else []
    rows = [[brief(str(entry[key])) or "any" for key in keys] for entry in flows]
    table(columns, rows)
