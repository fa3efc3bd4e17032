"""Two-level tables of a fat tree: prefixes down, suffixes up (Al-Fares et al., SIGCOMM 2008, section 3).

Hosts have addresses 10.pod.switch.id, with id from 2.  Prefixes match the hosts below a switch (core: the
pod; aggregation: the edge switch; edge: the host).  All other traffic is balanced over the upward ports by
the host id, shifted by the switch's place in its pod so that the pods use different core switches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from addressing.broken import Case
from addressing.header import Field, Forward, Header, Pattern, exact, prefix
from addressing.rule import RuleScheme, State
from addressing.scheme import ForwardingClass
from topos.families.fattree import FatTree, Level
from topos.family import Family, param

_TEN = 10
_OCTET = 8
_ID = 0xFF


@dataclass(frozen=True)
class TwoLevel(RuleScheme):
    """Prefixes and suffixes; r entries at every switch."""

    name: ClassVar[str] = "twolevel"
    summary: ClassVar[str] = "fat tree's two-level tables: prefixes down, host-id suffixes up"
    source: ClassVar[str] = "Al-Fares et al., SIGCOMM 2008, section 3, Algorithms 1 and 2"
    ordered_by_distance = True
    label_field: ClassVar[Field] = Field.IPV4_DST
    #: In the paper .1 is the switch's own address.
    first_host: ClassVar[int] = 2
    host_bits = _OCTET

    ip: str = param("IP versions that hosts use", choices=("4", "6", "both"), default="4")

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        return None if isinstance(family, FatTree) else "it needs the pods of a fat tree"

    @property
    def tree(self) -> FatTree:
        """The family's parameters."""
        assert isinstance(self.fabric.family, FatTree)
        return self.fabric.family

    @property
    def vertex_bits(self) -> int:
        return 3 * _OCTET

    def vertex_label(self, vertex: int) -> int:
        return _TEN << 2 * _OCTET | self.tree.pod(vertex) << _OCTET | self.tree.place(vertex)

    def find(self, label: int) -> int | None:
        pod, place = label >> _OCTET & 0xFF, label & 0xFF
        if label >> 2 * _OCTET != _TEN or pod >= self.tree.r or place >= self.tree.half:
            return None
        return self.fabric.servers + pod * self.tree.half + place

    def ipv4(self, node: int) -> int:
        return self.label(node)

    @property
    def ip_versions(self) -> tuple[int, ...]:
        return {"4": (4,), "6": (6,), "both": (4, 6)}[self.ip]

    # --- the rule -------------------------------------------------------------

    def rule_bound(self) -> int:
        return 4

    def rule(self, at: int, vertex: int, header: Header) -> Forward | None:
        (level, pod, place), (_, wanted, edge) = self._positions[at], self._positions[vertex]
        if level == "core":
            return Forward(wanted + 1)
        if level == "aggregation" and pod == wanted:
            return Forward(edge + 1)
        half = self.tree.half
        return Forward(half + 1 + ((header.label & _ID) - self.first_host + place) % half)

    @cached_property
    def _positions(self) -> tuple[tuple[Level, int, int], ...]:
        """(level, pod, place in the pod) by node; those of a host, which decides nothing, have no meaning."""
        tree = self.tree
        return tuple((tree.level(node), tree.pod(node), tree.place(node)) for node in range(self.fabric.size))

    def rule_classes(self, at: int) -> Iterable[ForwardingClass]:
        tree, level = self.tree, self.tree.level(at)
        if level == "core":
            for pod in range(tree.r):
                label = self._address(pod, 0, self.first_host)
                yield prefix(label >> 2 * _OCTET, 2 * _OCTET, 32), Header(label)
            return
        pod = tree.pod(at)
        if level == "aggregation":
            for edge in range(tree.half):
                label = self._address(pod, edge, self.first_host)
                yield prefix(label >> _OCTET, 3 * _OCTET, 32), Header(label)
        elsewhere = (pod + 1) % tree.r
        for host in range(self.first_host, self.first_host + tree.half):
            yield Pattern(host, _ID), Header(self._address(elsewhere, 0, host))

    def cases(self, at: int) -> Iterator[Case]:
        for host in range(self.fabric.servers):
            vertex = int(self.homes[host])
            if vertex != at:
                label = self.label(host)
                yield Case(Header(label), exact(label, 32), vertex)

    def _state(self, at: int, header: Header) -> State:
        # Unlike other rules this one reads the host's number at every switch.
        return at, Header(header.label)

    def _address(self, pod: int, edge: int, host: int) -> int:
        return ((_TEN << _OCTET | pod) << _OCTET | edge) << _OCTET | host
