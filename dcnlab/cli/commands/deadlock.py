"""``dcnlab deadlock``: whether packets can wait for each other for ever."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters import options
from dcnlab.cli.parameters.arguments import SchemeName, Topology
from dcnlab.cli.parameters.pairs import say_pairs
from dcnlab.cli.show import JsonFlag, print_json, table, working
from dcnlab.lab.errors import UsageError
from dcnlab.lab.options.config import resolve
from topos.spec import SpecError

if TYPE_CHECKING:
    from addressing.scheme import Scheme
    from dcnlab.evaluator.deadlock.analysis import Deadlock
    from dcnlab.lab.client import Lab
    from topos.fabric import Fabric


#: Packets of each flow along a cycle: twice as many again and again, up to the second number, until some wait.
_FRAMES, _MOST_FRAMES = 40, 640


class Switching(StrEnum):
    """What has buffers."""

    links = "links"
    credits = "credits"


def _optional_picture(context: typer.Context, path: Path | None) -> Path | None:
    from dcnlab.cli.commands.draw import picture

    return None if path is None else picture(context, path)


@command(
    "dcnlab deadlock torus:4x4 --scheme dor",
    "dcnlab deadlock clot:4x4 --scheme pow --switching credits",
    "dcnlab deadlock torus:4x4 --scheme dor --switching credits --lab",
)
def deadlock(
    topology: Topology,
    scheme: SchemeName,
    switching: Annotated[
        Switching,
        typer.Option(
            help="What has buffers that fill up: the end of every link, or servers only, as in labs with"
            " `--flow-control credits`."
        ),
    ] = Switching.links,
    output: Annotated[
        Path | None,
        typer.Option("--draw", help="Draw the cycle (.svg, .png, .pdf, .html).", callback=_optional_picture),
    ] = None,
    failures: Annotated[
        str, typer.Option(help="Random failures, as shares or numbers: links=5%,servers=2.")
    ] = "",
    seed: options.Seed = 1,
    labs: Annotated[
        bool,
        typer.Option(
            "--lab",
            help="With `--switching credits`: send packets along the cycle in labs, with one virtual channel,"
            " with those that end it, and with the escape channel.",
        ),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Find whether the routes of a scheme can deadlock where nothing is dropped.

    A packet that holds a buffer waits for the next one of its route. All routes between servers count, also
    those that a scheme takes with some probability. If these waits have a cycle, a shortest one is shown, with
    a destination whose packets wait so, and the number of virtual channels with which there is none: each
    destination has one of them, or, on a torus, a packet takes the second behind the dateline, the wraparound
    link of a ring. Exit 1 if there is a cycle.
    """
    from dcnlab.evaluator.deadlock.analysis import analyse
    from dcnlab.evaluator.graph import failures as failing
    from dcnlab.evaluator.seeds import network_of
    from topos.registry import with_seed

    if labs and (failures or switching is not Switching.credits):
        raise UsageError(
            "--lab: labs have credits and no failures: write --switching credits, without --failures"
        )
    try:
        say_pairs([topology], "a smaller network of the family shows the same cycles")
        fabric, bound = resolve(with_seed(topology, seed), scheme)
        failed = failing.draw(fabric, failures, seed)
        with working("dependencies") as show:
            analysis = analyse(bound, failed.links, switching.value, lambda share: show("destinations", share))
    except SpecError as error:
        raise UsageError(str(error)) from error
    figures = analysis.as_dict(fabric.name)
    if labs and analysis.cycle:
        figures["labs"] = _in_labs(bound, analysis, topology, scheme, json)
    if output is not None:
        _draw(fabric, analysis, scheme, output)
    if json:
        given = {**network_of(topology, seed), "scheme": scheme, "switching": switching.value,
                 "failures": failures, "seed": seed}  # fmt: skip
        print_json({**given, **figures})
    else:
        _show(fabric, scheme, figures)
    raise typer.Exit(0 if figures["deadlock_free"] else 1)


def _in_labs(
    bound: Scheme, analysis: Deadlock, topology: str, scheme: str, quiet: bool
) -> list[dict[str, Any]]:
    """What arrives of packets sent along the cycle, by virtual channels.

    Where packets have several next hops, it takes many of them until some wait for each other.
    """
    from dcnlab.cli.commands.overload import sustainable_rate
    from dcnlab.cli.launching import stages
    from dcnlab.evaluator.deadlock.senders import along, narrowest
    from dcnlab.lab.client import Lab

    fabric, (count, chosen_by) = bound.fabric, analysis.virtual_channels
    ends = "datelines" if chosen_by == "datelines" else ",".join(map(str, analysis.layer.tolist()))
    pairs = tuple((fabric.name(a), fabric.name(b)) for a, b in along(bound, analysis))
    rows, frames = [], _FRAMES
    for name, text, channels in (("one", "one", 1), (f"by {chosen_by}", ends, count), ("escape", "escape", 2)):
        row: dict[str, Any] = {"virtual_channels": channels, "chosen": name, "flows": len(pairs)}
        try:
            lab = Lab(topology, scheme, flow_control="credits", virtual_channels=text, load_balance="packet",
                      buffers=narrowest(fabric), rate=sustainable_rate(fabric))  # fmt: skip
            with stages(quiet=quiet) as stage:
                lab.start(stage)
        except UsageError as error:  # not every network has escape paths
            refused = {"arrived": None, "waiting": None, "refused": str(error)}
            rows.append({**row, "packets": len(pairs) * frames, **refused})
            continue
        try:
            most = _MOST_FRAMES if name == "one" else frames
            frames, arrived, waiting = _send(lab, pairs, frames, most)
        finally:
            lab.stop()
        measured = {"arrived": arrived, "waiting": waiting, "refused": None}
        rows.append({**row, "packets": len(pairs) * frames, **measured})
    return rows


def _send(lab: Lab, pairs: tuple[tuple[str, str], ...], frames: int, most: int) -> tuple[int, int, int]:
    """Send ``frames`` packets in each flow, twice as many again and again up to ``most`` until some wait:
    (packets of each flow, packets that arrived, packets that wait)."""
    from dcnlab.lab.measurement.overload import Overload

    overload = lab.measure(Overload(frames=frames, pairs=pairs))
    while not overload.buffered and frames < most:
        frames *= 2
        overload = lab.measure(Overload(frames=frames, pairs=pairs))
    return frames, overload.received, overload.buffered


def _draw(fabric: Fabric, analysis: Deadlock, scheme: str, path: Path) -> None:
    """The cycle as a path: its links, and those by which packets cross switches between two servers."""
    from dcnlab.cli.commands.draw import write_picture
    from dcnlab.lab.drawing.figure import Figure, Marks

    nodes = [int(analysis.channels.tail[channel]) for channel, _ in analysis.cycle]
    line = f"Green: a shortest cycle of waits under {scheme}, {len(nodes)} channels." if nodes else "No cycle."
    marks = Marks(path=tuple(_links(fabric, analysis)), nodes=tuple(nodes))
    try:
        write_picture(Figure(fabric, marks, (line,)), path, scheme)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None


def _links(fabric: Fabric, analysis: Deadlock) -> Iterator[int]:
    """The links of a cycle; where two servers of it are not neighbours, those to the switch between them."""
    for channel, _ in analysis.cycle:
        tail, head = int(analysis.channels.tail[channel]), int(analysis.channels.head[channel])
        near = {end.node: fabric.link_at(tail, port) for port, end in fabric.ports(tail)}
        far = {end.node: fabric.link_at(head, port) for port, end in fabric.ports(head)}
        if head in near:
            yield near[head]
        else:
            for middle in sorted(near.keys() & far.keys())[:1]:
                yield from (near[middle], far[middle])


def _show(fabric: Fabric, scheme: str, figures: dict[str, Any]) -> None:
    counts = f"{figures['channels']} channels, {figures['dependencies']} dependencies"
    if figures["deadlock_free"]:
        print(f"{fabric.spec} with {scheme}: {counts}; no cycle")
        return
    cycle = figures["cycle"]
    print(
        f"{fabric.spec} with {scheme}: {counts}; {figures['cyclic_channels']} channels in cycles,"
        f" the shortest of {len(cycle)}; {figures['virtual_channels']} virtual channels, chosen by"
        f" {figures['chosen_by']}, have none"
    )
    table(("channel", "a packet there for"), [(f"{c['from']} - {c['to']}", c["destination"]) for c in cycle])
    _show_datelines(figures)
    if "labs" in figures:
        columns = ("in a lab: virtual channels", "chosen", "flows", "packets", "arrived", "waiting in buffers")
        table(columns, [tuple(row.values())[: len(columns)] for row in figures["labs"]])
        for row in figures["labs"]:
            if row["refused"]:
                print(f"{row['chosen']}: no lab: {row['refused']}")


def _show_datelines(figures: dict[str, Any]) -> None:
    if figures["datelines"] is None:
        return
    left = figures["datelines"]["cycle"]
    print(f"2 virtual channels with datelines: {f'a cycle of {len(left)} is left' if left else 'no cycle'}")
    rows = [(f"{c['from']} - {c['to']}", c["virtual_channel"], c["destination"]) for c in left]
    if rows:
        table(("channel", "virtual channel", "a packet there for"), rows)
