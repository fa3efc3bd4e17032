"""The vectorised forms of a routing scheme, as types: see :mod:`dcnlab.evaluator.routing.vector`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcnlab.evaluator.graph.pairs import Pairs
from dcnlab.evaluator.graph.sweeps import Levels
from topos.arrays import Longs
from topos.graph import IntArray


class TableCounts(NamedTuple):
    """Per node its table's entries, the bits that they compare, and their next hops, each summed."""

    entries: Longs
    compared: Longs
    next_hops: Longs


#: Progress: called now and then with the share that is done, from 0 to 1.
Done = Callable[[float], None]
#: destinations -> links[destination, node]
Rule = Callable[[IntArray], IntArray]
#: sources, destinations -> links[pair, hop]
SourceRoutes = Callable[[IntArray, IntArray], IntArray]
#: destinations -> shares[destination, link]
Shares = Callable[[IntArray], NDArray[np.float64]]
#: sources, destinations -> (row starts, links, shares): the links that the packets of each pair cross
Crossings = Callable[[IntArray, IntArray], tuple[Longs, IntArray, NDArray[np.float64]]]
#: sources, destinations, cost -> hops[destination, source]
Lengths = Callable[[IntArray, IntArray, IntArray], IntArray]
#: sources, destinations, cost -> hops[pair]
PairLengths = Callable[[IntArray, IntArray, IntArray], IntArray]
#: sources, destination, cost -> chance[source, hops]
Spread = Callable[[IntArray, int, IntArray], NDArray[np.float64]]
#: (sources, destinations, distances) of some pairs, and of further ones; cost -> pairs[hops, distance]
Joint = Callable[[Iterable[tuple[IntArray, IntArray, Levels]], IntArray], NDArray[np.float64]]
#: pairs -> packets[link]
Loads = Callable[[Pairs], NDArray[np.float64]]
#: nodes -> sizes of their tables
Tables = Callable[[IntArray], TableCounts]
