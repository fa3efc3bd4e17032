"""``dcnlab detach``: give an attached interface back to its machine."""

from __future__ import annotations

from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.arguments import LabName
from dcnlab.cli.commands.attach import Interface
from dcnlab.cli.show import JsonFlag, print_json
from dcnlab.lab.client import Lab


@command("dcnlab detach LAB eth1", "dcnlab detach LAB eth1 --switch s3", "dcnlab detach LAB eth1 --json")
def detach(
    lab: LabName,
    interface: Interface,
    switch: Annotated[
        str, typer.Option(help="Its switch, where several machines have such an interface.")
    ] = "",
    json: JsonFlag = False,
) -> None:
    """Give an interface that was attached to a switch back to its machine."""
    found = Lab.attach(lab).detach_interface(interface, switch)
    if json:
        print_json(found)
    else:
        print(f"{interface} is the machine's again")
