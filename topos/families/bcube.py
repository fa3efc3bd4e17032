"""BCube (Guo et al., SIGCOMM 2009): servers with k+1 ports, k+1 levels of n-port switches."""

from __future__ import annotations

import bisect
import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topos.constructions.layout import Points, levels
from topos.family import Centric, Family, ParameterError, param
from topos.graph import IntArray


@dataclass(frozen=True)
class BCube(Family):
    """bcube:n,k -- n^(k+1) servers with addresses a_k ... a_0 in base n.

    The switch of level l and index a (the address without digit l) joins the n servers that differ
    in digit l only: its port d + 1 to port l + 1 of the server whose digit is d.  Switches are numbered
    level by level.  ``parts`` makes a partial BCube_k of that many full BCube_(k-1) on all n^k switches
    of level k: the digit a_k takes ``parts`` values.
    """

    name: ClassVar[str] = "bcube"
    example: ClassVar[str] = "bcube:4,1"
    centric: ClassVar[Centric] = "server"
    part_name: ClassVar[str] = "sub-BCube"
    source: ClassVar[str] = "Guo et al., BCube, SIGCOMM 2009, section 3; partial: section 5.1"

    n: int = param("ports per switch", low=2)
    k: int = param("levels of switches, minus one", low=0, high=16)
    parts: int | None = param("full BCube_(k-1) in a partial structure; default: all n", low=2, default=None)

    def check(self) -> None:
        if self.parts is not None and self.parts > self.n:
            raise ParameterError(f"bcube: parts must be at most n = {self.n}, not {self.parts}")

    @property
    def radices(self) -> tuple[int, ...]:
        """The number of values of each digit, a_0 first: n, and at level k the parts."""
        return (self.n,) * self.k + (self.parts or self.n,)

    @cached_property
    def level_starts(self) -> tuple[int, ...]:
        """Per level its first switch (a node number); then the number of nodes."""
        top: int = self.n**self.k
        lower = self.radices[-1] * top // self.n
        servers = self.radices[-1] * top
        return (*(servers + level * lower for level in range(self.k + 1)), servers + self.k * lower + top)

    def counts(self) -> tuple[int, int]:
        return self.level_starts[0], self.level_starts[-1] - self.level_starts[0]

    def link_ends(self) -> IntArray:
        node = np.arange(self.level_starts[0])
        rows = []
        for level in range(self.k + 1):
            low = self.n**level
            switch = self.level_starts[level] + node // (low * self.n) * low + node % low
            digit = node // low % self.n
            port = np.full_like(node, level + 1)
            rows.append(np.stack([node, port, switch, digit + 1], axis=1))
        return np.concatenate(rows).astype(np.int32)

    def digits(self, server: int) -> tuple[int, ...]:
        """(a_0, ..., a_k): index l is the digit of level l."""
        return tuple(server // self.n**level % self.n for level in range(self.k + 1))

    def server(self, digits: tuple[int, ...]) -> int:
        """The server with these digits, a_0 first."""
        return sum(digit * self.n**level for level, digit in enumerate(digits))

    def level(self, switch: int) -> int:
        """The level of a switch (a node number)."""
        return bisect.bisect_right(self.level_starts, switch, hi=self.k + 1) - 1

    def layout(self) -> Points:
        """Servers in a row; above them the switches of level 0, then those of level 1, and so on."""
        starts = (0, *self.level_starts)
        return levels([after - first for first, after in itertools.pairwise(starts)])

    @property
    def layout_caption(self) -> str:
        levels = (
            ["level-0"]
            if not self.k
            else ["level-0", "level-1"]
            if self.k == 1
            else [f"level-0 to level-{self.k}"]
        )
        colour = {0: "", 1: " Same colour: same level-0 switch."}.get(
            self.k, f" Same colour: same BCube of levels 0 to {self.k - 1}."
        )
        return f"Servers below, {' and '.join(levels)} switches above.{colour}"

    def part_words(self, part: int) -> str:
        return f"shares level-0 switch s{part}" if self.k == 1 else super().part_words(part)

    def part_numbers(self) -> NDArray[np.int64]:
        """The BCube_(k-1) of servers and lower switches; switches of level k belong to none."""
        top = self.level_starts[self.k]
        node = np.arange(self.level_starts[-1])
        starts = np.array((0, *self.level_starts[:-1]))
        level = np.searchsorted(starts, node, side="right") - 1
        sizes = np.diff((*starts, self.level_starts[-1]))
        number = (node - starts[level]) * self.radices[-1] // sizes[level]
        return np.where(node < top, number, -1).astype(np.int64)

    def label(self, node: int) -> str:
        if node < self.level_starts[0]:
            return "(" + ",".join(map(str, reversed(self.digits(node)))) + ")"
        level = self.level(node)
        rest = node - self.level_starts[level]
        digits = [rest // self.n**place % self.n for place in reversed(range(self.k))]
        return f"<{level};" + ",".join(map(str, digits)) + ">"
