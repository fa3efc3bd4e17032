"""DCube extended (Guo et al., DCube): servers of more than two ports, and a cube for each sub-network."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from topos.constructions.layout import CORNERS_APART, MAX_BITS, Points, circle, corners, real
from topos.constructions.wiring import access_links
from topos.families.dcube import MASKS
from topos.family import Centric, Family, ParameterError, param
from topos.graph import IntArray


@dataclass(frozen=True)
class ExtendedDCube(Family):
    """xdcube:n,k,ports=3,cubes=hyper+mobius1 -- DCube(n, k) of servers with q = ``ports`` ports.

    A server counts as q - 1 dual-port servers: the server at place u of a switch has port 1 on port
    u + 1 of the switch, and its port p + 2 stands for place v = u (q - 1) + p (p from 0 to q - 2).
    So m = n (q - 1) / k, there are 2^m switches, and port p + 2 leads to the same port of server u on
    the neighbouring switch along dimension v mod m in sub-network v // m.  ``cubes`` names one cube
    for all sub-networks, or one for each.
    """

    name: ClassVar[str] = "xdcube"
    example: ClassVar[str] = "xdcube:3,2,ports=3,cubes=hyper+mobius1"
    centric: ClassVar[Centric] = "server"
    source: ClassVar[str] = (
        "Guo et al., DCube, section 3 (heterogeneous sub-networks) and Discussions (q ports)"
    )

    n: int = param("ports per switch", low=1)
    k: int = param("sub-networks; divides n (q - 1), at most n", low=1)
    _: KW_ONLY
    ports: int = param("ports per server, q", low=2, default=2)
    cubes: str = param("cubes joined by +: one for all sub-networks, or one for each", default="hyper")

    def check(self) -> None:
        if self.n * (self.ports - 1) % self.k:
            raise ParameterError(
                f"xdcube: k must divide n (ports - 1) = {self.n * (self.ports - 1)}, and {self.k} does not"
            )
        if self.k > self.n:  # else a server would have two links to another one
            raise ParameterError(f"xdcube: k must be at most n = {self.n}, not {self.k}")
        if self.m > 20:
            raise ParameterError(f"xdcube: n (ports - 1) / k must be at most 20 (2^m switches), not {self.m}")
        names = self.cubes.split("+")
        for name in names:
            if name not in MASKS:
                raise ParameterError(f"xdcube: cubes must be among {', '.join(MASKS)}, not {name!r}")
        if len(names) not in (1, self.k):
            raise ParameterError(f"xdcube: cubes must name one cube or {self.k}, not {len(names)}")
        if "twisted" in names and self.m % 2 == 0:
            raise ParameterError(f"xdcube: the twisted cube needs an odd n (ports - 1) / k, not {self.m}")

    @property
    def m(self) -> int:
        """Dimensions of each cube: bits of a switch address."""
        return self.n * (self.ports - 1) // self.k

    def counts(self) -> tuple[int, int]:
        switches: int = 2**self.m
        return switches * self.n, switches

    def cube_of(self, sub_network: int) -> str:
        """The cube of a sub-network: a name in MASKS."""
        names = self.cubes.split("+")
        return names[sub_network % len(names)]

    def link_ends(self) -> IntArray:
        servers, _ = self.counts()
        rows = [access_links(servers, self.n)]
        here = np.arange(2**self.m)
        for place in range(self.n * (self.ports - 1)):
            u, p = divmod(place, self.ports - 1)
            mask = MASKS[self.cube_of(place // self.m)](here, place % self.m, self.m)
            there = here ^ mask
            port = np.full_like(here, p + 2)
            across = np.stack([here * self.n + u, port, there * self.n + u, port], axis=1)
            rows.append(across[here < there].astype(np.int32))
        return np.concatenate(rows)

    def layout(self) -> Points | None:
        """Switches on a cube's corners; servers around their switch.  None above MAX_BITS dimensions."""
        if self.m > MAX_BITS:
            return None
        switches = corners(self.m) * CORNERS_APART
        around = 0.7 * real(circle(self.n) * np.exp(1j * math.pi / 7))
        return np.concatenate([(switches[:, None] + around).reshape(-1, 2), switches])

    @property
    def layout_caption(self) -> str:
        if self.m > MAX_BITS:
            return super().layout_caption
        return f"Switches on the corners of a cube, servers around them; sub-networks: {self.cubes}."

    def label(self, node: int) -> str:
        servers, _ = self.counts()
        if node < servers:
            return f"<{node // self.n:0{self.m}b},{node % self.n}>"
        return f"<{node - servers:0{self.m}b}>"
