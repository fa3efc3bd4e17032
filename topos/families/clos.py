"""Folded Clos networks of any number of levels: extended generalised fat trees (Oehring et al., IPPS 1995)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topos.constructions.layout import Points, levels
from topos.family import Centric, Family, ParameterError, param
from topos.graph import IntArray


def oversubscribed(family: str, links_up: int, ratio: float) -> int:
    """The hosts of a leaf with so many links up; raises ParameterError where that is no whole number."""
    hosts = links_up * ratio
    if not (hosts >= 1 and hosts % 1 == 0):
        raise ParameterError(f"{family}: oversubscription {ratio:g} of {links_up} links is no number of hosts")
    return int(hosts)


@dataclass(frozen=True)
class Clos(Family):
    """clos:m1xm2,w1xw2 -- XGFT(h; m1, ..., mh; w1, ..., wh): m1 ... mh hosts below h levels of switches.

    A node of level i has digits (d_h, ..., d_1): d_j is below w_j for j <= i and below m_j above that.  Nodes
    of levels i and i + 1 are linked if all digits but d_(i+1) agree, so a switch of level i leads to m_i nodes
    below it and to w_(i+1) above.  Nodes are numbered by level, and in a level by their digits.  Ports lead
    down first, in the order of digits, then up.

    clos:8x4,1x2 is a leaf-spine network: 4 leaves with 8 hosts each, 2 spines; clos:2x2x4,1x2x2 is fattree:4.
    A level is oversubscribed where m1 ... mi exceeds w1 ... w(i+1).  With oversubscription=R, m1 is left out:
    a leaf has R times as many hosts as links up.  clos:4,1x2,oversubscription=4 is clos:8x4,1x2.
    """

    name: ClassVar[str] = "clos"
    example: ClassVar[str] = "clos:2x3,1x2"
    centric: ClassVar[Centric] = "switch"
    part_name: ClassVar[str] = "pod"
    source: ClassVar[str] = "Oehring et al., On Generalized Fat Trees, IPPS 1995, section 2"

    down: tuple[int, ...] = param("nodes below each switch, level by level", low=1, high=4096)
    up: tuple[int, ...] = param("nodes above each node, level by level; the first is 1", low=1, high=4096)

    _: KW_ONLY
    oversubscription: float = param(
        "hosts of a leaf per link up, instead of the first of down", low=0, high=4096, default=0.0
    )

    def __post_init__(self) -> None:
        if self.oversubscription:
            hosts = oversubscribed(self.name, self.up[1] if len(self.up) > 1 else 0, self.oversubscription)
            object.__setattr__(self, "down", (hosts, *self.down))
            object.__setattr__(self, "oversubscription", 0.0)
        super().__post_init__()

    def check(self) -> None:
        if len(self.down) != len(self.up):
            raise ParameterError(f"{self.name}: down has {len(self.down)} levels, up has {len(self.up)}")
        if self.up[0] != 1:
            raise ParameterError(f"{self.name}: up begins with {self.up[0]}: a host has one link, so write 1")

    def sizes(self) -> list[int]:
        """The number of nodes of each level, from the hosts up."""
        m, w = self.down, self.up
        return [math.prod(w[:level]) * math.prod(m[level:]) for level in range(len(m) + 1)]

    def counts(self) -> tuple[int, int]:
        hosts, *switches = self.sizes()
        return hosts, sum(switches)

    def radices(self, level: int) -> tuple[int, ...]:
        """The radix of each digit at a level, the highest digit first."""
        return (*reversed(self.down[level:]), *reversed(self.up[:level]))

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The first node of each level, and the number of all nodes."""
        return np.concatenate([[0], np.cumsum(self.sizes())])

    def link_ends(self) -> IntArray:
        return np.concatenate([self._between(level) for level in range(len(self.down))]).astype(np.int32)

    def _between(self, level: int) -> NDArray[np.int64]:
        """The links of the nodes of a level to those above."""
        at = len(self.down) - 1 - level  # where the digit that changes stands
        shape = list(self.radices(level))
        below = np.arange(math.prod(shape)).reshape(shape)
        shape[at] = self.up[level]
        above = np.arange(math.prod(shape)).reshape(shape)
        low, high = np.expand_dims(below, at + 1), np.expand_dims(above, at)
        joined = np.broadcast_shapes(low.shape, high.shape)
        digit = np.indices(joined, sparse=True)
        first_up = 1 + (self.down[level - 1] if level else 0)
        columns = (
            self.starts[level] + low, first_up + digit[at + 1], self.starts[level + 1] + high, 1 + digit[at],
        )  # fmt: skip
        return np.stack([np.broadcast_to(column, joined).ravel() for column in columns], axis=1)

    def level(self, node: int) -> int:
        """The level of a node: 0 for hosts."""
        return int(np.searchsorted(self.starts, node, side="right")) - 1

    def digits(self, node: int) -> tuple[int, ...]:
        """(d_h, ..., d_1) of a node."""
        level = self.level(node)
        return tuple(map(int, np.unravel_index(node - int(self.starts[level]), self.radices(level))))

    def label(self, node: int) -> str:
        text = ".".join(map(str, self.digits(node)))
        return f"{level}/{text}" if (level := self.level(node)) else text

    def locate(self, text: str) -> int | None:
        level, _, digits = text.rpartition("/")
        parts = digits.split(".")
        if (level and not level.isdecimal()) or not all(part.isdecimal() for part in parts):
            return None
        height, values = int(level or 0), tuple(map(int, parts))
        if height > len(self.down) or len(values) != len(self.down):
            return None
        if any(v >= radix for v, radix in zip(values, self.radices(height), strict=True)):
            return None
        node = int(self.starts[height]) + int(np.ravel_multi_index(values, self.radices(height)))
        return node if self.label(node) == text else None

    def part_numbers(self) -> NDArray[np.int64]:
        """The highest digit of all below the top level; the nodes there belong to no part."""
        *lower, top = self.sizes()
        pods = [np.arange(size) // (size // self.down[-1]) for size in lower]
        return np.concatenate([*pods, np.full(top, -1)])

    def layout(self) -> Points:
        """A row per level, the hosts at the bottom."""
        return levels(self.sizes())

    @classmethod
    def instances(cls, most: int) -> Iterator[Clos]:
        """None: leafspine and fattree are the usual ones."""
        yield from ()

    @property
    def layout_caption(self) -> str:
        return f"Hosts in the lowest row; {len(self.down)} levels of switches above them."
