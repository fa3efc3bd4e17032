"""Options that commands share, and what is checked of them before any work begins."""

from __future__ import annotations

import math
import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from dcnlab.lab.errors import UsageError

# --- labs -------------------------------------------------------------------------


class Backend(StrEnum):
    """The library under the controller."""

    os_ken = "os-ken"
    ryu = "ryu"


class Datapath(StrEnum):
    """Which datapath Open vSwitch runs."""

    auto = "auto"
    kernel = "kernel"
    userspace = "userspace"


class LinkStateSource(StrEnum):
    """Who tells agents of links that are down."""

    lab = "lab"
    agents = "agents"


class FlowControl(StrEnum):
    """What relays with finite buffers do when one is full."""

    none = "none"
    credits = "credits"


class LoadBalance(StrEnum):
    """How agents spread traffic over several next hops."""

    flow = "flow"
    packet = "packet"
    probe = "probe"


Detach = Annotated[bool, typer.Option("--detach", "-d", help="Leave it running in the background.")]
BackendOption = Annotated[Backend, typer.Option(help="The controller's library.")]
DatapathOption = Annotated[Datapath, typer.Option(help="Open vSwitch's datapath.")]
LoadBalanceOption = Annotated[LoadBalance, typer.Option(help="Choose ways per flow, packet or probe.")]
Multipath = Annotated[
    int | None,
    typer.Option(min=1, metavar="K", help="Spread flows over K parallel ways; agents mend them themselves."),
]
LinkStateOption = Annotated[
    LinkStateSource | None,
    typer.Option(help="Who tells agents of failures: the lab, or (default with --multipath) each other."),
]
Delay = Annotated[str, typer.Option(help="One-way delay of every link, such as 1ms (needs netem).")]
Loss = Annotated[str, typer.Option(help="Loss on every link, such as 0.1% (needs netem).")]
Rate = Annotated[str, typer.Option(help="Bandwidth of every link, such as 100Mbit.")]
FlowControlOption = Annotated[
    FlowControl, typer.Option(help="Relays with finite buffers: drop what finds one full, or use credits.")
]
Buffers = Annotated[int, typer.Option(min=0, help="Frames per buffer of a relay; 10 with credits.")]
Autoconfigure = Annotated[
    bool, typer.Option("--autoconfigure", help="Start without addresses: servers configure themselves.")
]
Miswire = Annotated[str, typer.Option(help="Swap the cables at two ports, such as h3:2,h7:1.")]

# --- numbers ----------------------------------------------------------------------


def number(text: str, least: float, most: float) -> Any:
    """The option of a number from ``least`` to ``most``, with its help: every number of a command is one,
    so that neither nan nor what overflows on the way gets in."""
    return typer.Option(min=least, max=most, help=text, callback=_is_number)


def _is_number(value: float | None) -> float | None:
    """Bounds alone hold nan back in some releases of typer, not in all."""
    if value is not None and math.isnan(value):
        raise typer.BadParameter("nan is no number")
    return value


#: Seconds that anything may be told to take: eleven days.
_LONGEST = 1e6
#: Draws, or steps, that one command may be asked for.
MAX_COUNT = 100_000


def seconds(text: str) -> Any:
    """The option of how long something may take, with its help."""
    return number(text, 0, _LONGEST)


Seed = Annotated[int, number("Of all that is drawn by chance.", 0, 2**63 - 1)]
Capacity = Annotated[
    float, number("Of each link, in each direction; rates are in its unit.", least=1e-12, most=1e18)
]
FrameLoss = Annotated[float, number("Probability that a frame is lost.", 0, 0.9)]
Duplicate = Annotated[float, number("Probability of a second copy.", 0, 1)]
#: Agents send again after much less than the most of it: more would drown them.
Jitter = Annotated[float, number("Mean extra delay in microseconds.", 0, 1000)]
Pairs = Annotated[str, typer.Option(help="servers: every two; all: switches too; from:NODE; sample:N.")]
Workers = Annotated[int, number("Processes; 0: one per core.", 0, 4096)]

# --- files ------------------------------------------------------------------------


def writable(context: typer.Context, path: Path | None) -> Path | None:
    """A file that can be written, whose folder is made when there is none; UsageError otherwise."""
    if path is not None:
        if path.is_dir():
            raise UsageError(f"{path} is a folder: name a file")
        if path.exists() and not os.access(path, os.W_OK):
            raise UsageError(f"{path} may not be written")
        if not path.exists() and not context.resilient_parsing:  # not while a shell completes words
            folder(path.parent)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UsageError(f"{path.parent} cannot be made: {error.strerror}") from None
    return path


def folder(path: Path | None) -> Path | None:
    """A folder that is there or can be made; UsageError otherwise."""
    if path is not None:
        there = next(one for one in (path, *path.absolute().parents) if one.exists())
        if not there.is_dir():
            raise UsageError(f"{there} is a file: name a folder")
        if not os.access(there, os.W_OK):
            raise UsageError(f"{there} may not be written")
    return path


def figure(context: typer.Context, path: Path | None) -> Path | None:
    """A picture's file that can be written; UsageError otherwise."""
    if path is not None and path.suffix not in (".png", ".pdf", ".svg"):
        raise UsageError(f"{path}: a figure is a .png, .pdf or .svg")
    return writable(context, path)


def output(text: str) -> Any:
    """The option of a file that is written, with its help."""
    return typer.Option(help=text, callback=writable)


Results = Annotated[Path, typer.Option(help="Where results are kept; the run resumes there.", callback=folder)]
Csv = Annotated[Path | None, output("Write all figures as CSV.")]
Parquet = Annotated[Path | None, output("Write all figures as Parquet (needs pyarrow).")]
Html = Annotated[Path | None, output("Write one self-contained HTML page.")]
Figure = Annotated[Path | None, typer.Option(help="Write one figure (.png, .pdf, .svg).", callback=figure)]
