"""The figures of one replication."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Transfer:
    """Data sent from one server to several."""

    #: Until the last byte arrived at the last replica.
    seconds: float
    #: Goodput of each replica in Mb/s.
    mbps: float
    #: Whether all servers have the same contents, and the SHA-256 of each.
    verified: bool
    sha256: dict[str, str]
    #: The share of the data that the busiest link carries in one direction.
    busiest: float
    #: How the paths were chosen.
    method: str
