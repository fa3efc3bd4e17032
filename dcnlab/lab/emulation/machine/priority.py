"""Which programs have the processors first, where several need them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

#: Programs that wait for others, in steps of nice(1).
_BEHIND = 5


def give_way(leader: int) -> None:
    """Let other programs have the processors before a process that leads a session of its own.

    With more steps the programs that it waits for run as soon as there is anything to do, and do little at a
    time.
    """
    with contextlib.suppress(OSError):  # it has ended
        os.setpriority(os.PRIO_PROCESS, leader, _BEHIND)
    with contextlib.suppress(OSError):  # without autogroups, which compare sessions, the above is enough
        Path(f"/proc/{leader}/autogroup").write_text(str(_BEHIND))
