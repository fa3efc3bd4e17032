"""A relayed terminal follows the window although the main thread hears of no signal."""

from __future__ import annotations

import sys

from tests.lab.terminal import Terminal

PROGRAM = """
import os, signal, termios, time
from dcnlab.lab.session.terminal import relayed_pty

with relayed_pty() as far:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])  # so it comes to the other thread
    os.write(far, b"size is %d %d\\n" % termios.tcgetwinsize(far))
    if not (follower := os.fork()):
        while termios.tcgetwinsize(far) != (33, 77):
            time.sleep(0.01)
        os.write(far, b"followed\\n")
        os._exit(3)
    code = os.waitstatus_to_exitcode(os.waitpid(follower, 0)[1])
raise SystemExit(code)
"""


def test_a_change_of_size_that_another_thread_hears_of() -> None:
    terminal = Terminal(sys.executable, "-c", PROGRAM, size=(22, 66))
    try:
        terminal.wait_for("size is 22 66")
        terminal.resize(33, 77)
        terminal.wait_for("followed")
        assert terminal.code() == 3
    finally:
        terminal.close()
