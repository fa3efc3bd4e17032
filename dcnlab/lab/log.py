"""The log of a lab: one file that all processes of the lab write, and `dcnlab logs` reads.

The file is beside the control socket.  It is the standard error of guard, session, controller and agents.
A record begins with time, process and level; further lines, a traceback for example, belong to the record
above them.  `dcnlab down` removes the log.  It stays after a launch that failed, and when the lab was killed.
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
from typing import TextIO

from dcnlab.lab.contract.values import JsonObject

#: The environment variable with the lowest level that the processes of a lab log: ``DEBUG``, ``INFO`` ...
LEVEL = "DCNLAB_LOG_LEVEL"
_TIME = "%Y-%m-%dT%H:%M:%S"
_RECORD = re.compile(r"(\d{4}-\d\d-\d\dT[\d:.]+) (\S+) (DEBUG|INFO|WARNING|ERROR|CRITICAL) (.*)")
#: Seconds between two looks at a log that is followed.
_POLL_INTERVAL = 0.1

_log = logging.getLogger(__name__)


def path(socket: Path) -> Path:
    """The log of the lab with this control socket."""
    return socket.with_suffix(".log")


def set_up(process: str, stream: TextIO) -> None:
    """Log this process's records, warnings and uncaught exceptions to ``stream``."""
    form = f"%(asctime)s.%(msecs)03d {process} %(levelname)s %(message)s"
    logging.basicConfig(stream=stream, format=form, datefmt=_TIME, level=logging.INFO, force=True)
    wanted = os.environ.get(LEVEL, "").upper()
    level = wanted if wanted in logging.getLevelNamesMapping() else "INFO"
    for package in ("dcnlab", "controller", "hostagent"):  # but not numba, which logs without end
        logging.getLogger(package).setLevel(level)
    logging.captureWarnings(True)
    threading.excepthook = _thread_failed
    sys.excepthook = lambda kind, error, trace: _log.critical("failed", exc_info=(kind, error, trace))


def _thread_failed(arguments: threading.ExceptHookArgs) -> None:
    name = arguments.thread.name if arguments.thread else "unknown"
    _log.error("thread %s failed", name, exc_info=arguments.exc_value)


@dataclass
class Record:
    """One record of a log; ``details`` are the lines below it, such as a traceback.

    Lines before the first record have no time, process and level.
    """

    time: str
    process: str
    level: str
    message: str
    details: str = ""

    def to_json(self) -> JsonObject:
        """Return it as a JSON object, without empty fields."""
        return {name: value for name, value in asdict(self).items() if value}


def records(lines: Iterable[str]) -> Iterator[Record]:
    """The records in these lines; ``""`` ends a record, because its next line may take long to come."""
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
    """The lines of a log as they are written, until the lab ends; ``""`` where the log has no more yet."""
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
