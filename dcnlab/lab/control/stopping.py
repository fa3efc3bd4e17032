"""Ends labs."""

from __future__ import annotations

import contextlib
import time
from functools import partial
from pathlib import Path

from dcnlab.lab.control import ending, runtime
from dcnlab.lab.control.rpc import Connection
from dcnlab.lab.errors import LabError


def end(path: Path) -> None:
    """End the lab that listens at ``path``, if any, and wait until nothing of it is left."""
    inside = request(path)
    if not ending.await_end(inside, partial(_gone, path)):
        raise LabError(f"lab {path.stem} has not ended: none of its processes ended for {ending.STALL:g} s")


def request(path: Path) -> str:
    """Ask a lab to end; its pid namespace, empty if it has ended."""
    inside = ""
    try:
        with contextlib.closing(Connection(path)) as connection:
            inside = ending.namespace(connection.peer)
            connection.call("down")
    except LabError:
        if runtime.in_use(path):
            raise
    return inside


def _gone(path: Path, timeout: float) -> bool:
    """Wait until there is no file, or for so many seconds; whether it is gone."""
    deadline = time.monotonic() + timeout
    while path.exists():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
