"""Waits of a launch.  They end at once when a process has ended that they depend on, and follow progress.

A network of 4,096 servers takes minutes, a machine under load takes longer.  So no stage has a fixed limit:
it fails when nothing has progressed for a while.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dcnlab.lab.errors import LabError
from hostagent.linux import process_exit

#: Seconds without progress after which a stage of a launch fails.
STALL = 60.0
#: Milliseconds between two looks at progress; the end of a process is noticed at once.
_LOOK_MS = 500

Process = subprocess.Popen[str]


@dataclass(frozen=True)
class Daemon:
    """A daemon that commands depend on: what the user knows it by, its pid file and its log."""

    name: str
    pid_file: Path
    log: Path

    def ended(self) -> LabError:
        """The error when it has ended, with the last message of its log."""
        with contextlib.suppress(OSError, IndexError):
            last = self.log.read_text(errors="replace").splitlines()[-1]
            return LabError(f"{self.name} has ended; it logged last: {last.rpartition('|')[2]}")
        return LabError(f"{self.name} has ended")


def finish(processes: Sequence[Process], daemons: Sequence[Daemon] = (), stall: float = STALL) -> None:
    """Wait for programs.

    LabError with the last line of the first that fails, when one of the ``daemons`` has ended, or when
    their logs have not grown for ``stall`` seconds.
    """
    with opened(daemons) as watched:
        for process in processes:
            handle = os.pidfd_open(process.pid)
            try:
                await_readable(handle, watched, stall)
            finally:
                os.close(handle)
            text = process.communicate()[1]
            if process.returncode:
                program = process.args[2] if isinstance(process.args, list) else str(process.args)
                raise LabError(failure(str(program), process.returncode, text))


def failure(program: str, code: int, output: str) -> str:
    """One line for a program that failed: the last of its output, or how it ended."""
    lines = [line for line in output.strip().splitlines() if line]
    return f"{program}: {lines[-1] if lines else process_exit.describe(code)}"


@contextlib.contextmanager
def opened(daemons: Sequence[Daemon]) -> Iterator[Mapping[int, Daemon]]:
    """The daemons by descriptors that become readable when they end; LabError if one has ended."""
    watched: dict[int, Daemon] = {}
    try:
        for daemon in daemons:
            try:
                watched[os.pidfd_open(int(daemon.pid_file.read_text()))] = daemon
            except (OSError, ValueError):
                raise daemon.ended() from None
        yield watched
    finally:
        for descriptor in watched:
            os.close(descriptor)


def await_readable(handle: int, watched: Mapping[int, Daemon], stall: float = STALL) -> None:
    """Wait until a descriptor is readable; LabError as in :func:`finish`."""
    poll = select.poll()
    for descriptor in (handle, *watched):
        poll.register(descriptor, select.POLLIN)
    size, since = -1, time.monotonic()  # of logs that are looked at where it takes long
    while handle not in (ready := [descriptor for descriptor, _ in poll.poll(_LOOK_MS)]):
        if ready:
            raise watched[ready[0]].ended()
        if (now := _logged(watched)) != size:
            size, since = now, time.monotonic()
        elif time.monotonic() - since > stall:
            names = ", ".join(daemon.name for daemon in watched.values()) or "its programs"
            raise LabError(f"no progress of {names} for {stall:g} s")


def _logged(watched: Mapping[int, Daemon]) -> int:
    """Bytes that all daemons have logged; Open vSwitch logs every port that it adds."""
    return sum(daemon.log.stat().st_size for daemon in watched.values() if daemon.log.exists())
