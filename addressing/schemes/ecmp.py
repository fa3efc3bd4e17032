"""Equal-cost multipath: full tables with every shortest way, equal weights.

A switch holds one SELECT group per set of ports and hashes flows over them; an agent
draws per flow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from addressing.header import Forward, NextHops, uniform
from addressing.schemes.shortest import Shortest


@dataclass(frozen=True)
class Ecmp(Shortest):
    """As ``shortest``, spread evenly over all ports that are nearer."""

    name: ClassVar[str] = "ecmp"
    summary: ClassVar[str] = "full tables: one entry per server, all shortest ways equally"
    source: ClassVar[str] = "RFC 2992"

    def select(self, ports: list[int]) -> NextHops:
        return uniform([Forward(port) for port in ports])
