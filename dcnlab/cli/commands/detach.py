"""``dcnlab detach``: give an attached interface back to this machine."""

from __future__ import annotations

from dcnlab.cli.app import command
from dcnlab.cli.arguments import LabName
from dcnlab.cli.commands.attach import Interface
from dcnlab.cli.show import JsonFlag, print_json
from dcnlab.lab.client import Lab


@command("dcnlab detach LAB eth1", "dcnlab detach LAB eth1 --json")
def detach(lab: LabName, interface: Interface, json: JsonFlag = False) -> None:
    """Give an interface that was attached to a switch back to this machine."""
    found = Lab.attach(lab).detach_interface(interface)
    if json:
        print_json(found)
    else:
        print(f"{interface} is this machine's again")
