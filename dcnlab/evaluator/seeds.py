"""What seeds draw: a random network, traffic with its paths, and failures.

One seed draws all three, or each has its own, which tells apart how much each of them varies.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from topos.registry import with_seed, without_seed
from topos.spec import SpecError

#: What a seed draws.
SOURCES = ("graph", "traffic", "failures")
#: The most seeds of each.
_MOST = 10_000


@dataclass(frozen=True)
class Draw:
    """The seeds of one evaluation; that of traffic also draws paths and samples."""

    graph: int
    traffic: int
    failures: int

    @classmethod
    def of(cls, seed: int) -> Draw:
        """One seed for everything."""
        return cls(seed, seed, seed)


def read(text: str) -> list[Draw]:
    """``5``: seeds 1 to 5, each for everything; ``graph=3,traffic=4,failures=2``: all combinations of so many
    seeds, 1 of what is not named.  Raises SpecError with one line."""
    if text.isdecimal() and 1 <= int(text) <= _MOST:
        return [Draw.of(seed) for seed in range(1, int(text) + 1)]
    counts = dict.fromkeys(SOURCES, 0)
    for part in text.split(","):
        source, _, count = part.strip().partition("=")
        fits = source in counts and not counts[source] and count.isdecimal() and 1 <= int(count) <= _MOST
        if not fits:
            raise SpecError(f"seeds: cannot read {text!r}: write 5, or {','.join(f'{s}=5' for s in SOURCES)}")
        counts[source] = int(count)
    return [Draw(*one) for one in itertools.product(*(range(1, max(1, counts[s]) + 1) for s in SOURCES))]


def network_of(topology: str, seed: int) -> dict[str, str | int | None]:
    """The columns of a network: its topology without a seed, and the seed that draws it, or None."""
    plain, own = without_seed(with_seed(topology, seed))
    return {"topology": plain, "graph_seed": own}
