"""HR-SW: hierarchical prefixes cluster | switch | host on a small world (Kieu et al., section III).

The labels are the hosts' IPv4 addresses under a prefix.  Paths, tables and repair are those of every
hierarchy (:mod:`addressing.hierarchy`): loop-free by construction, since all nodes of a cluster agree on
the next cluster.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from addressing.header import Field
from addressing.hierarchy import Hierarchy
from addressing.scheme import LabelTooWide
from topos.families.smallworld import SmallWorld
from topos.family import Family, ParameterError, param
from topos.graph import NONE


@dataclass(frozen=True)
class Hrsw(Hierarchy):
    """(c - 1) + (k - 1) + m entries per switch: other clusters, switches of its own cluster, hosts."""

    name: ClassVar[str] = "hrsw"
    summary: ClassVar[str] = "hierarchical prefix routing on IPv4 addresses cluster.switch.host"
    source: ClassVar[str] = "Kieu et al., HR-SW, section III"
    ordered_by_distance = True
    label_field: ClassVar[Field] = Field.IPV4_DST
    #: Host 0 stands for the switch itself.
    first_host: ClassVar[int] = 1

    prefix: str = param("IPv4 prefix of all hosts", default="10.0.0.0/8")
    ip: str = param("IP versions that hosts use", choices=("4", "6", "both"), default="4")

    def __post_init__(self) -> None:
        try:
            network = ipaddress.IPv4Network(self.prefix)
        except ValueError as error:
            raise ParameterError(f"{self.name}: prefix must be like 172.16.0.0/12: {error}") from None
        if network.is_loopback or network.is_multicast or network.is_reserved:
            raise ParameterError(f"{self.name}: no host can have an address in {network}")

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        return None if isinstance(family, SmallWorld) else "it needs clusters of switches"

    @cached_property
    def clustering(self) -> tuple[int, ...]:
        family = self.fabric.family
        assert isinstance(family, SmallWorld)
        return (NONE,) * self.fabric.servers + tuple(map(family.cluster, range(self.fabric.switches)))

    # --- addresses ------------------------------------------------------------

    @property
    def network(self) -> ipaddress.IPv4Network:
        """The prefix of all hosts."""
        return ipaddress.IPv4Network(self.prefix)

    @property
    def vertex_bits(self) -> int:
        return 32 - self.host_bits

    def vertex_label(self, vertex: int) -> int:
        return self._base | super().vertex_label(vertex)

    def find(self, label: int) -> int | None:
        return super().find(label ^ self._base)

    def ipv4(self, node: int) -> int:
        return self.label(node)

    def check_width(self) -> None:
        super().check_width()
        needed = super().vertex_bits + self.host_bits
        room = 32 - self.network.prefixlen
        if needed > room:
            raise LabelTooWide(
                f"{self.name} on {self.fabric.spec}: addresses need {needed} bits after the prefix,"
                f" {self.network} leaves {room}: give a prefix of /{max(0, 32 - needed)} or shorter"
            )

    @property
    def ipv4_length(self) -> int:
        return self.network.prefixlen

    @property
    def ip_versions(self) -> tuple[int, ...]:
        return {"4": (4,), "6": (6,), "both": (4, 6)}[self.ip]

    @cached_property
    def _base(self) -> int:
        return int(self.network.network_address) >> self.host_bits
