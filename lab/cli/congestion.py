"""The command about congestion: an overload with credits and without, side by side."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from lab.cli.app import app
from lab.cli.offline import SchemeName, Topology
from lab.cli.running import FlowControl, Spread, stages
from lab.cli.show import JsonFlag, as_json, progress_bar, table
from lab.client import Lab
from lab.config import DEFAULT_BUFFERS, resolve

#: Full frames a second that all links together carry unless a rate is given: what one machine's
#: agents relay with ease, so that the links are the bottleneck and not the processor.
_FRAMES_PER_SECOND = 16_000
_FRAME_BITS = 1514 * 8


class Pattern(StrEnum):
    """Who sends to whom."""

    incast = "incast"
    all_to_all = "all-to-all"


#: Packets of one overload unless a number per flow is given.
_PACKETS = {Pattern.incast: 6000, Pattern.all_to_all: 12_000}


@app.command()
def overload(
    topology: Topology,
    scheme: SchemeName = "pow",
    pattern: Annotated[list[Pattern], typer.Option(help="Who sends to whom; may be repeated.")] = [  # noqa: B006
        Pattern.incast,
        Pattern.all_to_all,
    ],
    flow_control: Annotated[list[FlowControl], typer.Option(help="With what; may be repeated.")] = [  # noqa: B006
        FlowControl.credits,
        FlowControl.none,
    ],
    buffers: Annotated[int, typer.Option(min=1, help="Frames per buffer of a relay.")] = DEFAULT_BUFFERS,
    rate: Annotated[
        str, typer.Option(help="Bandwidth of every link; by default what agents keep up with.")
    ] = "",
    frames: Annotated[
        int | None, typer.Option(min=1, help="Full frames per flow; by default some thousands in all.")
    ] = None,
    spread: Annotated[Spread, typer.Option(help="Choose among next hops per flow or packet.")] = Spread.packet,
    target: Annotated[str, typer.Option(help="The receiver of an incast.")] = "h0",
    json: JsonFlag = False,
) -> None:
    """Send more than a network takes, with credits and without: what is lost, and where.

    Exit 0 when no frame was lost with credits.
    """
    fabric, _ = resolve(topology, scheme)
    rate = rate or f"{_FRAMES_PER_SECOND * _FRAME_BITS // (2 * len(fabric.cables)) // 1000}Kbit"
    rows = []
    for control in flow_control:
        options = {"flow_control": control.value, "rate": rate, "spread": spread.value}
        lab = Lab(topology, scheme, buffers=buffers, **options)
        with stages(quiet=json) as stage:
            lab.start(stage)
        try:
            for name in pattern:
                found = _run(lab, name, frames, target, fabric.servers, json)
                rows.append({"pattern": name.value, "flow_control": control.value, **found})
        finally:
            lab.stop()
    rows.sort(key=lambda row: list(Pattern).index(Pattern(row["pattern"])))
    held = all(row["lost"] == row["unsent"] == 0 for row in rows if row["flow_control"] == "credits")
    settings = {"topology": fabric.spec, "scheme": scheme, "buffers": buffers, "rate": rate}
    as_json({**settings, "runs": rows, "held": held}) if json else _show(settings, rows)
    raise typer.Exit(0 if held else 1)


def _run(
    lab: Lab, pattern: Pattern, frames: int | None, target: str, servers: int, quiet: bool
) -> dict[str, Any]:
    """One overload, with its progress."""
    flows = servers - 1 if pattern is Pattern.incast else servers * (servers - 1)
    each = frames or max(1, _PACKETS[pattern] // flows)
    with progress_bar(quiet) as bar:

        def progress(found: dict[str, int]) -> None:
            bar(found["done"], found["of"], pattern.value)

        return dict(lab.ask("overload", progress, pattern=pattern.value, frames=each, target=target))


def _show(settings: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    print(", ".join(f"{name} {value}" for name, value in settings.items()))
    columns = (
        "pattern",
        "flow control",
        "sent",
        "lost",
        "in relays",
        "in switches",
        "Mb/s",
        "escaped",
        "fullest",
    )
    table(columns, map(_row, rows))


def _row(row: dict[str, Any]) -> tuple[object, ...]:
    """One overload: frames lost, also by where, and hops by the escape channel, as shares."""
    lost, relays, switches = (
        f"{row[name] / max(1, row['sent']):.2%}"
        for name in ("lost", "dropped_by_relays", "dropped_by_switches")
    )
    escaped = f"{row['escaped'] / max(1, row['sent'] + row['relayed']):.2%}"
    name = row["pattern"], row["flow_control"], row["sent"]
    return *name, lost, relays, switches, f"{row['mbps']:.2f}", escaped, row["fullest"]
