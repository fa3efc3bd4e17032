"""The log of a lab: one file that all processes of the lab write, and `dcnlab logs` reads.

It lies beside the control socket and is the standard error of guard, session, controller and agents.
Records begin with time, process and level; what follows on further lines, a traceback for example, belongs
to the record above.  An orderly end removes the log.  A launch that fails and a lab that is killed
leave it.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

#: The environment variable with the lowest level that the processes of a lab log: ``DEBUG``, ``INFO`` ...
LEVEL = "DCNLAB_LOG_LEVEL"
_TIME = "%Y-%m-%dT%H:%M:%S"
_RECORD = re.compile(r"(\d{4}-\d\d-\d\dT[\d:.]+) (\S+) (DEBUG|INFO|WARNING|ERROR|CRITICAL) (.*)")
#: Seconds between two looks at a log that is followed.
_POLL_INTERVAL = 0.1

_log = logging.getLogger(__name__)


def path(socket: Path) -> Path:
    """The log of the lab with that control socket."""
    return socket.with_suffix(".log")


def set_up(process: str, stream: TextIO) -> None:
    """Log this process's records, warnings and uncaught exceptions to ``stream``."""
    form = f"%(asctime)s.%(msecs)03d {process} %(levelname)s %(message)s"
    logging.basicConfig(
        stream=stream, format=form, datefmt=_TIME, level=os.environ.get(LEVEL, "INFO"), force=True
    )
    logging.captureWarnings(True)
    threading.excepthook = _thread_failed
    sys.excepthook = lambda kind, error, trace: _log.critical("failed", exc_info=(kind, error, trace))


def _thread_failed(arguments: threading.ExceptHookArgs) -> None:
    name = arguments.thread.name if arguments.thread else "unknown"
    _log.error("thread %s failed", name, exc_info=arguments.exc_value)


@dataclass
class Record:
    """One entry of a log; ``details`` are the lines below it, such as a traceback.

    Lines before the first entry have no time, process and level.
    """

    time: str
    process: str
    level: str
    message: str
    details: str = ""

    def to_json(self) -> dict[str, Any]:
        """As a JSON object, without what is empty."""
        return {name: value for name, value in asdict(self).items() if value}


def records(lines: Iterable[str]) -> Iterator[Record]:
    """The entries that lines make up; an empty line ends an entry: nothing more of it is known yet."""
    record: Record | None = None
    for line in lines:
        begins = _RECORD.fullmatch(line.rstrip("\n"))
        if record and (begins or not line):
            yield record
            record = None
        if begins:
            record = Record(*begins.groups())
        elif record:
            record.details += line
        elif line:
            record = Record("", "", "", line.rstrip("\n"))
    if record:
        yield record


def follow(log: Path, alive: Callable[[], bool]) -> Iterator[str]:
    """The lines of a log as they are written, until the lab has ended; ``""`` while there are no more."""
    with log.open(errors="replace") as file:
        last = False
        while True:
            yield from file
            yield ""
            if last:
                return
            last = not alive()
            if not last:
                time.sleep(_POLL_INTERVAL)
