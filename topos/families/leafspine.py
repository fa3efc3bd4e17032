"""Leaf-spine networks: folded Clos networks of two levels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topos.constructions.layout import Points
from topos.families.clos import Clos, oversubscribed
from topos.family import Centric, Family, ParameterError, param
from topos.graph import IntArray


@dataclass(frozen=True)
class LeafSpine(Family):
    """leafspine:leaves,spines,hosts -- each leaf has ``hosts`` hosts and a link to each spine.

    Ports of leaves lead to hosts first, then to the spines; port l + 1 of a spine leads to leaf l.  Leaves are
    oversubscribed hosts : spines: leafspine:4,2,oversubscription=3 is leafspine:4,2,6.
    """

    name: ClassVar[str] = "leafspine"
    example: ClassVar[str] = "leafspine:3,2,2"
    centric: ClassVar[Centric] = "switch"
    part_name: ClassVar[str] = "leaf"
    source: ClassVar[str] = (
        "Oehring et al., On Generalized Fat Trees, IPPS 1995: XGFT(2; hosts, leaves; 1, spines)"
    )

    leaves: int = param("leaf switches", low=1, high=4096)
    spines: int = param("spine switches", low=1, high=4096)
    hosts: int = param("hosts per leaf", low=1, high=4096, default=0, positional=True)
    _: KW_ONLY
    oversubscription: float = param("hosts per spine, instead of hosts", low=0, high=4096, default=0.0)

    def __post_init__(self) -> None:
        if self.oversubscription:
            if self.hosts:
                raise ParameterError("leafspine: write hosts or oversubscription, not both")
            object.__setattr__(self, "hosts", oversubscribed(self.name, self.spines, self.oversubscription))
            object.__setattr__(self, "oversubscription", 0.0)
        super().__post_init__()

    @property
    def clos(self) -> Clos:
        """The same network as a folded Clos network."""
        return Clos((self.hosts, self.leaves), (1, self.spines))

    @classmethod
    def instances(cls, most: int) -> Iterator[LeafSpine]:
        """Leaves that are not oversubscribed, of as many ports as the spines."""
        for half in range(1, int((most // 2) ** 0.5) + 1):
            yield cls(2 * half, half, half)

    def counts(self) -> tuple[int, int]:
        return self.hosts * self.leaves, self.leaves + self.spines

    def link_ends(self) -> IntArray:
        return self.clos.link_ends()

    def label(self, node: int) -> str:
        servers, _ = self.counts()
        if node < servers:
            return f"{node // self.hosts}.{node % self.hosts}"
        number = node - servers
        return f"leaf.{number}" if number < self.leaves else f"spine.{number - self.leaves}"

    def part_numbers(self) -> NDArray[np.int64] | None:
        return self.clos.part_numbers()

    def layout(self) -> Points:
        """Hosts, leaves and spines, one row above the other."""
        return self.clos.layout()

    @property
    def layout_caption(self) -> str:
        return "Hosts, the leaves above them, the spines above all."
