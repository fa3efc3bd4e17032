"""What `restart`, `kill` and `pause` share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dcnlab.cli import completion
from dcnlab.cli.show import print_json
from dcnlab.lab.client import Lab

Process = Annotated[
    str,
    typer.Argument(
        metavar="PROCESS",
        help="controller, ovsdb (all ovsdb-servers), agents (their supervisor), a server (its agent),"
        " or a switch (its ovs-vswitchd).",
        autocompletion=completion.processes,
    ),
]


def change(op: str, done: str, lab: str, process: str, json: bool) -> None:
    """Restart, kill or pause a process of a lab, and say which it was."""
    found = Lab.attach(lab).ask(op, what=process)
    print_json(found) if json else print(f"{done}: {_processes(found)}{_time(op, found)}")


def _processes(found: dict[str, Any]) -> str:
    return ", ".join(_one(part["process"], part["nodes"]) for part in found["processes"])


def _one(process: str, nodes: list[str]) -> str:
    name = "supervisor of all agents" if process == "supervisor" else process
    return f"{name} of {', '.join(nodes)}" if nodes else name


def _time(op: str, found: dict[str, Any]) -> str:
    return f", in {found['ms']} ms" if op == "restart" else ""
