"""How a process ended, in words."""

from __future__ import annotations

import signal

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
