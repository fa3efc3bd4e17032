"""Commands that look into networks: explain, capture, view."""

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
from topos.graph import ALL_UP


@app.command()
def explain(
    where: LabOrTopology,
    a: Annotated[str, typer.Argument(metavar="A", help="The server that sends.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The server that receives.")],
    scheme: Annotated[str, typer.Option(help="The routing scheme (for a topology).")] = "",
    json: JsonFlag = False,
) -> None:
    """A packet's way in words, and the table entry that decides at each node; in a lab as links are now."""
    from dataclasses import asdict

    from dcnlab.lab import runtime
    from dcnlab.lab.inspection.explain import steps

    if not scheme and any(found.name == where for found in runtime.labs()):
        found: list[dict[str, Any]] = Lab.attach(where).explain(a, b)
    elif not scheme:
        raise UsageError(f"{where} is no running lab: for a topology say --scheme")
    else:
        fabric, bound = resolve(where, scheme)
        ways = steps(bound, naming.server(fabric, a, bound), naming.server(fabric, b, bound), ALL_UP)
        found = [{**asdict(step), "installed": None} for step in ways]
    if json:
        print_json({"steps": found})
    else:
        for step in found:
            print(f"{step['node']:6}{brief(step['reason'])}")
            if step["entry"]:
                print(f"{'':8}{_kind(step)}: {brief(step['entry'])}")
    if not found[-1]["delivered"]:
        raise LabError(f"not delivered: {found[-1]['reason']}")
    if any(step["installed"] is False for step in found):
        raise LabError("a switch does not hold the entry that the scheme predicts")


def _kind(step: dict[str, Any]) -> str:
    """What is known of a step's entry."""
    if step["installed"] is None:
        return "rule" if step["node"].startswith("h") else "entry"
    return "installed" if step["installed"] else "NOT INSTALLED"


@app.command()
def capture(
    lab: LabName,
    node: NodeName,
    expression: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILTER...]", help="As tcpdump takes it: icmp, 'udp port 53'."),
    ] = None,
    port: Annotated[int | None, typer.Option(help="One port of the node; all of them without.")] = None,
    write: Annotated[
        Path | None, typer.Option("--write", "-w", metavar="FILE.pcap", help="Write packets.")
    ] = None,
    count: Annotated[int | None, typer.Option(min=1, help="End after that many packets.")] = None,
    json: JsonFlag = False,
) -> None:
    """Run tcpdump in a server or at a switch's ports until it is interrupted or has seen enough."""
    if json and write is None:
        raise UsageError("--json reports what was written: say -w FILE.pcap as well")
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
    """Capture into a file that is opened here: it is the user's, wherever tcpdump runs."""
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
    port: Annotated[int, typer.Option(min=0, max=65535, help="On 127.0.0.1; 0: any that is free.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Serve a live drawing of a lab to this machine's browser, at an address with a secret; Ctrl-C ends it."""
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
    raise KeyboardInterrupt  # only that ends it; uvicorn hides it when it was idle
