"""``dcnlab kill``: end a process of a lab as a crash would."""

from __future__ import annotations

from dcnlab.cli.app import command
from dcnlab.cli.arguments import LabName
from dcnlab.cli.process_change import Process, change
from dcnlab.cli.show import JsonFlag


@command("dcnlab kill LAB controller", "dcnlab kill LAB s3", quick=True)
def kill(lab: LabName, process: Process, json: JsonFlag = False) -> None:
    """End a process of a lab as a crash would; the lab starts it again, unless it runs with --no-supervise."""
    change("kill", "killed", lab, process, json)
