"""Slim Fly (Besta and Hoefler, SC 2014): McKay-Miller-Siran graphs of diameter 2."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topos.bases.vertices import HostedGraph
from topos.constructions.galois import field, prime_power
from topos.constructions.layout import Points, circle, real
from topos.constructions.wiring import numbered_ports
from topos.family import Centric, ParameterError, param
from topos.graph import IntArray

#: The room between two groups of a side; the distance of the sides, as a multiple of that of two groups.
_BETWEEN_GROUPS, _BETWEEN_SIDES = 1.4, 1.6
#: How far the lower side is moved, as a share of the distance of two groups, and how groups are turned.
_ASIDE, _TURN = 0.3, 0.1


@dataclass(frozen=True)
class SlimFly(HostedGraph):
    """slimfly:f -- 2 f^2 routers (0, x, y) and (1, m, c), x, y, m, c in GF(f), f = 4 w + delta.

    (0, x, y) is joined to (0, x, y') if y - y' lies in X, (1, m, c) to (1, m, c') if c - c'
    lies in X', and (0, x, y) to (1, m, c) if y = m x + c.  X and X' are made of powers of a
    primitive element: see :attr:`difference_sets`.  Router = (side f + x) f + y.  Its first ports lead
    to hosts (half the degree, rounded up, unless ``hosts`` or ``servers`` is given), the others to the
    (3 f - delta) / 2 neighbours in ascending order.
    """

    name: ClassVar[str] = "slimfly"
    example: ClassVar[str] = "slimfly:3,hosts=1"
    centric: ClassVar[Centric] = "switch"
    source: ClassVar[str] = "Besta and Hoefler, Slim Fly, SC 2014, section II-B; Hafner, 2004"

    f: int = param("size of the field: a prime power, not 2", low=3, high=128)
    hosts: int | None = param("hosts per router; default: half of the degree, rounded up", low=1, default=None)

    def check(self) -> None:
        if prime_power(self.f) is None:
            raise ParameterError(f"slimfly: f must be a prime power, not {self.f}")
        self.check_servers()

    @property
    def delta(self) -> int:
        """f = 4 w + delta with delta -1, 0 or 1."""
        return (self.f + 1) % 4 - 1

    @property
    def degree(self) -> int:
        """The number of neighbours of a router: (3 f - delta) / 2."""
        return (3 * self.f - self.delta) // 2

    @property
    def concentration(self) -> int:
        return (self.degree + 1) // 2 if self.hosts is None else self.hosts

    @property
    def vertices(self) -> int:
        return 2 * self.f**2

    @cached_property
    def difference_sets(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """X and X'.  For delta 1 and 0: the even and the odd powers of a primitive element.  For delta -1:
        the even powers up to 2 w - 2 and the odd powers from 2 w - 1 on; X' is X times the element."""
        powers, w = field(self.f).powers, (self.f - self.delta) // 4
        if self.delta == -1:
            exponents = np.concatenate([np.arange(0, 2 * w, 2), np.arange(2 * w - 1, 4 * w - 2, 2)])
        else:
            exponents = np.arange(0, self.f - 1, 2)
        return powers[exponents], powers[(exponents + 1) % (self.f - 1)]

    def edges(self) -> IntArray:
        gf, side = field(self.f), self.f**2
        x, y = np.indices((self.f, self.f)).reshape(2, -1)
        rows = []
        for base, differences in zip((0, side), self.difference_sets, strict=True):
            far = gf.add[y[:, None], differences]
            near = np.broadcast_to(y[:, None], far.shape)
            row = base + x[:, None] * self.f
            rows.append(np.stack([row + near, row + far], axis=-1)[near < far])
        x, m, c = np.indices((self.f, self.f, self.f)).reshape(3, -1)
        y = gf.add[gf.multiply[m, x], c]
        rows.append(np.stack([x * self.f + y, side + m * self.f + c], axis=1))
        pairs = np.concatenate(rows)
        return numbered_ports(pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))])

    def vertex_layout(self) -> Points:
        """The groups of one side in a row above those of the other, each a circle (section II-B)."""
        group, place = np.divmod(np.arange(self.vertices), self.f)
        radius = 0.5 / math.sin(math.pi / self.f)
        step = 2 * radius + _BETWEEN_GROUPS
        side, number = np.divmod(group, self.f)
        centres = np.stack([(number + _ASIDE * side) * step, side * _BETWEEN_SIDES * step], axis=1)
        # Turned and moved aside, so that fewer nodes are on the lines between others.
        turned = circle(self.f)[place] * np.exp(1j * (_TURN + math.pi / self.f * side))
        return centres + radius * real(turned)

    def vertex_part_numbers(self) -> NDArray[np.int64]:
        return np.arange(self.vertices) // self.f

    @property
    def layout_caption(self) -> str:
        return "Circles are the groups of one x (above) or of one m (below)."

    def element(self, vertex: int) -> tuple[int, int, int]:
        """(side, x, y) or (side, m, c) of a router (a vertex number)."""
        side, rest = divmod(vertex, self.f**2)
        return side, *divmod(rest, self.f)

    def vertex_label(self, vertex: int) -> str:
        return "({},{},{})".format(*self.element(vertex))
