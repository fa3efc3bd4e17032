"""How a process ended, in words; and the end of one that is no child."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess

#: Seconds from the end of a channel to the end of its process.
_REAP_TIMEOUT = 1.0

#: What usually causes a signal that ends a process of a lab.
_CAUSES = {
    signal.SIGXFSZ: "a file reached the limit of its size, ulimit -f",
    signal.SIGKILL: "killed, or out of memory",
}


def describe(code: int) -> str:
    """The text for a return code of :class:`subprocess.Popen`: ``exit code 2``, or the signal."""
    if code >= 0:
        return f"exit code {code}"
    try:
        number = signal.Signals(-code)
    except ValueError:  # a real-time signal has no name
        return f"signal {-code}"
    cause = _CAUSES.get(number)
    return f"{number.name}: {cause}" if cause else number.name


def reason(process: subprocess.Popen[bytes]) -> str:
    """How a process that has closed its channel ended, in brackets; empty if it still runs."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        return f" ({describe(process.wait(_REAP_TIMEOUT))})"
    return ""


def kill(pid: int) -> None:
    """Kill a process, if there is one, and wait for its end; it need not be a child."""
    with contextlib.suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            select.select([handle], [], [])
        finally:
            os.close(handle)
