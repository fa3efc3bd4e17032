"""What captures of several interfaces become."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Merged:
    """Captures at interfaces, by namespace and name, that become one."""

    interfaces: list[tuple[str, str]]
    expression: str
    #: Options of the tcpdump that shows packets; None: they are written.
    show: list[str] | None
    count: int | None
    #: Whether they are written as pcapng, which says by which interface each packet came; else as pcap.
    pcapng: bool = False
