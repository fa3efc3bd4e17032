"""A network with switches and links beside those of its family: ``fattree:4 + s20 + s0--s20:1``.

What is added comes last, so every node, port and link of before keeps its number.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topos.errors import SpecError
from topos.fabric import Fabric
from topos.family import Centric, Family
from topos.graph import IntArray

#: The name of a switch that is added: an interface is called ``NAME-eth1``, and has 15 characters at most.
NAME = re.compile(r"[A-Za-z][A-Za-z0-9]{0,8}")
_LINK = re.compile(r"([^\s:]+?)(?::(\d{1,5}))?--([^\s:]+?)(?::(\d{1,5}))?")
_BETWEEN = " + "


def split(text: str) -> tuple[str, tuple[str, ...]]:
    """The specification of the network that is extended, and what is added; nothing in other specifications."""
    base, *added = text.split(_BETWEEN)
    if added and all(NAME.fullmatch(one) or _LINK.fullmatch(one) for one in added):
        return base, tuple(added)
    return text, ()


@dataclass(frozen=True, eq=False)
class Grown(Family):
    """``base`` with what is ``added``, in this order: switches by name, and links as ``A:port--B:port``.

    A port that is not stated is the next one."""

    name: ClassVar[str] = "grown"
    example: ClassVar[str] = ""
    centric: ClassVar[Centric] = "symmetric"
    source: ClassVar[str] = "the network itself"

    base: Fabric
    added: tuple[str, ...]

    def check(self) -> None:
        for name in self._new:
            if name in map(self.base.name, range(self.base.size)) or self._new.count(name) > 1:
                raise SpecError(f"there is a {name} already")
        if problem := Fabric.of(self).problem():
            raise SpecError(f"{self.spec}: {problem}")

    @cached_property
    def _new(self) -> tuple[str, ...]:
        """The names of the switches that are added."""
        return tuple(one for one in self.added if NAME.fullmatch(one))

    def counts(self) -> tuple[int, int]:
        return self.base.servers, self.base.switches + len(self._new)

    def link_ends(self) -> IntArray:
        return np.concatenate([self.base.link_ends, self._rows])

    @cached_property
    def _rows(self) -> IntArray:
        highest = {node: self.base.port_count(node) for node in range(self.base.size)}
        rows = []
        for a, a_port, b, b_port in (match.groups() for one in self.added if (match := _LINK.fullmatch(one))):
            row = []
            for name, stated in ((a, a_port), (b, b_port)):
                node = self._node(name)
                port = int(stated) if stated else highest.get(node, 0) + 1
                highest[node] = max(port, highest.get(node, 0))
                row += [node, port]
            rows.append(row)
        return np.array(rows, dtype=np.int32).reshape(-1, 4)

    def _node(self, name: str) -> int:
        if name in self._new:
            return self.base.size + self._new.index(name)
        try:
            return self.base.index(name)
        except KeyError as error:
            raise SpecError(str(error.args[0])) from None

    @property
    def spec(self) -> str:
        return _BETWEEN.join((self.base.spec, *self.added))

    @property
    def title(self) -> str:
        return _BETWEEN.join((self.base.family.title, *self.added))

    def label(self, node: int) -> str:
        return self.base.family.label(node) if node < self.base.size else self._new[node - self.base.size]

    def node_names(self) -> Mapping[int, str]:
        usual = {self.base.size + place: f"s{self.base.switches + place}" for place in range(len(self._new))}
        added = {self.base.size + place: name for place, name in enumerate(self._new)}
        given = {node: name for node, name in added.items() if name != usual[node]}
        return {**self.base.family.node_names(), **given}

    def locate(self, text: str) -> int | None:
        return self.base.size + self._new.index(text) if text in self._new else self.base.family.locate(text)

    def routers(self) -> Collection[int]:
        return self.base.family.routers()

    def layout(self) -> NDArray[np.float64] | None:
        points = self.base.family.layout()
        if points is None:
            return None
        places = [*points]
        for node in range(self.base.size, self.base.size + len(self._new)):
            ends = self._rows[(self._rows[:, [0, 2]] == node).any(axis=1)][:, [0, 2]]
            near = [places[other] for other in ends.ravel() if other < len(places)]
            places.append(np.mean(near or points, axis=0) + 0.3)
        return np.array(places)

    def notes(self) -> Sequence[str]:
        return self.base.family.notes()

    def link_attributes(self) -> Sequence[Mapping[str, Any]]:
        stated = self.base.family.link_attributes()
        return (*stated, *({} for _ in self._rows)) if stated else ()
