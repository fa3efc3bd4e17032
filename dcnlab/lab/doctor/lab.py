"""What of one lab is not well: its processes as the machine shows them, and what the lab says of itself."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from dcnlab.lab.control import holders, runtime
from dcnlab.lab.control.rpc import Connection, StoppedError
from dcnlab.lab.methods.asking import try_info

_PROC = Path("/proc")
#: What is said of a lab that does not answer.
_SILENT = {
    holders.STARTING: "it is being launched",
    holders.BUSY: "it works, or hangs",
    holders.ENDING: "it ends, and the kernel removes what it had",
}


def examine_lab(name: str) -> list[str]:
    """A line for each process of a lab that is stopped, and for what the lab itself says is wrong.

    LabError when there is no lab of that name.
    """
    path = runtime.socket_path(name)
    try:
        with contextlib.closing(Connection(path)) as connection:
            guard = connection.peer
    except StoppedError as error:
        guard = error.guard
    problems = [one.said(name) for one in holders.holders(guard) if one.stopped]
    problems += _stopped_inside(guard)
    info = try_info(path)
    if "silent" in info:
        problems.append(f"{name} does not answer: {_SILENT[info['silent']]} (log: {path.with_suffix('.log')})")
    if "problem" in info:
        problems.append(str(info["problem"]))
    return [*problems, *info.get("ended", ()), *info.get("damage", ())]


def _stopped_inside(guard: int) -> Iterator[str]:
    """Other processes of a lab that are stopped: the lab's own, and programs in its nodes."""
    known = {one.pid for one in holders.holders(guard)}
    if len(known) == 1:  # a lab on several machines: its parts are labs themselves
        return
    for pid in sorted(holders.inside(holders.namespace(guard))):
        if pid not in known and holders.state_of(pid) == "T":
            yield f"{_called(pid)} (process {pid}) is stopped: `kill -CONT {pid}` has it go on"


def _called(pid: int) -> str:
    """What a process is: the words of its command line, cut short."""
    with contextlib.suppress(OSError):
        argv = (_PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        return argv.strip()[:60] or (_PROC / str(pid) / "comm").read_text().strip()
    return "a process"
