"""Equal-cost multipath (RFC 2992): full tables with the next hops of all shortest paths, equally weighted.

A switch has one SELECT group per set of ports and hashes flows over its buckets; an agent hashes too.  Each has
a basis of its own, so successive nodes decide independently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from addressing.header import Forward, NextHops, uniform
from addressing.schemes.shortest import Shortest


@dataclass(frozen=True)
class Ecmp(Shortest):
    """As ``shortest``, with flows balanced over all ports on shortest paths."""

    name: ClassVar[str] = "ecmp"
    summary: ClassVar[str] = "equal-cost multipath: one entry per server, flows hashed over all shortest paths"
    source: ClassVar[str] = "RFC 2992"

    def select(self, ports: Sequence[int], destination: int, hops: int) -> NextHops:
        return _over(tuple(ports))


@lru_cache(maxsize=1 << 12)
def _over(ports: tuple[int, ...]) -> NextHops:
    return uniform([Forward(port) for port in ports])
