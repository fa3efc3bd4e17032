"""No routing scheme: programs in the nodes route, such as FRRouting or BIRD.  Only labs know it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, cast

from addressing.autoconfiguration import Autoconfiguration
from addressing.header import Header, NextHops, drop
from addressing.scheme import ForwardingClass, Scheme
from addressing.subnets import AddressingPlan
from topos.fabric import Fabric
from topos.family import Family, param
from topos.graph import ALL_UP, LinkState
from topos.routed import RoutedFabric
from topos.spec import instantiate, split_spec

NAME = "none"


@dataclass(frozen=True)
class Unrouted(Scheme):
    """Addresses by :class:`AddressingPlan`, and forwarding in the kernel of routers; no labels, no tables."""

    name: ClassVar[str] = NAME
    summary: ClassVar[str] = "no scheme: programs in the nodes route"
    source: ClassVar[str] = "RFC 3021, RFC 6164"

    routers: str = param(
        "which nodes forward: those that relay in the network and routers of its file; switches too; or none",
        choices=("relays", "switches", "none"),
        default="relays",
    )
    links: int = param("the prefix length of a link between two nodes", low=30, high=31, default=31)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.fabric, RoutedFabric):
            object.__setattr__(self, "fabric", RoutedFabric.made_of(self.fabric, self._routers(self.fabric)))

    def _routers(self, fabric: Fabric) -> frozenset[int]:
        if self.routers == "none":
            return frozenset()
        stated = fabric.family.routers()
        relays = range(fabric.servers) if fabric.relaying else ()
        forwarding = (node for node in relays if fabric.port_count(node) > 1 or not fabric.switches)
        switches = range(fabric.servers, fabric.size) if self.routers == "switches" else ()
        return frozenset((*stated, *forwarding, *switches))

    @cached_property
    def plan(self) -> AddressingPlan:
        """The addresses of all interfaces."""
        return AddressingPlan(cast(RoutedFabric, self.fabric), self.links)

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        return None

    @property
    def label_bits(self) -> int:
        return 0

    def label(self, node: int) -> int:
        return node

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        return drop("no scheme: the node's routing table decides (ip route)")

    def forwarding_classes(self, at: int) -> Iterable[ForwardingClass]:
        return ()

    def ipv4(self, node: int) -> int:
        return self.plan.address(node)

    def autoconfiguration(self) -> Autoconfiguration:
        return Autoconfiguration(None, "scheme none gives all nodes their addresses")

    @property
    def ip_versions(self) -> tuple[int, ...]:
        return (4, 6)


def is_named(text: str) -> bool:
    """Whether the specification of a scheme is that of none."""
    return split_spec(text)[0] == NAME


def bind(text: str, fabric: Fabric) -> Unrouted:
    """``none`` and its parameters for a network; SpecError with one line for wrong ones."""
    return cast(Unrouted, instantiate(Unrouted, NAME, split_spec(text)[1], fabric))
