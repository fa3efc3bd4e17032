"""``dcnlab services``: the services of a lab, and their logs: two operations, so it follows from neither."""

from __future__ import annotations

from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters.arguments import LabName
from dcnlab.cli.show import JsonFlag, cell, print_json, table
from dcnlab.lab.client import Lab


@command("dcnlab services LAB", "dcnlab services LAB web --node h3")
def services(
    lab: LabName,
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Print the log of this service instead.")] = "",
    node: Annotated[str, typer.Option(help="The host, where several have a service of that name.")] = "",
    json: JsonFlag = False,
) -> None:
    """List the programs that a scenario has started in hosts, or print the log of one."""
    running = Lab.attach(lab)
    if name:
        text = running.service_log(name, node)
        print_json({"name": name, "log": text}) if json else print(text, end="")
        return
    states = running.ask("services")
    if json:
        print_json(states)
        return
    rows = [(*(cell(one[key]) for key in _COLUMNS), " ".join(one["run"])) for one in states]
    table((*(key.replace("_", " ") for key in _COLUMNS), "program"), rows)


_COLUMNS = ("name", "node", "state", "exit", "ready_ms", "pid")
