"""One service in one host: its process, its log, and whether it is ready."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

from dcnlab.lab.contract.programs import ServiceState
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.errors import LabError
from dcnlab.lab.program import Program
from dcnlab.lab.running import program_start
from dcnlab.lab.running.local_machine import LocalMachine
from dcnlab.lab.services.readiness import Readiness, listening

_LOGS = Path("/run/dcnlab-logs")
_POLL_INTERVAL = 0.02
#: Seconds from SIGTERM to SIGKILL.
_TERMINATION = 5.0
#: Lines of the log that an error shows.
_SHOWN = 3


class Service:
    """A program of a lab in one host, from :meth:`start` until the lab ends or :meth:`stop`."""

    def __init__(self, name: str, node: str, program: Program, ready: Readiness) -> None:
        self.name, self.node, self.program, self.ready = name, node, program, ready
        self.log = _LOGS / node / f"{name}.log"
        #: Seconds from the start until it was ready; None as long as it is not.
        self.ready_s: float | None = None
        self.exit: int | None = None
        self._ended = threading.Event()
        self._begun = 0.0
        self._started: program_start.Started | None = None

    def start(self, session: LocalMachine) -> None:
        """Start the program; UsageError where it cannot be."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._begun = time.monotonic()
        with self.log.open("ab") as log:
            self._started = program_start.start(
                session, self.node, self.program, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        threading.Thread(target=self._reap, name=f"service {self.name}", daemon=True).start()

    def await_ready(self, seconds: float) -> None:
        """Return when it is ready; LabError when it ends before, or after so many seconds."""
        deadline = time.monotonic() + seconds
        while not self._is_ready():
            if self._failed():
                raise LabError(f"{self._called} ended with exit code {self.exit}: {self._last_lines()}")
            if time.monotonic() > deadline:
                raise LabError(f"{self._called} was not ready ({self.ready}) after {seconds:g} s")
            time.sleep(_POLL_INTERVAL)
        self.ready_s = time.monotonic() - self._begun

    def stop(self) -> None:
        """End it: SIGTERM, and SIGKILL where that does not help."""
        self.terminate()
        if not self._ended.wait(_TERMINATION):
            self.terminate(signal.SIGKILL)
            self._ended.wait()

    def terminate(self, number: int = signal.SIGTERM) -> None:
        """Send a signal to it and the programs that it has started, if it runs."""
        if self._started is not None and not self._ended.is_set():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._started.process.pid, number)

    def await_end(self, seconds: float) -> None:
        """Wait until it has ended, at most so many seconds; SIGKILL then."""
        if not self._ended.wait(seconds):
            self.terminate(signal.SIGKILL)
            self._ended.wait(seconds + _POLL_INTERVAL)

    def describe(self) -> ServiceState:
        """Return name, node, command line, pid inside the lab, and state, ``ended`` with the exit code."""
        running = self._started is not None and not self._ended.is_set()
        return ServiceState(
            name=self.name,
            node=self.node,
            run=self.program.words,
            pid=self._started.process.pid if self._started is not None else None,
            state="running" if running else "ended",
            exit=self.exit,
            ready_ms=None if self.ready_s is None else round(1000 * self.ready_s, 1),
        )

    @property
    def _called(self) -> str:
        return f"service {self.name} of {self.node}"

    def _is_ready(self) -> bool:
        match self.ready.kind:
            case "tcp":
                return int(self.ready.value) in netns.inside(self.node, listening)
            case "log":
                return self.ready.value in self.log.read_text(errors="replace")
            case "exit":
                return self.exit == int(self.ready.value)
        return True

    def _failed(self) -> bool:
        """Whether it has ended and cannot become ready; a program may go on in the background with code 0."""
        return self.exit is not None and (self.exit != 0 or self.ready.kind == "exit")

    def _last_lines(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()
        return "; ".join(line.strip() for line in lines[-_SHOWN:]) or "it has written nothing"

    def _reap(self) -> None:
        assert self._started is not None
        self.exit = self._started.wait()
        self._ended.set()
