"""The states that packets are in while all links are up, and those in which they do otherwise after a failure.

Packets do as before until they come to such a state.  So all arrive if those do that begin there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dcnlab.verifier.arrays import kernel
from dcnlab.verifier.arrays.kernel import Behaviours, Longs, Tables
from topos.fabric import Fabric
from topos.graph import LinkState


class States(NamedTuple):
    """Rows of node, port, label and tag; for each the destination of its packets, and what the node does."""

    rows: Longs
    aims: Longs
    behaviours: Longs

    @classmethod
    def of(cls, rows: Sequence[Longs], destinations: Sequence[int], tables: Tables) -> States:
        """States by destination."""
        every = np.concatenate([*rows])
        order = np.argsort(every[:, 0], kind="stable")
        aims = np.repeat(np.array(destinations, np.int64), [len(some) for some in rows])[order]
        return cls(every[order], aims, looked_up(every[order], tables))

    def at(self, nodes: Longs) -> Longs:
        """The places of the states at some nodes."""
        first, last = (np.searchsorted(self.rows[:, 0], nodes, side) for side in ("left", "right"))
        return np.concatenate([np.zeros(0, np.int64), *map(np.arange, first, last)])

    def otherwise(
        self, changed: Longs, links: LinkState, fabric: Fabric, tables: Tables, behaviours: Behaviours
    ) -> Longs:
        """The places of states in which packets do otherwise with the tables of ``changed`` nodes, or leave
        by a link that is down; not of hosts that are cut off: they send nothing."""
        there = self.at(changed)
        differ = [there[looked_up(self.rows[there], tables) != self.behaviours[there]]]
        for a, port_a, b, port_b in fabric.link_ends[[*links.down]].tolist():
            for node, port in ((a, port_a), (b, port_b)):
                there = self.at(np.array([node]))
                if not fabric.is_end_host(node):
                    differ.append(there[np.isin(self.behaviours[there], leaving(behaviours, port))])
                elif fabric.port_count(node) > 1:
                    differ.append(there)
        return np.unique(np.concatenate(differ))


def looked_up(states: Longs, tables: Tables) -> Longs:
    """The behaviour of the entry that decides in each state."""
    found = np.zeros(len(states), np.int64)
    kernel.look_up(states, tables, found)
    return found


def leaving(behaviours: Behaviours, port: int) -> Longs:
    """The behaviours by which packets may leave by a port, and those of which that is not known."""
    rows = np.flatnonzero(behaviours.branches[:, 0] == port)
    numbers: Longs = np.unique(np.searchsorted(behaviours.start, rows, "right") - 1)
    return np.append(numbers, [kernel.NOTHING, kernel.MANY])
