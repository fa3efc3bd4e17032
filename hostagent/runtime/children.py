"""Child processes of a supervisor: forked, watched, and those that have not answered."""

from __future__ import annotations

import contextlib
import os
import signal
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from hostagent.linux.channel import Channel, Message
from hostagent.runtime import progress


@dataclass(eq=False)
class ChildProcess:
    """A forked worker or supervisor: its process, its channel, and its agents that have not failed."""

    pid: int
    channel: Channel
    nodes: set[int]
    #: Where it notes its turns, and what was seen there.
    cell: memoryview
    #: Whether it is a supervisor, whose agents are processes of their own.
    supervises: bool = False
    turn: progress.Turn = field(default_factory=progress.Turn)
    #: Whether a signal has stopped it, and whether it hangs.
    stopped: bool = False
    hangs: bool = False
    #: The orders for when it continues.
    missed: list[Message] = field(default_factory=list)

    @property
    def silent(self) -> bool:
        """Whether it answers nothing now."""
        return self.stopped or self.hangs


@dataclass
class PendingQuery:
    """A query to all children: the merged answers so far, and the children that have not answered."""

    answer: Message
    waiting: set[int]


def watch_children() -> int:
    """A descriptor that becomes readable when the state of a child process changes."""
    ours, theirs = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return ours


def change_of_child() -> tuple[int, bool] | None:
    """A child that was stopped (True) or continues (False); None if there is no further one."""
    with contextlib.suppress(ChildProcessError):
        change = os.waitid(os.P_ALL, 0, os.WSTOPPED | os.WCONTINUED | os.WNOHANG)
        if change is not None:
            return change.si_pid, change.si_code != os.CLD_CONTINUED
    return None


def run_child(foreign: Sequence[tuple[int, int]], work: Callable[[], None]) -> NoReturn:
    """Run a forked process: it closes the descriptors of others, works, and exits.

    It ends with its parent, because its channel closes then.
    """
    code = 1
    try:
        signal.set_wakeup_fd(-1)  # the parent's pipe
        for descriptors in foreign:
            os.closerange(*descriptors)
        work()
        code = 0
    except BrokenPipeError:  # the parent has ended
        code = 0
    except BaseException:  # never return into the parent's code
        traceback.print_exc()
    finally:
        os._exit(code)
