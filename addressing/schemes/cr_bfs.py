"""CR routing that tries short words first: the variant of ``cr`` that cannot loop.

Of the words that end nearest to the destination a shortest one is taken.  The rest of that word is among
the next node's words, so (distance of the best end, letters to it) falls at every hop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from addressing.schemes.cr import Cr


@dataclass(frozen=True)
class CrBfs(Cr):
    """Chordal-ring routing, breadth first."""

    name: ClassVar[str] = "cr-bfs"
    summary: ClassVar[str] = "greedy routing on a Borel graph's chordal ring, breadth-first look-ahead d"
    source: ClassVar[str] = "Tang and Arden, Borel Cayley graphs, section 4; the order is this project's"
    always_delivers: ClassVar[bool] = True

    def words(self, at: int, came: int) -> Iterator[tuple[int, int]]:
        words = [(port, end, at) for port, end in self.ring.order[at] if end != came]
        for _ in range(self.d):
            yield from ((port, end) for port, end, _ in words)
            words = [
                (port, further, end)
                for port, end, before in words
                for _, further in self.ring.order[end]
                if further != before
            ]
