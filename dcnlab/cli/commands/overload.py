"""``dcnlab overload``: the same overload with credits and without."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import typer

from addressing.scheme import Scheme
from dcnlab.cli.app import command
from dcnlab.cli.launching import stages
from dcnlab.cli.parameters.arguments import SchemeName, Topology
from dcnlab.cli.parameters.lab_options import of_lab
from dcnlab.cli.show import Bar, JsonFlag, print_json, progress_bar, table
from dcnlab.lab.client import Lab
from dcnlab.lab.measurement.overload import Overload, OverloadResult
from dcnlab.lab.measurement.overload import offline as overload_offline
from dcnlab.lab.options.config import LabConfig, lab_options
from dcnlab.lab.options.stated import DEFAULT_BUFFERS
from hostagent.options import LoadBalance
from topos.fabric import Fabric

#: Full frames per second that all links together carry unless a rate is given.  The agents of one machine
#: relay as many with ease, so that the links are the bottleneck and not the processor.
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

#: Runs patterns with their frames per flow, and yields the result of each.
Runner = Callable[[dict[Pattern, int]], Iterable[tuple[Pattern, OverloadResult]]]


@command(
    "dcnlab overload clot:4x4 --scheme pow", "dcnlab overload clot:4x4 --pattern incast --target h5 --offline"
)
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
    load_balance: Annotated[LoadBalance, of_lab("load_balance")] = "packet",
    virtual_channels: Annotated[str, of_lab("virtual_channels")] = "escape",
    target: Annotated[str, typer.Option(help="The receiver of an incast.")] = "h0",
    offline: Annotated[
        bool, typer.Option("--offline", help="The same relays with a virtual clock and links of 1 Gb/s.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Send more than a network takes, with credits and without: what is lost, and where.

    Exit 0 when no frame was lost with credits. With other virtual channels than `escape`, packets may wait for
    each other for ever (`dcnlab deadlock`).
    """
    config = LabConfig.of(topology, scheme, rate=rate or "1bit", buffers=buffers, load_balance=load_balance)
    bound = config.validate()
    for control in flow_control:
        bound = _with(config, control, virtual_channels).validate()
    fabric = bound.fabric
    wanted = {name: frames or _default_frames(name, fabric.servers) for name in pattern}
    rate = "1Gbit" if offline else rate or sustainable_rate(fabric)
    rows = []
    for control in flow_control:
        one = replace(_with(config, control, virtual_channels), rate=rate)
        run = _offline(bound, one, target) if offline else _in_lab(one, target, json)
        rows += [
            {"pattern": name.value, "flow_control": control.value, **measured.to_json()}
            for name, measured in run(wanted)
        ]
    rows.sort(key=lambda row: list(Pattern).index(Pattern(row["pattern"])))
    held = all(row["lost"] == row["unsent"] == 0 for row in rows if row["flow_control"] == "credits")
    settings = {"topology": fabric.spec, "scheme": scheme, "buffers": buffers, "rate": rate}
    print_json({**settings, "runs": rows, "held": held}) if json else _show(settings, rows)
    raise typer.Exit(0 if held else 1)


def _with(config: LabConfig, control: FlowControl, virtual_channels: str) -> LabConfig:
    """The options of a lab; only one with credits has virtual channels."""
    if control is FlowControl.credits:
        return replace(config, flow_control="credits", virtual_channels=virtual_channels)
    return replace(config, flow_control="none")


def _default_frames(pattern: Pattern, servers: int) -> int:
    """Frames per flow unless --frames is given."""
    flows = servers - 1 if pattern is Pattern.incast else servers * (servers - 1)
    return max(1, _PACKETS[pattern] // flows)


def sustainable_rate(fabric: Fabric) -> str:
    """A bandwidth of every link with which agents keep up."""
    return f"{_FRAMES_PER_SECOND * _FRAME_BITS // (2 * len(fabric.link_ends)) // 1000}Kbit"


def _in_lab(config: LabConfig, target: str, quiet: bool) -> Runner:
    """Runs overloads in a lab of their own."""

    def run(wanted: dict[Pattern, int]) -> Iterator[tuple[Pattern, OverloadResult]]:
        options = {name: getattr(config, name) for name in lab_options()}
        lab = Lab(config.topology, config.scheme, **options)
        with stages(quiet=quiet) as stage:
            lab.start(stage)
        try:
            for pattern, frames in wanted.items():
                with progress_bar(quiet) as bar:
                    overload = Overload(pattern.value, frames, target)
                    yield pattern, lab.measure(overload, partial(_advance, bar))
        finally:
            lab.stop()

    return run


def _advance(bar: Bar, report: dict[str, Any]) -> None:
    bar(report["done"], report["of"], report["what"])


def _offline(scheme: Scheme, config: LabConfig, target: str) -> Runner:
    """Runs the same overloads with a virtual clock."""

    def run(wanted: dict[Pattern, int]) -> Iterator[tuple[Pattern, OverloadResult]]:
        from dcnlab.lab import naming

        receiver = naming.server(scheme.fabric, target, scheme)
        for pattern, frames in wanted.items():
            yield pattern, overload_offline(scheme, Overload(pattern.value, frames), receiver, config)

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
    """One overload: the share of frames lost, in all and by place, and of hops by the escape channel."""
    lost, relays, switches = (
        f"{row[name] / max(1, row['sent']):.2%}"
        for name in ("lost", "dropped_by_relays", "dropped_by_switches")
    )
    escaped = f"{row['escaped'] / max(1, row['sent'] + row['relayed']):.2%}"
    name = row["pattern"], row["flow_control"], row["sent"]
    return *name, lost, relays, switches, f"{row['mbps']:.2f}", escaped, row["fullest"]
