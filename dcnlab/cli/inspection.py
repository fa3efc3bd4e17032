"""Commands that inspect networks: explain, capture, view."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from dcnlab.cli.app import app
from dcnlab.cli.running import LabName, NodeName
from dcnlab.cli.show import JsonFlag, brief, print_json
from dcnlab.cli.topologies import LabOrTopology
from dcnlab.lab import naming
from dcnlab.lab.client import Lab, run_in_foreground
from dcnlab.lab.config import resolve
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.inspection.explain import Follow
from topos.graph import ALL_UP


@app.command()
def explain(
    where: LabOrTopology,
    a: Annotated[str, typer.Argument(metavar="A", help="The source.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The destination.")],
    scheme: Annotated[str, typer.Option(help="The routing scheme (for a topology).")] = "",
    follow: Annotated[
        Follow, typer.Option(help="Where several next hops have weights: the heaviest, or the first.")
    ] = Follow.heaviest,
    json: JsonFlag = False,
) -> None:
    """Explain the path of a packet: at each node the reason, the branches and the matching entry."""
    from dataclasses import asdict

    from dcnlab.lab import runtime
    from dcnlab.lab.inspection.explain import steps

    if not scheme and any(found.name == where for found in runtime.labs()):
        found: list[dict[str, Any]] = Lab.attach(where).explain(a, b, follow.value)
    elif not scheme:
        raise UsageError(f"there is no lab named {where}; for a topology, add --scheme")
    else:
        fabric, bound = resolve(where, scheme)
        ends = naming.server(fabric, a, bound), naming.server(fabric, b, bound)
        path = steps(bound, *ends, ALL_UP, follow)
        found = [{**asdict(step), "installed": None} for step in path]
    if json:
        print_json({"steps": found})
    else:
        for step in found:
            print(f"{step['node']:6}{brief(step['reason'])}")
            for branch in step["branches"]:
                print(f"{'':8}branch: {branch['weight']:.4f} port {branch['port']} to {branch['to']}")
            if step["entry"]:
                print(f"{'':8}{_kind(step)}: {brief(step['entry'])}")
    if not found[-1]["delivered"]:
        raise LabError(f"not delivered: {found[-1]['reason']}")
    if any(step["installed"] is False for step in found):
        raise LabError("a switch does not have the entry that the scheme predicts")


def _kind(step: dict[str, Any]) -> str:
    """Whether a step's entry was predicted, or is installed."""
    if step["installed"] is None:
        return "rule" if step["node"].startswith("h") else "entry"
    return "installed" if step["installed"] else "NOT INSTALLED"


@app.command()
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


@app.command()
def view(
    lab: LabName,
    port: Annotated[int, typer.Option(min=0, max=65535, help="TCP port on 127.0.0.1; 0: any free port.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Serve a live view of a lab for the browser, at a secret address on 127.0.0.1; Ctrl-C stops it."""
    import socket

    import uvicorn

    from dcnlab.lab.view.app import application, new_token

    token = new_token()
    served = application(Lab.attach(lab), token)
    try:
        listener = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise UsageError(f"port {port}: {error.strerror}: choose another --port") from None
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/{token}/"
    print_json({"url": url}) if json else print(url)
    sys.stdout.flush()
    config = uvicorn.Config(served, log_level="warning", access_log=False, timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])
    raise KeyboardInterrupt  # uvicorn swallows the Ctrl-C that ended it while it was idle
