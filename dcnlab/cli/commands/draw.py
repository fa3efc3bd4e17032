"""``dcnlab draw``: a picture of a network, and of what a scheme does on it."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters import completion, options
from dcnlab.cli.parameters.arguments import Topology
from dcnlab.cli.show import JsonFlag, print_json
from dcnlab.lab.drawing.figure import Figure, Look
from dcnlab.lab.errors import UsageError
from topos.words import counted

#: Inches of a unit of length.
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72}
#: The endings of the files that can be written.
_FORMATS = (".svg", ".pdf", ".png", ".html")


def picture(context: typer.Context, path: Path) -> Path:
    """A picture that can be written; UsageError otherwise."""
    if path.suffix not in _FORMATS:
        raise UsageError(f"{path}: a picture is a {', '.join(_FORMATS[:-1])} or {_FORMATS[-1]} file")
    options.writable(context, path)
    return path


def _read_width(text: str | float) -> float:
    """A length in inches; plain numbers are inches."""
    size = re.fullmatch(r"([0-9.]+)\s*(in|cm|mm|pt)?", str(text))
    try:
        width = float(size[1]) * _INCHES[size[2] or "in"] if size else math.nan
    except ValueError:
        width = math.nan
    if not (width == 0 or 1 <= width <= 40):
        raise typer.BadParameter(f"{text!r} is no width from 1in to 40in: write 3.5in, 9cm, 88mm or 252pt")
    return width


@command(
    "dcnlab draw bcube:4,1 -o bcube.svg",
    "dcnlab draw clot:6x6 --scheme dor --destination h5 --failures links=5% -o clot.pdf",
    "dcnlab draw fattree:4 --scheme ecmp --source h0 --destination h15 -o fattree.html",
    "dcnlab draw bcube:4,1 --width 3.5in --no-caption -o column.pdf",
)
def draw(
    spec: Topology,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            callback=picture,
            help="Write here: .svg, .pdf and .png are pictures, .html is a page to zoom and search in.",
        ),
    ],
    scheme: Annotated[
        str,
        typer.Option(
            help="With --destination: show this scheme's next hops.", autocompletion=completion.schemes
        ),
    ] = "",
    destination: Annotated[str, typer.Option(metavar="NODE", help="The server that packets go to.")] = "",
    source: Annotated[str, typer.Option(metavar="NODE", help="Also show the path from this server.")] = "",
    failures: Annotated[str, typer.Option(help="Random failures: links=5%,nodes=2.")] = "",
    seed: options.Seed = 1,
    width: Annotated[
        float,
        typer.Option(
            metavar="LENGTH", parser=_read_width, help="Width, such as 3.5in or 88mm; all text has 7 pt."
        ),
    ] = 0.0,
    no_caption: Annotated[bool, typer.Option("--no-caption", help="No text below the drawing.")] = False,
    json: JsonFlag = False,
) -> None:
    """Draw a network as its paper does, and a scheme's next hops as arrows.

    An arrow's width is its share of the packets at a node when every server sends to the destination.
    """
    figure = replace(
        _figure(spec, scheme, destination, source, failures, seed), look=Look(width, not no_caption)
    )
    try:
        write_picture(figure, output, scheme)
    except OSError as error:
        raise UsageError(f"{output}: {error.strerror}") from None
    marks = figure.marks
    said = {"written": str(output), "down": sorted(marks.down), "arrows": len(marks.arrows)}
    print_json(said) if json else print(f"{output}: {'; '.join(figure.text)}")


def _figure(spec: str, scheme: str, destination: str, source: str, failures: str, seed: int) -> Figure:
    """The picture that the options ask for."""
    from dcnlab.cli.catalogue import fabric_of
    from dcnlab.evaluator.graph import failures as failing
    from dcnlab.lab import naming
    from dcnlab.lab.drawing.figure import Marks
    from dcnlab.lab.drawing.marks import towards
    from dcnlab.lab.options.config import resolve

    if bool(scheme) != bool(destination):
        raise UsageError("--scheme and --destination belong together: next hops lead to a server by a scheme")
    if source and not scheme:
        raise UsageError("--source needs --scheme and --destination: they decide the path")
    fabric = fabric_of(spec)
    links = failing.draw(fabric, failures, seed).links
    lines = (f"{failures} down: {len(links.down)} of {counted(len(fabric.link_ends), 'link')} (seed {seed})",)
    if not scheme:
        return Figure(fabric, Marks(links.down), lines if failures else ())
    fabric, bound = resolve(spec, scheme)
    to = naming.server(fabric, destination, bound)
    origin = naming.two_servers(fabric, source, destination, bound)[0] if source else None
    marks = towards(bound.with_failures(links), to, links, origin)
    shown = f"Arrows: next hops of {scheme} towards {fabric.name(to)}."
    if origin is not None:
        shown += f" Green: the path from {fabric.name(origin)}, {counted(len(marks.path), 'link')}."
    return Figure(fabric, marks, ((*lines, shown) if failures else (shown,)))


def write_picture(figure: Figure, path: Path, scheme: str) -> None:
    if path.suffix == ".svg":
        from dcnlab.lab.drawing.svg import written

        path.write_text(written(figure), encoding="utf-8")
    elif path.suffix == ".html":
        from dcnlab.lab.view.drawn import html

        path.write_text(html(figure, scheme), encoding="utf-8")
    else:
        from dcnlab.lab.drawing.raster import save

        save(figure, path)
