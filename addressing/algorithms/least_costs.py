"""Paths of least total cost over the links that are up, by Dijkstra's algorithm (scipy)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topos.fabric import Fabric
from topos.graph import NONE, LinkState

#: The size of the cache of distances, in bytes.
_KEPT = 1 << 28


@dataclass(frozen=True, eq=False)
class LeastCosts:
    """Least costs in a fabric without the links in ``down``; ``costs`` has a positive whole number per link."""

    fabric: Fabric
    costs: NDArray[np.int64]
    down: LinkState

    def to(self, node: int) -> NDArray[np.float64]:
        """Per node the cost of the cheapest path to ``node``; infinite where there is none.  Costs are whole
        numbers below 2^53, so sums are exact."""
        if node not in self._kept:
            self.prepare((node,))
        self._kept.move_to_end(node)
        return self._kept[node]

    def prepare(self, nodes: Sequence[int]) -> None:
        """Compute the costs to several nodes at once."""
        from scipy.sparse.csgraph import dijkstra  # half a second that other schemes need not wait

        most = max(16, _KEPT // (8 * self.fabric.size))
        wanted = [node for node in nodes if node not in self._kept][:most]
        while self._kept and len(self._kept) + len(wanted) > most:
            self._kept.popitem(last=False)
        if wanted:
            rows = dijkstra(self._matrix, directed=False, indices=wanted)
            self._kept.update(zip(wanted, rows, strict=True))

    def next_hop_ports(self, at: int, node: int, links: LinkState) -> Iterator[int]:
        """The ports of ``at`` on cheapest paths to ``node``, in port order, without those whose links are down
        in ``links``.  Costs are positive, so each brings a packet nearer."""
        to = self.to(node)
        if not np.isfinite(to[at]) or at == node:
            return
        for port, end in self.fabric.ports(at, self.down):
            link = self.fabric.link_at(at, port)
            if to[end.node] + self.costs[link] == to[at] and link not in links.down:
                yield port

    @cached_property
    def _kept(self) -> OrderedDict[int, NDArray[np.float64]]:
        """The cache: costs by destination, the least recently used first."""
        return OrderedDict()

    @cached_property
    def _matrix(self) -> Any:
        """The cost of the cheapest link between each two neighbours, as a sparse matrix."""
        from scipy.sparse import coo_array

        ends, size = self.fabric.link_ends[:, [0, 2]].astype(np.int64), self.fabric.size
        up = np.ones(len(ends), bool)
        up[[link for link in self.down.down if link != NONE]] = False
        low, high, cost = ends[up].min(axis=1), ends[up].max(axis=1), self.costs[up]
        order = np.lexsort((cost, low * size + high))
        _, first = np.unique((low * size + high)[order], return_index=True)
        kept = order[first]
        return coo_array((cost[kept].astype(float), (low[kept], high[kept])), shape=(size, size)).tocsr()
