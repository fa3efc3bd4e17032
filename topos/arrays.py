"""Names of numpy's array types."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Numbers of nodes, ports and links.
IntArray = NDArray[np.int32]
#: Numbers that 32 bits may not hold: offsets, counts, bytes.
Longs = NDArray[np.int64]
#: Sets of bits, 64 in a word.
Words = NDArray[np.uint64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
