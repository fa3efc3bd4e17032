"""The vectorised forms that a scheme can have: see the package's text."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dcnlab.evaluator.graph.pairs import Pairs
from topos.graph import IntArray

Rule = Callable[[IntArray], IntArray]
SourceRoutes = Callable[[IntArray, IntArray], IntArray]
Shares = Callable[[IntArray], NDArray[np.float64]]
Lengths = Callable[[IntArray, IntArray, IntArray], IntArray]
Loads = Callable[[Pairs], NDArray[np.float64]]
