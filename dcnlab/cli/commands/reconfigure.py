"""``dcnlab reconfigure``: configure the servers of a lab again."""

from __future__ import annotations

from dcnlab.cli.app import command
from dcnlab.cli.arguments import LabName
from dcnlab.cli.launching import show_configured
from dcnlab.cli.show import JsonFlag, print_json
from dcnlab.lab.client import Lab


@command("dcnlab reconfigure LAB")
def reconfigure(lab: LabName, json: JsonFlag = False) -> None:
    """Configure the servers of a lab again (needs `up --autoconfigure`); exit 1 on errors."""
    found = Lab.attach(lab).reconfigure()
    print_json(found) if json else show_configured(found)
