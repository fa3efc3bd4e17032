"""Child processes of a benchmark: in their own namespaces, so that everything ends with them."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Callable

from dcnlab.lab.emulation.machine import programs
from hostagent.linux import mounts, namespaces


def enter_sandbox() -> None:
    """Enter new namespaces, as a lab has: continue as their first process; the parent waits for its end."""
    namespaces.unshare(namespaces.CLONE_NEWNS | namespaces.CLONE_NEWNET | namespaces.CLONE_NEWPID)
    child = os.fork()
    if child:
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    namespaces.die_with_parent()
    mounts.close_mounts()
    mounts.mount("proc", "/proc", "proc")
    mounts.mount("tmpfs", "/run", "tmpfs")
    programs.extend_path()


def from_child(action: Callable[[], str]) -> str:
    """Run ``action`` in a child process: the child's output, followed by the value returned."""
    with tempfile.TemporaryFile("w+") as output:
        sys.stdout.flush()
        if not (child := os.fork()):
            try:
                os.dup2(output.fileno(), 1)
                print(action(), flush=True)
                os._exit(0)
            except SystemExit as ended:  # the intermediate process, which only waited for the first one
                os._exit(int(bool(ended.code)))
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        if os.waitpid(child, 0)[1]:
            sys.exit("the child failed")
        output.seek(0)
        return output.read()
