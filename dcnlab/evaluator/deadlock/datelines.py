"""Two virtual channels per link of a torus, told apart by datelines (Dally and Seitz, 1987, section 3).

A packet that still has to cross the wraparound link of a ring uses the first channel, all others the second.
So a ring of links becomes a line of channels.  CLOT's routing uses the same two (Wang et al., section 7.3).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from addressing.algorithms.grid import Grid
from dcnlab.evaluator.deadlock.channels import Channels
from topos.arrays import Longs
from topos.fabric import Fabric
from topos.graph import NONE, IntArray

#: The virtual channels of each link.
COUNT = 2
#: Per channel, whether packets to a destination use the second virtual channel.
Second = Callable[[int], IntArray]


def second_channels(fabric: Fabric, channels: Channels) -> Second | None:
    """Which virtual channel packets to a destination use; None where the channels are not those of a torus."""
    if not (Grid.fits(fabric.family) and fabric.family.grid_wraps) or fabric.size > fabric.servers:
        return None
    grid = Grid.of(fabric)
    at = np.array([grid.coordinates(node) for node in range(fabric.size)])
    tail = at[channels.tail]
    head = np.where(channels.head[:, None] == NONE, tail, at[channels.head])
    dimension, rows = (tail != head).argmax(axis=1), np.arange(len(tail))
    size, here = np.array(grid.sizes)[dimension], tail[rows, dimension]
    step = (head[rows, dimension] - here) % size
    if ((tail != head).sum(axis=1) > 1).any() or ((step > 1) & (step < size - 1)).any():
        return None
    return lambda to: np.where(step == 1, here < at[to][dimension], here > at[to][dimension]).astype(np.int32)


def doubled(channels: Channels, size: int) -> Channels:
    """Channel c becomes 2c, its first virtual channel, and 2c + 1."""
    return Channels.of(size, np.repeat(channels.tail, COUNT), np.repeat(channels.head, COUNT))


def divide(channels: Channels, into: Channels, numbers: IntArray, second: IntArray) -> Longs:
    """The dependencies ``numbers`` of packets to one destination, between virtual channels."""
    before, after = channels.ends(numbers)
    return into.numbers(COUNT * before + second[before], COUNT * after + second[after])
