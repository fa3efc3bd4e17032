"""Two-level tables of a fat tree: prefixes down, suffixes up (Al-Fares et al., SIGCOMM 2008, section 3).

Hosts have addresses 10.pod.switch.id, with id from 2.  Prefixes match the hosts below a switch (core: the
pod; aggregation: the edge switch; edge: the host).  All other traffic is balanced over the upward ports by
the host id, shifted by the switch's place in its pod so that the pods use different core switches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from addressing.header import Field, Forward, Header, Pattern, exact, prefix
from addressing.rule import Case, RuleScheme, State
from addressing.scheme import ForwardingClass
from topos.families.fattree import FatTree
from topos.family import Family

_TEN = 10
_OCTET = 8
_ID = 0xFF


@dataclass(frozen=True)
class TwoLevel(RuleScheme):
    """Prefixes and suffixes; r entries at every switch."""

    name: ClassVar[str] = "twolevel"
    summary: ClassVar[str] = "fat tree's two-level tables: prefixes down, host-id suffixes up"
    source: ClassVar[str] = "Al-Fares et al., SIGCOMM 2008, section 3, Algorithms 1 and 2"
    label_field: ClassVar[Field] = Field.IPV4_DST
    #: In the paper .1 is the switch's own address.
    first_host: ClassVar[int] = 2
    host_bits = _OCTET

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

    # --- the rule -------------------------------------------------------------

    def rule_bound(self) -> int:
        return 4

    def rule(self, at: int, vertex: int, header: Header) -> Forward | None:
        tree, level = self.tree, self.tree.level(at)
        if level == "core":
            return Forward(tree.pod(vertex) + 1)
        if level == "aggregation" and tree.pod(at) == tree.pod(vertex):
            return Forward(tree.place(vertex) + 1)
        return Forward(self._upward(at, header.label & _ID))

    def _upward(self, switch: int, host: int) -> int:
        half = self.tree.half
        return half + 1 + (host - self.first_host + self.tree.place(switch)) % half

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
