"""``dcnlab capture``: tcpdump at a node."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from dcnlab.cli.app import command
from dcnlab.cli.arguments import LabName, NodeName
from dcnlab.cli.show import JsonFlag, print_json
from dcnlab.lab.client import Lab, run_in_foreground
from dcnlab.lab.errors import UsageError


@command(
    "dcnlab capture LAB h12 icmp",
    "dcnlab capture LAB s4 --port 4 --count 10",
    "dcnlab capture LAB h0 -w h0.pcap",
)
def capture(
    lab: LabName,
    node: NodeName,
    expression: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILTER...]", help="A tcpdump filter: icmp, 'udp port 53'."),
    ] = None,
    port: Annotated[int | None, typer.Option(help="One port of the node (default: all).")] = None,
    write: Annotated[
        Path | None, typer.Option("--write", "-w", metavar="FILE.pcap", help="Write packets to a file.")
    ] = None,
    count: Annotated[int | None, typer.Option(min=1, help="Stop after this many packets.")] = None,
    json: JsonFlag = False,
) -> None:
    """Capture packets with tcpdump at a server or at the ports of a switch; Ctrl-C stops it."""
    if json and write is None:
        raise UsageError("--json reports the file that was written: add -w FILE.pcap")
    path = Lab.attach(lab).path
    options = ["-l"] if write is None else ["-U", "-w", "-"]
    options += ["-c", str(count)] if count else []
    words = {"node": node, "port": port, "options": options, "expression": expression or []}
    if write is None:
        raise typer.Exit(run_in_foreground(path, "capture", (0, 1, 2), **words))
    code = _written(path, write, words)
    if json:
        print_json({"node": node, "port": port, "file": str(write), "bytes": write.stat().st_size})
    raise typer.Exit(code)


def _written(path: Path, file: Path, words: dict[str, Any]) -> int:
    """Capture into a file that this process opens, so that it belongs to the user."""
    try:
        target = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    try:
        return run_in_foreground(path, "capture", (0, target, 2), **words)
    finally:
        os.close(target)
