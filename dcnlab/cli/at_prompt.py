"""What `up` runs for the prompt of its lab: commands about the lab, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

from dcnlab.lab import python_process

_PROGRAM = "dcnlab.cli.prompted"


class AboutLab:
    """The commands about the lab of this name (:class:`dcnlab.lab.session.commands.Offered`)."""

    def __init__(self, lab: str) -> None:
        self._lab = lab

    def summaries(self) -> dict[str, str]:
        """What each command does, by its name."""
        summaries: dict[str, str] = json.loads(self._run([], stdout=subprocess.PIPE).stdout)
        return summaries

    def run(self, argv: list[str]) -> None:
        """Run a command to its end; it says so itself when there is none of that name."""
        # An input that is no terminal is the prompt's: its next lines.
        self._run(argv, stdin=None if os.isatty(0) else subprocess.DEVNULL)

    def _run(self, argv: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        command = python_process.command(_PROGRAM, self._lab, *argv)
        return subprocess.run(command, env=python_process.environment(), check=False, **options)
