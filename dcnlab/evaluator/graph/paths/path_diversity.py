"""Path diversity of a fabric, independent of routing: edge-disjoint paths between two servers.

Plain hosts with one link have a single path; the paths counted are then those between their switches.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import maximum_flow

from dcnlab.evaluator.graph.hop_graph import attachment_points
from topos.arrays import Floats
from topos.fabric import Fabric
from topos.graph import ALL_UP, LinkState


def capacity_matrix(fabric: Fabric, down: LinkState = ALL_UP) -> csr_array:
    """The symmetric matrix of the number of links between two nodes, without those that are ``down``."""
    keep = np.ones(len(fabric.link_ends), dtype=np.bool_)
    keep[list(down.down)] = False
    a, b = fabric.link_ends[keep, 0], fabric.link_ends[keep, 2]
    ends = np.concatenate([a, b]), np.concatenate([b, a])
    ones = np.ones(len(ends[0]), dtype=np.int32)
    return coo_array((ones, ends), shape=(fabric.size, fabric.size)).tocsr()


def between_switches(fabric: Fabric) -> bool:
    """Whether paths are counted between switches: no server relays, and each has one link."""
    counts = np.bincount(fabric.link_ends[:, [0, 2]].ravel(), minlength=fabric.size)[: fabric.servers]
    return not fabric.relaying and bool((counts == 1).all())


def path_diversity(
    fabric: Fabric, pairs: int, seed: int, down: LinkState = ALL_UP, failed: Collection[int] = ()
) -> Floats:
    """The number of edge-disjoint paths (maximum flow) between each of ``pairs`` random pairs of servers, or of
    their switches, that did not fail; empty where fewer than two are left."""
    rng = np.random.default_rng([seed, 4])
    matrix = capacity_matrix(fabric, down)
    alive = np.setdiff1d(np.arange(fabric.servers), np.fromiter(failed, np.int64, len(failed)))
    if between_switches(fabric):
        switches = np.unique(attachment_points(fabric)[0][alive])
        alive = np.setdiff1d(switches, np.fromiter(failed, np.int64, len(failed)))
    if len(alive) < 2:
        return np.zeros(0)
    drawn = (rng.choice(alive, 2, replace=False).tolist() for _ in range(pairs))
    return np.array([maximum_flow(matrix, a, b).flow_value for a, b in drawn], dtype=np.float64)
