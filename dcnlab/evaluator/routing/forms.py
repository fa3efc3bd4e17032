"""The vectorised forms of a routing scheme, as types: see :mod:`dcnlab.evaluator.routing.vector`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dcnlab.evaluator.graph.pairs import Pairs
from topos.graph import IntArray

#: destinations -> links[destination, node]
Rule = Callable[[IntArray], IntArray]
#: sources, destinations -> links[pair, hop]
SourceRoutes = Callable[[IntArray, IntArray], IntArray]
#: destinations -> shares[destination, link]
Shares = Callable[[IntArray], NDArray[np.float64]]
#: sources, destinations, cost -> hops[destination, source]
Lengths = Callable[[IntArray, IntArray, IntArray], IntArray]
#: pairs -> packets[link]
Loads = Callable[[Pairs], NDArray[np.float64]]
