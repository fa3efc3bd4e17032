"""The command about congestion: an overload with credits and without, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import typer

from addressing.scheme import Scheme
from dcnlab.cli import options
from dcnlab.cli.app import app
from dcnlab.cli.running import stages
from dcnlab.cli.show import Bar, JsonFlag, print_json, progress_bar, table
from dcnlab.cli.topologies import SchemeName, Topology
from dcnlab.lab.client import Lab
from dcnlab.lab.config import DEFAULT_BUFFERS, LabConfig
from hostagent.options import LoadBalance
from topos.fabric import Fabric

#: Full frames a second that all links together carry unless a rate is given: what one machine's
#: agents relay with ease, so that the links are the bottleneck and not the processor.
_FRAMES_PER_SECOND = 16_000
_FRAME_BITS = 1514 * 8


class Pattern(StrEnum):
    """Who sends to whom."""

    incast = "incast"
    all_to_all = "all-to-all"


class FlowControl(StrEnum):
    """What relays with a full buffer do."""

    none = "none"
    credits = "credits"


#: Packets of one overload unless a number per flow is given.
_PACKETS = {Pattern.incast: 6000, Pattern.all_to_all: 12_000}


#: Runs patterns with so many frames per flow: what was found for each.
Runner = Callable[[dict[Pattern, int]], Iterable[tuple[Pattern, dict[str, Any]]]]


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
    load_balance: Annotated[LoadBalance, options.of_lab("load_balance")] = "packet",
    target: Annotated[str, typer.Option(help="The receiver of an incast.")] = "h0",
    offline: Annotated[
        bool, typer.Option("--offline", help="The same relays with a virtual clock and links of 1 Gb/s.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Send more than a network takes, with credits and without: what is lost, and where.

    Exit 0 when no frame was lost with credits.
    """
    config = LabConfig.of(topology, scheme, rate=rate or "1bit", buffers=buffers, load_balance=load_balance)
    bound = config.validate()
    for control in flow_control:
        bound = replace(config, flow_control=control.value).validate()
    fabric = bound.fabric
    wanted = {name: frames or _default_frames(name, fabric.servers) for name in pattern}
    rate = "1Gbit" if offline else rate or _sustainable_rate(fabric)
    rows = []
    for control in flow_control:
        one = replace(config, rate=rate, flow_control=control.value)
        run = _offline(bound, one, target) if offline else _in_lab(one, target, json)
        rows += [{"pattern": name.value, "flow_control": control.value, **found} for name, found in run(wanted)]
    rows.sort(key=lambda row: list(Pattern).index(Pattern(row["pattern"])))
    held = all(row["lost"] == row["unsent"] == 0 for row in rows if row["flow_control"] == "credits")
    settings = {"topology": fabric.spec, "scheme": scheme, "buffers": buffers, "rate": rate}
    print_json({**settings, "runs": rows, "held": held}) if json else _show(settings, rows)
    raise typer.Exit(0 if held else 1)


def _default_frames(pattern: Pattern, servers: int) -> int:
    """Frames per flow where nobody says."""
    flows = servers - 1 if pattern is Pattern.incast else servers * (servers - 1)
    return max(1, _PACKETS[pattern] // flows)


def _sustainable_rate(fabric: Fabric) -> str:
    """A bandwidth of every link at which agents keep up with all of them."""
    return f"{_FRAMES_PER_SECOND * _FRAME_BITS // (2 * len(fabric.link_ends)) // 1000}Kbit"


def _in_lab(config: LabConfig, target: str, quiet: bool) -> Runner:
    """Overloads in a lab of their own, with their progress."""

    def run(wanted: dict[Pattern, int]) -> Iterator[tuple[Pattern, dict[str, Any]]]:
        lab = Lab(**config.to_json())
        with stages(quiet=quiet) as stage:
            lab.start(stage)
        try:
            for pattern, frames in wanted.items():
                with progress_bar(quiet) as bar:
                    tell = partial(_advance, bar, pattern)
                    words = {"pattern": pattern.value, "frames": frames, "target": target}
                    yield pattern, lab.ask("overload", tell, **words)
        finally:
            lab.stop()

    return run


def _advance(bar: Bar, pattern: Pattern, found: dict[str, int]) -> None:
    bar(found["done"], found["of"], pattern.value)


def _offline(scheme: Scheme, config: LabConfig, target: str) -> Runner:
    """The same with a virtual clock."""

    def run(wanted: dict[Pattern, int]) -> Iterator[tuple[Pattern, dict[str, Any]]]:
        from dcnlab.lab import naming
        from dcnlab.lab.instruments import overload

        receiver = naming.server(scheme.fabric, target, scheme)
        for pattern, frames in wanted.items():
            yield pattern, overload.offline(scheme, pattern.value, frames, receiver, config)

    return run


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
