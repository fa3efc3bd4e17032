"""Base of DCell, FiConn and HCN: recursive cells of servers and switches, one link between sibling cells."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topos.constructions.layout import Complex, Points, circle, real
from topos.constructions.wiring import access_links
from topos.family import Centric, Family, ParameterError, param
from topos.graph import IntArray

Places = NDArray[np.int64]
#: In drawings: how far cells keep from each other, and how many turns of each are tried.
_BETWEEN_CELLS, _TURNS = 0.4, 144


@dataclass(frozen=True)
class CellFamily(Family):
    """Base of DCell, FiConn and HCN.

    A cell of level 0 is a switch with n servers; a cell of level l consists of cells of
    level l - 1, any two of them joined by one link.  A server's address is
    (a_k, ..., a_1, a_0): the number of its level-(l-1) cell in its level-l cell for each
    l, and its position a_0 at its switch.  Servers are numbered with a_0 running fastest.
    Port 1 of server u leads to switch u // n, on switch port a_0 + 1.  ``parts`` makes a
    partial structure of that many full cells of level k - 1, each joined to all others.
    """

    centric: ClassVar[Centric] = "server"
    part_name: ClassVar[str] = "cell"

    n: int = param("servers per switch", low=2)
    k: int = param("levels of cells above a switch", low=0, high=20)
    _: KW_ONLY
    parts: int | None = param("full cells of level k - 1; default: all", low=2, default=None)

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, ...]:
        """(t_0, ..., t_k): the number of servers in a full cell of each level."""

    @abstractmethod
    def gateway_place(self, level: int, here: Places, there: Places) -> Places:
        """The position, within sub-cell ``here`` of a level-``level`` cell, of the server whose link leads
        to sub-cell ``there``; cells and positions count from 0."""

    @abstractmethod
    def level_port(self, level: int) -> int:
        """The server port for links between the sub-cells of a level-``level`` cell."""

    def check(self) -> None:
        most = self.sizes[-1] // self.sizes[-2] if self.k else 0
        if self.parts is not None and self.parts > most:
            raise ParameterError(f"{self.name}: {self.n},{self.k} has {most} parts, not {self.parts}")

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of values of each address digit, a_0 first; at level k the parts."""
        full = (self.n, *(size // below for below, size in zip(self.sizes, self.sizes[1:], strict=False)))
        return (*full[:-1], self.parts) if self.parts else full

    def counts(self) -> tuple[int, int]:
        servers = self.parts * self.sizes[-2] if self.parts else self.sizes[-1]
        return servers, servers // self.n

    def link_ends(self) -> IntArray:
        servers, _ = self.counts()
        rows = [access_links(servers, self.n)]
        for level in range(1, self.k + 1):
            below, width = self.sizes[level - 1], self.widths[level]
            i, j = np.triu_indices(width, 1)
            bases = np.arange(0, servers, below * width)[:, None]
            a = (bases + i * below + self.gateway_place(level, i, j)).ravel()
            b = (bases + j * below + self.gateway_place(level, j, i)).ravel()
            port = np.full_like(a, self.level_port(level))
            rows.append(np.stack([a, port, b, port], axis=1).astype(np.int32))
        return np.concatenate(rows)

    def digits(self, server: int) -> tuple[int, ...]:
        """(a_0, ..., a_k): index l is the digit of level l."""
        digits = []
        for size in reversed(self.sizes[:-1]):
            digit, server = divmod(server, size)
            digits.append(digit)
        return (server, *reversed(digits))

    def server(self, digits: tuple[int, ...]) -> int:
        """The server with these digits, a_0 first."""
        return digits[0] + sum(d * size for d, size in zip(digits[1:], self.sizes, strict=False))

    def cell(self, server: int, level: int) -> int:
        """The number of a server's level-``level`` cell, counted over the whole fabric."""
        return server // self.sizes[level]

    def gateway(self, level: int, cell: int, other: int) -> int:
        """The server of level-(``level`` - 1) cell ``cell`` whose link leads to its sibling ``other``; both
        are numbered over the whole fabric, as in :meth:`cell`."""
        width = self.widths[level]
        place = self.gateway_place(level, np.array(cell % width), np.array(other % width))
        return cell * self.sizes[level - 1] + int(place)

    def layout(self) -> Points:
        """Servers around their switch, and cells of each level around the middle of the next one, turned
        so that their links lead towards the cells that they join."""
        servers, switches = max(0.8, 0.1 * self.n) * circle(self.n), np.zeros(1, dtype=np.complex128)
        for level, width in enumerate(self.widths[1:], start=1):
            centres = circle(width) * (np.abs(servers).max() + _BETWEEN_CELLS) / math.sin(math.pi / width)
            turns = np.array([self._turn(level, cell, centres, servers) for cell in range(width)])
            servers, switches = (
                (centres[:, None] + turns[:, None] * points).ravel() for points in (servers, switches)
            )
        return real(np.concatenate([servers, switches]))

    @property
    def layout_caption(self) -> str:
        if not self.k:
            return "Servers around their switch."
        return f"{self.widths[-1]} cells of level {self.k - 1} in a circle; servers around their switches."

    def part_numbers(self) -> NDArray[np.int64] | None:
        """The cell of level k - 1 of each node; None for k = 0."""
        if not self.k:
            return None
        servers, switches = self.counts()
        below = self.sizes[self.k - 1]
        return np.concatenate([np.arange(servers) // below, np.arange(switches) // (below // self.n)])

    def _turn(self, level: int, cell: int, centres: Complex, servers: Complex) -> complex:
        """The turn of a cell by which the servers with links to its siblings come nearest to them."""
        others = np.delete(np.arange(len(centres)), cell)
        ends = servers[self.gateway_place(level, np.full_like(others, cell), others)]
        turns = circle(_TURNS)
        gaps = np.abs(centres[cell] + turns[:, None] * ends - centres[others]).sum(axis=1)
        return complex(turns[np.argmin(gaps)])

    def label(self, node: int) -> str:
        servers, _ = self.counts()
        if node < servers:
            return "(" + ",".join(map(str, reversed(self.digits(node)))) + ")"
        return "<" + ",".join(map(str, reversed(self.digits((node - servers) * self.n)[1:]))) + ">"

    def locate(self, text: str) -> int | None:
        is_switch = text.startswith("<")
        digits = text.strip("<>()").replace(",", " ").split()
        widths = self.widths[is_switch:]
        if not all(map(str.isdecimal, digits)):
            return None
        values = tuple(map(int, reversed(digits)))
        if len(values) != len(widths) or any(v >= w for v, w in zip(values, widths, strict=True)):
            return None
        if is_switch:
            return self.counts()[0] + self.server((0, *values)) // self.n
        return self.server(values)
