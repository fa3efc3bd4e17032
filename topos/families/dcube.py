"""DCube (Guo et al.): dual-port servers on the switches of a hypercube or a variant of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topos.constructions.layout import CORNERS_APART, MAX_BITS, Points, along_edges, corners
from topos.constructions.wiring import access_links
from topos.family import Centric, Family, ParameterError, param
from topos.graph import IntArray

Addresses = NDArray[np.int64]


def _hypercube(a: Addresses, j: int, m: int) -> Addresses:
    """e_j: bit j alone."""
    return np.full_like(a, 1 << j)


def _mobius(top: int) -> Callable[[Addresses, int, int], Addresses]:
    """e_j where bit j + 1 is 0, else E_j (bits j to 0); bit m counts as ``top`` (Cull and Larson)."""

    def mask(a: Addresses, j: int, m: int) -> Addresses:
        above = a >> (j + 1) & 1 if j + 1 < m else np.full_like(a, top)
        return np.where(above == 1, (1 << (j + 1)) - 1, 1 << j)

    return mask


def _twisted(a: Addresses, j: int, m: int) -> Addresses:
    """Above bit 0 bits form pairs.  The lower dimension of a pair flips its own bit where the bits below
    the pair have odd parity, both bits where it is even (Hilbers et al.; odd m only)."""
    if j % 2 == 0:
        return np.full_like(a, 1 << j)
    parity = np.bitwise_count(a & ((1 << j) - 1)) & 1
    return np.where(parity == 1, 1 << j, 3 << j)


#: For each cube: the bits in which an m-bit address and its neighbour along dimension j differ.
MASKS: dict[str, Callable[[Addresses, int, int], Addresses]] = {
    "hyper": _hypercube,
    "mobius0": _mobius(0),
    "mobius1": _mobius(1),
    "twisted": _twisted,
}


@dataclass(frozen=True)
class CubeOfSwitches(Family):
    """Base of the DCube families: DCube(n, k), m = n / k, k divides n.

    2^m switches with m-bit addresses a; server <a, u> (u from 0 to n - 1), number
    a n + u, has port 1 on port u + 1 of switch a, and port 2 on port 2 of server
    <a', u>, a' the neighbour of a along dimension j = u mod m of the cube.  Sub-network
    i holds the servers with i m <= u < (i + 1) m.
    """

    centric: ClassVar[Centric] = "server"
    source: ClassVar[str] = "Guo et al., DCube, definitions of H-DCube and M-DCube"

    part_name: ClassVar[str] = "sub-network"

    n: int = param("ports per switch", low=1)
    k: int = param("sub-networks; divides n", low=1)

    @property
    @abstractmethod
    def cube(self) -> str:
        """The graph of the switches: a name in MASKS."""

    def check(self) -> None:
        if self.n % self.k:
            raise ParameterError(f"{self.name}: k must divide n, and {self.k} does not divide {self.n}")
        if self.m > 20:
            raise ParameterError(f"{self.name}: n/k must be at most 20 (2^(n/k) switches), not {self.m}")
        if self.cube == "twisted" and self.m % 2 == 0:
            raise ParameterError(f"{self.name}: the twisted cube needs an odd n/k, not {self.m}")

    @property
    def m(self) -> int:
        """Dimensions of the cube: bits of a switch address."""
        return self.n // self.k

    def counts(self) -> tuple[int, int]:
        switches: int = 2**self.m
        return switches * self.n, switches

    def link_ends(self) -> IntArray:
        servers, _ = self.counts()
        node = np.arange(servers)
        a, u = node // self.n, node % self.n
        other = self._across(a, u)
        second = np.full_like(node, 2)
        across = np.stack([node, second, other * self.n + u, second], axis=1)[a < other]
        return np.concatenate([access_links(servers, self.n), across.astype(np.int32)])

    def address(self, node: int) -> int:
        """The m-bit address of a switch; for a server, that of its switch."""
        servers, _ = self.counts()
        return node // self.n if node < servers else node - servers

    def place(self, server: int) -> int:
        """u: the position of a server at its switch, 0 to n - 1."""
        return server % self.n

    def server(self, address: int, place: int) -> int:
        """The server <address, place>."""
        return address * self.n + place

    def switch(self, address: int) -> int:
        """The node number of the switch with that address."""
        return self.counts()[0] + address

    def dimension(self, server: int) -> int:
        """j = u mod m: the dimension of a server's second port."""
        return server % self.n % self.m

    def neighbour(self, address: int, dimension: int) -> int:
        """The address of the neighbour of ``address`` along a dimension of the cube."""
        return address ^ int(MASKS[self.cube](np.array([address]), dimension, self.m)[0])

    def layout(self) -> Points | None:
        """The switches on a cube's corners by their addresses, the servers along the link of their port 2,
        those of each sub-network beside each other; None above MAX_BITS dimensions."""
        if self.m > MAX_BITS:
            return None
        here, place = np.divmod(np.arange(self.counts()[0]), self.n)
        there = self._across(here, place)
        switches = corners(self.m) * CORNERS_APART
        hosts = along_edges(switches, here, there, place // self.m - (self.k - 1) / 2)
        return np.concatenate([hosts, switches])

    @property
    def layout_caption(self) -> str:
        if self.m > MAX_BITS:
            return super().layout_caption
        twist = "" if self.cube == "hyper" else " Twisted links lead to other corners than a cube's edges."
        nets = f", those of {self.k} sub-networks side by side" if self.k > 1 else ""
        return f"Switches are corners; a server sits on the edge that its second port follows{nets}.{twist}"

    def part_numbers(self) -> NDArray[np.int64] | None:
        """The sub-network of each server; None where there is only one.  Switches belong to none."""
        if self.k == 1:
            return None
        servers, switches = self.counts()
        return np.concatenate([np.arange(servers) % self.n // self.m, np.full(switches, -1)])

    def _across(self, here: Addresses, place: Addresses) -> Addresses:
        """The switch at the far end of port 2 of the servers at these switches and places."""
        there = here.copy()
        for j in range(self.m):
            rows = place % self.m == j
            there[rows] ^= MASKS[self.cube](here[rows], j, self.m)
        return there

    def label(self, node: int) -> str:
        bits = f"{self.address(node):0{self.m}b}"
        return f"<{bits},{self.place(node)}>" if node < self.counts()[0] else f"<{bits}>"

    def locate(self, text: str) -> int | None:
        bits, comma, place = text.strip("<>").partition(",")
        if len(bits) != self.m or set(bits) - set("01"):
            return None
        if not comma:
            return self.switch(int(bits, 2))
        return self.server(int(bits, 2), int(place)) if place.isdecimal() and int(place) < self.n else None


@dataclass(frozen=True)
class DCube(CubeOfSwitches):
    """dcube:n,k,cube=mobius0 -- the structure over any cube of MASKS.

    ``hyper`` and ``mobius1`` are the paper's H-DCube and M-DCube, also named hdcube:n,k and
    mdcube:n,k; the paper names ``mobius0`` and ``twisted`` as further choices.  It also names Flip
    MCube and Fastcube, without their definitions; these are not here.
    """

    name: ClassVar[str] = "dcube"
    example: ClassVar[str] = "dcube:3,1,cube=twisted"

    cube: str = param("graph of the switches", choices=tuple(MASKS), default="hyper")
