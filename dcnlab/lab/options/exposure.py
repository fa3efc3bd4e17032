"""Ports of servers that programs on this machine reach: ``h0:80=8080``, and what the user is told of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dcnlab.lab.errors import OptionError

#: Exposed ports are reached at this address only.
LOCAL_ADDRESS = "127.0.0.1"
_FORM = re.compile(r"\s*(?P<server>[^:=,\s]+):(?P<port>\d{1,5})=(?P<local>\d{1,5})\s*")


@dataclass(frozen=True)
class Exposure:
    """TCP port ``port`` of ``server``, at port ``local`` of this machine's loopback address."""

    server: str
    port: int
    local: int

    def __str__(self) -> str:
        return f"{LOCAL_ADDRESS}:{self.local} is port {self.port} of {self.server}"


def parse(text: str) -> tuple[Exposure, ...]:
    """The exposures that an option names, separated by commas; OptionError for anything else."""
    by_port: dict[int, Exposure] = {}
    for part in filter(None, text.split(",")):
        match = _FORM.fullmatch(part)
        if match is None:
            raise OptionError(
                "expose", f"expose takes SERVER:PORT=LOCAL_PORT, such as h0:80=8080, not {part!r}"
            )
        exposure = Exposure(match["server"], int(match["port"]), int(match["local"]))
        for port in (exposure.port, exposure.local):
            if not 1 <= port <= 65535:
                raise OptionError("expose", f"expose: {port} is not a port; ports are 1 to 65535")
        if exposure.local in by_port:
            raise OptionError("expose", f"expose: local port {exposure.local} can be only one port of a server")
        by_port[exposure.local] = exposure
    return tuple(by_port.values())


def notes(nat: bool, expose: str) -> Iterator[str]:
    """One line for each opening of a lab to the outside."""
    if nat:
        yield "nat: hosts reach what this machine reaches, but not its loopback address"
    for exposure in parse(expose):
        yield f"expose: {exposure}"
