"""What all pairs of a network cost, said before the work.

Time grows with the pairs, or with the nodes where all are alike: a small network tells that of a large one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

#: More pairs are said before the work.
_MANY = 10**10


def say_pairs(topologies: Iterable[str], hint: str, of: str = "servers") -> None:
    """Say of each topology how many pairs there are, where they are very many, and ``hint``: what takes less.

    ``of``: all pairs of ``servers``, of ``all`` nodes, or others, which are fewer."""
    from topos.registry import parse

    for topology in dict.fromkeys(topologies if of in ("servers", "all") else ()):
        servers, switches = parse(topology).counts()
        nodes = servers + (switches if of == "all" or not servers else 0)
        if nodes * (nodes - 1) > _MANY:
            print(
                f"{topology}: {nodes * (nodes - 1):,} pairs, which take up to 100 times as long as those of"
                f" a network with a tenth of the nodes; {hint}",
                file=sys.stderr,
                flush=True,
            )
