"""``dcnlab replicate``: one server's data sent to several by two methods."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.from_classes.measurements import run
from dcnlab.cli.show import JsonFlag
from dcnlab.lab.control import runtime
from dcnlab.lab.errors import UsageError
from dcnlab.lab.measurement.replicate import Replicate

_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kMG]?)")

_UNITS = {"": 1, "k": 1_000, "M": 1_000_000, "G": 1_000_000_000}


@command("dcnlab replicate LAB h0 h1 h2 h4 --size 8M")
def replicate(
    words: Annotated[
        list[str],
        typer.Argument(metavar="[LAB] SOURCE REPLICA...", help="The lab may be left out when only one runs."),
    ],
    size: Annotated[str, typer.Option(help="Bytes to replicate: 20M, 1.5G.")] = "200M",
    json: JsonFlag = False,
) -> None:
    """Send data to several servers along a complete graph and by a pipeline, and compare the times."""
    lab, (source, *replicas) = _lab(words)
    raise run(lab, Replicate(source, tuple(replicas), _bytes(size)), json)


def _lab(argv: list[str]) -> tuple[str, list[str]]:
    """The name of the lab, which may be left out when only one runs, and the servers."""
    names = [running.name for running in runtime.labs() if running.alive]
    if argv[0] in names:
        lab, servers = argv[0], argv[1:]
    elif len(names) == 1:
        lab, servers = names[0], argv
    else:
        raise UsageError("name the lab first: " + ("none runs" if not names else f"{', '.join(names)} run"))
    if len(servers) < 2:
        raise UsageError("name a source and its replicas")
    return lab, servers


def _bytes(text: str) -> int:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise UsageError(f"a size is written as in 200M, not {text!r}")
    return int(float(match[1]) * _UNITS[match[2]])
