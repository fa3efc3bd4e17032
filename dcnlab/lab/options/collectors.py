"""Collectors of sFlow or IPFIX in hosts, as a user names them: ``h3`` or ``h3:6343``.  Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from dcnlab.lab.errors import OptionError

#: The protocols, each an option of labs, with the ports that IANA has assigned.
PORTS = {"sflow": 6343, "ipfix": 4739}
_FORM = re.compile(r"(?P<server>[^:=,\s]+)(?::(?P<port>\d{1,5}))?")


@dataclass(frozen=True)
class Collector:
    """A UDP port of a server, to which all switches send what they see by a protocol."""

    protocol: str
    server: str
    port: int

    @classmethod
    def parse(cls, protocol: str, text: str) -> Self | None:
        """What an option names, None where it is empty; OptionError for anything else."""
        if not text:
            return None
        match = _FORM.fullmatch(text.strip())
        port = int(match["port"] or PORTS[protocol]) if match else 0
        if match is None or not 1 <= port <= 65535:
            raise OptionError(
                protocol, f"{protocol} takes SERVER or SERVER:PORT, such as h3:{PORTS[protocol]}, not {text!r}"
            )
        return cls(protocol, match["server"], port)
