"""``dcnlab restart``: end a process of a lab and start it again."""

from __future__ import annotations

from dcnlab.cli.app import command
from dcnlab.cli.arguments import LabName
from dcnlab.cli.process_change import Process, change
from dcnlab.cli.show import JsonFlag


@command("dcnlab restart LAB controller", "dcnlab restart LAB h5", "dcnlab restart LAB ovsdb", quick=True)
def restart(lab: LabName, process: Process, json: JsonFlag = False) -> None:
    """End a process of a lab and start it again; return when it works as before."""
    change("restart", "restarted", lab, process, json)
