"""``dcnlab topology``: the nodes, ports and links of a network."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters.arguments import Topology
from dcnlab.cli.show import JsonFlag, StdoutState, harmless, table, working
from dcnlab.lab.errors import UsageError
from topos.fabric import Fabric
from topos.files.export import WRITERS, json_text
from topos.graph import NONE
from topos.words import counted

#: Larger networks are listed while they are read, in columns as wide as the last node needs.
_MOST_IN_TABLE = 2_000
#: Formats that are made in memory, about 2 KB for a link, are for smaller networks.
_MOST_IN_MEMORY = 1_500_000
#: Of so many pieces of output each, the progress is shown.
_PIECES = 1 << 12


class Format(StrEnum):
    """The formats in which networks are written."""

    json = "json"
    graphml = "graphml"
    gml = "gml"
    dot = "dot"
    mermaid = "mermaid"
    svg = "svg"


@command(
    "dcnlab topology bcube:4,1",
    "dcnlab topology file:petersen.edgelist --json",
    "dcnlab topology clot:4x4 --format svg > clot.svg",
)
def topology(
    spec: Topology,
    format: Annotated[
        Format | None,
        typer.Option(help="Print in a format for other programs; file:PATH reads json, graphml, gml and dot."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Show a network: nodes, ports and links."""
    from dcnlab.cli.catalogue import fabric_of

    fabric = fabric_of(spec)
    if json or format is Format.json:
        StdoutState.json = json
        _print_at_length(json_text(fabric), fabric.size + len(fabric.link_ends))
    elif format:
        print(_written(fabric, format), end="")
    else:
        _show_network(fabric)


def _written(fabric: Fabric, format: Format) -> str:
    """A network in a format."""
    if (links := len(fabric.link_ends)) > _MOST_IN_MEMORY:
        raise UsageError(
            f"{fabric.spec} has {links:,} links; only --json and the list write more than {_MOST_IN_MEMORY:,}"
        )
    if format is Format.svg:
        from dcnlab.lab.drawing.svg import svg

        return svg(fabric)
    return WRITERS[format.value](fabric)


def _show_network(fabric: Fabric) -> None:
    """Print a line per node: its label, and the neighbour at each port."""
    sizes = {"server": fabric.servers, "switch": fabric.switches, "link": len(fabric.link_ends)}
    counts = ", ".join(counted(number, noun) for noun, number in sizes.items())
    print(f"{harmless(fabric.spec)}: {counts}")
    heading, rows = ("node", "label", "port:neighbour"), _rows(fabric)
    if fabric.size <= _MOST_IN_TABLE:
        table(heading, rows)
        return
    last = fabric.node(fabric.size - 1)
    name, label = (max(map(len, column)) for column in zip(heading[:2], (last.name, last.label), strict=True))
    lines = (
        harmless(f"{row[0]:{name}}  {row[1]:{label}}  {row[2]}") + "\n"
        for row in itertools.chain([heading], rows)
    )
    _print_at_length(lines, fabric.size)


def _rows(fabric: Fabric) -> Iterator[tuple[str, str, str]]:
    """The cells of each node's line."""
    names = [fabric.name(node) for node in range(fabric.size)]
    start, peers = fabric.adjacency.start.tolist(), fabric.adjacency.peer
    for node in range(fabric.size):
        ports = enumerate(peers[start[node] : start[node + 1]].tolist(), 1)
        used = " ".join([f"{port}:{names[peer]}" for port, peer in ports if peer != NONE])
        yield names[node], fabric.family.label(node), used


def _print_at_length(pieces: Iterable[str], about: int) -> None:
    """Print pieces of text as they are made, with progress where standard output is no terminal."""
    if sys.stdout.isatty():
        sys.stdout.writelines(pieces)
        return
    with working("listing") as progress:
        sys.stdout.writelines(_counted(pieces, about, progress))


def _counted(pieces: Iterable[str], about: int, progress: Callable[[str, float | None], None]) -> Iterator[str]:
    """The pieces; after some thousand each, how far they are."""
    for number, piece in enumerate(pieces):
        if number % _PIECES == 0:
            progress("nodes and links", min(number / about, 1.0))
        yield piece
