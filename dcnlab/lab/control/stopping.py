"""Ends labs, and waits for that: by progress, because thousands of processes take the kernel a while.

A lab has ended when all of its processes are killed and its name is free: it may take the kernel longer to
remove the devices of thousands of hosts.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from dcnlab.lab.control import holders, runtime
from dcnlab.lab.control.rpc import Connection, StoppedError
from dcnlab.lab.errors import LabError

#: Seconds without progress after which a lab counts as stuck, and seconds between two looks.
STALL = 60.0
_LOOK = 1.0
#: Seconds for a session to begin to end its lab; then the kernel ends it.
_PATIENCE = 4.0


def end(path: Path) -> None:
    """End the lab that listens at ``path``, if any, and wait until nothing of it runs."""
    guard, inside = request(path)
    if not await_end(guard, inside, partial(_gone, path)):
        raise LabError(f"lab {path.stem} has not ended: none of its processes ended for {STALL:g} s")


def request(path: Path) -> tuple[int, str]:
    """Ask a lab to end, or have it end where a process of it is stopped: its guard and its pid namespace, 0 and
    empty if it has ended."""
    guard, inside = 0, ""
    try:
        with contextlib.closing(Connection(path)) as connection:
            guard = connection.peer
            inside = holders.namespace(guard)
            if holders.has_init(guard):
                connection.limit(_PATIENCE)
            connection.call("down")
    except StoppedError as error:
        guard, inside = error.guard, holders.namespace(error.guard)
        holders.release(guard)
    except LabError:
        if runtime.in_use(path) and not holders.kill(guard):
            raise
    return guard, inside


def await_end(guard: int, inside: str, ended: Callable[[float], bool]) -> bool:
    """Wait until ``ended(seconds)``, which waits up to so long itself, after a lab was told to end; processes
    that are stopped are no obstacle.  False when none of the processes in the pid namespace ``inside`` of
    ``guard`` has ended for :data:`STALL` seconds."""
    left, since = -1, time.monotonic()
    while not ended(_LOOK):
        holders.release(guard)
        if (now := len(list(holders.inside(inside)))) != left:
            left, since = now, time.monotonic()
        elif time.monotonic() - since > STALL:
            return False
    return True


def _gone(path: Path, timeout: float) -> bool:
    """Wait until there is no file, or for so many seconds; whether it is gone."""
    deadline = time.monotonic() + timeout
    while path.exists():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
