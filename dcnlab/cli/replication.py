"""The command that sends one server's data to several others, in two ways, and compares them."""

from __future__ import annotations

import re
import sys
from typing import Annotated, Any

import typer

from dcnlab.cli.app import app
from dcnlab.cli.show import JsonFlag, print_json, progress_bar, table
from dcnlab.lab import runtime
from dcnlab.lab.client import Lab
from dcnlab.lab.errors import UsageError

_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kMG]?)")
_UNITS = {"": 1, "k": 1_000, "M": 1_000_000, "G": 1_000_000_000}


@app.command()
def replicate(
    words: Annotated[
        list[str],
        typer.Argument(metavar="[LAB] SOURCE REPLICA...", help="The lab may be left out when only one runs."),
    ],
    size: Annotated[str, typer.Option(help="Bytes to replicate: 20M, 1.5G.")] = "200M",
    json: JsonFlag = False,
) -> None:
    """Send data to several servers along a complete graph and by a pipeline: times, contents, ratio."""
    lab, servers = _lab(words)
    with progress_bar(quiet=json or not sys.stderr.isatty()) as bar:
        found = lab.replicate(*servers, size=_bytes(size), progress=lambda said: bar(0, 2, said["replicating"]))
    print_json(found) if json else _show(found)
    verified = all(found[way]["verified"] for way in ("complete graph", "pipeline"))
    raise typer.Exit(0 if verified else 1)


def _lab(words: list[str]) -> tuple[Lab, list[str]]:
    """The lab that is meant, and the servers that are named."""
    names = [found.name for found in runtime.labs() if found.alive]
    if words[0] in names:
        lab, servers = words[0], words[1:]
    elif len(names) == 1:
        lab, servers = names[0], words
    else:
        raise UsageError("name the lab first: " + ("none runs" if not names else f"{', '.join(names)} run"))
    if len(servers) < 2:
        raise UsageError("name a source and its replicas")
    return Lab.attach(lab), servers


def _bytes(text: str) -> int:
    found = _SIZE.fullmatch(text)
    if found is None:
        raise UsageError(f"a size is written as in 200M, not {text!r}")
    return int(float(found[1]) * _UNITS[found[2]])


def _show(found: dict[str, Any]) -> None:
    rows = []
    for name in ("complete graph", "pipeline"):
        way = found[name]
        contents = "equal" if way["verified"] else "DIFFER"
        rows.append((name, way["seconds"], way["mbps"], contents, way["busiest"], way["method"]))
    table(("way", "seconds", "Mb/s", "contents", "busiest link", "paths"), rows)
    limit = found["pipeline"]["busiest"] / found["complete graph"]["busiest"]
    print(f"pipeline : complete graph = {found['ratio']} (the busiest links allow {limit:.2f})")
