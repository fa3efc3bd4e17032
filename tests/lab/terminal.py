"""A program in a terminal of its own, as somebody sees and types it."""

from __future__ import annotations

import os
import pty
import re
import select
import sys
import termios
import time

#: Seconds to wait for what is to be shown.
PATIENCE = 120.0
_AGAIN = 5.0
#: `dcnlab`, to be followed by its arguments.
DCNLAB = (sys.executable, "-m", "dcnlab.cli")


class Terminal:
    """A program in a terminal; both end when it is closed."""

    def __init__(self, *words: str, size: tuple[int, int] | None = None) -> None:
        """Start it, in a window of so many rows and columns."""
        self._pid, self._master = pty.fork()
        if self._pid == 0:
            if size is not None:
                termios.tcsetwinsize(pty.STDIN_FILENO, size)
            os.execvp(words[0], words)
        self.shown = ""

    def type(self, text: str) -> None:
        """Press keys; what was shown before is forgotten."""
        self.shown = ""
        os.write(self._master, text.encode())

    def resize(self, rows: int, columns: int) -> None:
        """Change the window's size."""
        termios.tcsetwinsize(self._master, (rows, columns))

    def wait_for(self, pattern: str) -> None:
        """Until that is shown."""
        assert self._shows(pattern, PATIENCE), self.shown

    def interrupt(self, pattern: str) -> None:
        """Press Ctrl-C until that is shown: Python's readline hears of it at the next key only when it comes
        after the prompt was printed and before a key is waited for, which no person is quick enough for."""
        self.repeat("\x03", pattern)

    def repeat(self, keys: str, pattern: str) -> None:
        """Press keys until that is shown: bash's readline loses the first key after an interrupt when it comes
        before it waits for one."""
        for _ in range(int(PATIENCE / _AGAIN)):
            self.type(keys)
            if self._shows(pattern, _AGAIN):
                return
        raise AssertionError(self.shown)

    def _shows(self, pattern: str, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not re.search(pattern, self.shown):
            if not select.select([self._master], [], [], max(0.0, end - time.monotonic()))[0]:
                return False
            self.shown += os.read(self._master, 65536).decode(errors="replace")
        return True

    def code(self) -> int:
        """The exit code, when it has ended; what it still shows is in ``shown``."""
        end = time.monotonic() + PATIENCE
        while select.select([self._master], [], [], max(0.0, end - time.monotonic()))[0]:
            try:
                data = os.read(self._master, 65536)
            except OSError:  # nobody has the terminal open any more
                data = b""
            if not data:
                return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
            self.shown += data.decode(errors="replace")
        raise AssertionError(f"it has not ended: {self.shown}")

    def close(self) -> None:
        """Hang up."""
        os.close(self._master)
