"""``dcnlab pause``: stop a process of a lab."""

from __future__ import annotations

from dcnlab.cli.app import command
from dcnlab.cli.arguments import LabName
from dcnlab.cli.process_change import Process, change
from dcnlab.cli.show import JsonFlag


@command("dcnlab pause LAB h5", "dcnlab pause LAB controller", quick=True)
def pause(lab: LabName, process: Process, json: JsonFlag = False) -> None:
    """Stop a process of a lab until `dcnlab restart`; supervision does not restart it."""
    change("pause", "paused", lab, process, json)
