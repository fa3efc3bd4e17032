"""What makes a service ready: ``tcp:80``, ``log:TEXT`` or ``exit:0``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_LISTENING = "0A"
_TABLES = (Path("/proc/thread-self/net/tcp"), Path("/proc/thread-self/net/tcp6"))
_PORTS, _CODES = range(1, 65536), range(256)
#: Enough digits for a port or an exit code.
_NUMBER = re.compile(r"\d{1,5}", re.ASCII)


@dataclass(frozen=True)
class Readiness:
    """A condition; ``kind`` is empty where a service is ready as soon as it has started."""

    kind: str = ""
    value: str = ""

    @classmethod
    def parse(cls, text: str) -> Readiness:
        """Read one; ValueError with half a sentence."""
        if not text:
            return cls()
        kind, _, value = text.partition(":")
        allowed = {"tcp": _PORTS, "exit": _CODES}.get(kind, range(0))
        number = _NUMBER.fullmatch(value) and int(value) in allowed
        if not number and not (kind == "log" and value):
            raise ValueError(f"ready must be written as tcp:80, log:TEXT or exit:0, not {text!r}")
        return cls(kind, value)

    def __str__(self) -> str:
        return f"{self.kind}:{self.value}" if self.kind else ""


def listening() -> set[int]:
    """The TCP ports at which somebody listens in this network namespace."""
    ports = set()
    for table in _TABLES:
        if table.exists():
            lines = (line.split() for line in table.read_text().splitlines()[1:])
            ports |= {int(words[1].rpartition(":")[2], 16) for words in lines if words[3] == _LISTENING}
    return ports
