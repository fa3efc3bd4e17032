"""A process for tests of supervision."""

from __future__ import annotations

import subprocess

from dcnlab.lab.running.processes.supervised import SupervisedProcess
from topos.graph import LinkState


class Sleeper(SupervisedProcess):
    """A process that does nothing."""

    process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        return "sleep"

    def pid(self) -> int | None:
        return self.process.pid if self.process is not None and self.process.poll() is None else None

    def start(self, state: LinkState) -> None:
        self.process = subprocess.Popen(["sleep", "600"])

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
