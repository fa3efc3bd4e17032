"""Capacities of links: 1, or what a file states, relative to the commonest rate that it states."""

from __future__ import annotations

import numpy as np

from topos.arrays import Floats
from topos.fabric import Fabric
from topos.files.link_attributes import bits_per_second
from topos.graph import NONE


def link_capacities(fabric: Fabric) -> Floats:
    """Per link its capacity in each direction; 1 where no rate is stated."""
    rates = [bits_per_second(fabric.attributes(link).get("rate")) for link in range(len(fabric.link_ends))]
    stated = [rate for rate in rates if rate]
    if not stated:
        return np.ones(len(rates))
    values, counts = np.unique(stated, return_counts=True)
    return np.array([rate / values[counts.argmax()] if rate else 1.0 for rate in rates])


def port_capacities(fabric: Fabric) -> Floats:
    """The same per directed link of ``fabric.adjacency``; 1 for unused ports."""
    link = fabric.adjacency.link
    return np.where(link == NONE, 1.0, link_capacities(fabric)[link])
