"""Your scheme: paths in a ring with chords."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from addressing.header import Forward, Header
from addressing.rule import RuleScheme
from addressing.scheme import ForwardingClass
from topos.family import Family


@dataclass(frozen=True)
class Mine(RuleScheme):
    """The neighbour that is nearest to the destination round the ring."""

    name: ClassVar[str] = "mine"
    summary: ClassVar[str] = "my scheme for rings with chords"
    source: ClassVar[str] = "exercise 6"

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        return None if family.name == "chordal" else "it needs a ring with chords"

    @property
    def vertex_bits(self) -> int:
        return (self.fabric.servers - 1).bit_length()

    def vertex_label(self, vertex: int) -> int:
        return vertex

    def find(self, label: int) -> int | None:
        return label if label < self.fabric.servers else None

    def rule(self, at: int, vertex: int, header: Header) -> Forward | None:
        size, chord = self.fabric.servers, self.fabric.family.chord
        ahead = (vertex - at) % size
        steps = {1: 1, 2: -1, 3: chord, 4: -chord}

        def left(port: int) -> int:
            distance = (ahead - steps[port]) % size
            return min(distance, size - distance)

        return Forward(min(steps, key=left))

    def rule_bound(self) -> int:
        return self.fabric.servers

    def rule_classes(self, at: int) -> Iterable[ForwardingClass]:
        return self.covered(at)
