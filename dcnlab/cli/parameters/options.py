"""Options that commands share, and the checks of their values before any work begins."""

from __future__ import annotations

import math
import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from dcnlab.lab.errors import UsageError

# --- numbers ----------------------------------------------------------------------


def number(text: str, least: float, most: float) -> Any:
    """An option for a number from ``least`` to ``most``: refuses NaN and values that would overflow."""
    return typer.Option(min=least, max=most, help=text, callback=_is_number)


def _is_number(value: float | None) -> float | None:
    """Not every release of typer refuses NaN by the bounds alone."""
    if value is not None and math.isnan(value):
        raise typer.BadParameter("nan is not a number")
    return value


#: The longest time in seconds, eleven days.
_LONGEST = 1e6

#: The most draws or steps of one command.
MAX_COUNT = 100_000

FlowSizes = Annotated[
    str,
    typer.Option(
        help="Sizes of flows: fixed:1M, websearch, datamining, either scaled (websearch:scale=0.1), or a file."
    ),
]

PriceList = Annotated[
    Path | None, typer.Option(help="YAML price list in the format of dcnlab/evaluator/prices.yaml.")
]

Flows = Annotated[
    str,
    typer.Option(help="How a flow uses its paths: hashed to one, as in a lab, split over all, or subflows=8."),
]

Seeds = Annotated[
    str,
    typer.Option(
        help="Number of seeds, each for graph, traffic and failures; or all combinations of seeds of their"
        " own: graph=3,traffic=4,failures=2."
    ),
]

Gap = Annotated[str, typer.Option(help="For optimal: how close its bounds must be, from 0.01% to 50%.")]

Paths = Annotated[
    str,
    typer.Option(
        help="For optimal: only the k shortest paths (k=8), those of some more hops (slack=1), or valiant."
    ),
]

Seed = Annotated[int, number("Seed of random choices.", 0, 2**63 - 1)]

Capacity = Annotated[
    float, number("Capacity of each link per direction; rates have the same unit.", least=1e-12, most=1e18)
]

FrameLoss = Annotated[float, number("Probability that a frame is lost.", 0, 0.9)]

Duplicate = Annotated[float, number("Probability of a second copy.", 0, 1)]

#: With more jitter than this, retransmissions would overload the agents.
Jitter = Annotated[float, number("Mean extra delay in microseconds.", 0, 1000)]


class FlowControl(StrEnum):
    """What happens in a simulation of latency at a full buffer."""

    none = "none"
    credits = "credits"


FlowControlOption = Annotated[
    FlowControl, typer.Option(help="For latency: packets at a full buffer are dropped, or wait for credits.")
]
Pairs = Annotated[str, typer.Option(help="Pairs: servers, all (switches too), from:NODE, sample:N or a file.")]

Dask = Annotated[
    str,
    typer.Option(metavar="ADDRESS", help="Compute on this Dask scheduler, such as tls://10.0.0.1:8786."),
]

Workers = Annotated[int, number("Worker processes; 0: one per core.", 0, 4096)]


# --- files ------------------------------------------------------------------------


def writable(context: typer.Context, path: Path | None) -> Path | None:
    """A file that can be written; creates its folder.  UsageError otherwise."""
    if path is not None:
        if path.is_dir():
            raise UsageError(f"{path} is a folder: name a file")
        if path.exists() and not os.access(path, os.W_OK):
            raise UsageError(f"no permission to write {path}")
        if not path.exists() and not context.resilient_parsing:  # not while a shell completes words
            folder(path.parent)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UsageError(f"cannot create {path.parent}: {error.strerror}") from None
    return path


def folder(path: Path | None) -> Path | None:
    """A folder that exists or can be created; UsageError otherwise."""
    if path is not None:
        there = next(one for one in (path, *path.absolute().parents) if one.exists())
        if not there.is_dir():
            raise UsageError(f"{there} is a file: name a folder")
        if not os.access(there, os.W_OK):
            raise UsageError(f"no permission to write {there}")
    return path


def figure(context: typer.Context, path: Path | None) -> Path | None:
    """An image file that can be written; UsageError otherwise."""
    if path is not None and path.suffix not in (".png", ".pdf", ".pgf", ".svg"):
        raise UsageError(f"{path}: a figure is a .png, .pdf, .pgf or .svg file")
    return writable(context, path)


def output(text: str) -> Any:
    """An option for a file to write."""
    return typer.Option(help=text, callback=writable)


Results = Annotated[
    Path, typer.Option(help="Folder of results; an interrupted run resumes from it.", callback=folder)
]

Csv = Annotated[Path | None, output("Write all figures as CSV.")]

Parquet = Annotated[Path | None, output("Write all figures as Parquet (needs pyarrow).")]

Html = Annotated[Path | None, output("Write one self-contained HTML page.")]

Figure = Annotated[
    Path | None, typer.Option(help="Write one figure (.pdf, .pgf, .png, .svg).", callback=figure)
]

Label = Annotated[
    list[str],
    typer.Option(metavar="SPEC=TEXT", help="A name for a topology or a scheme in figures; may be repeated."),
]

Width = Annotated[float, number("Width of figures in inches, such as 3.5 for one column; 0: as drawn.", 0, 40)]

Font = Annotated[float, number("Font size of figures in points.", 4, 40)]
