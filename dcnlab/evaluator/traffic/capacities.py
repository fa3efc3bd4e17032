"""Capacities of links: 1, or what a file states, relative to the commonest rate that it states; and delays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topos.arrays import Floats, Longs
from topos.fabric import Fabric
from topos.files.link_attributes import bits_per_second, milliseconds
from topos.graph import NONE


@dataclass(frozen=True, eq=False)
class Timing:
    """Per directed link: nanoseconds to send a packet, and from one end to the other."""

    transmission: Longs
    propagation: Longs

    @classmethod
    def of(cls, fabric: Fabric, transmission: int, propagation: int) -> Timing:
        """Those of a link that states neither rate nor delay are given."""
        times = np.rint(transmission / port_capacities(fabric)).astype(np.int64)
        stated = [milliseconds(fabric.attributes(link).get("delay")) for link in range(len(fabric.link_ends))]
        delays = np.array([propagation if one is None else round(one * 1e6) for one in stated], np.int64)
        link = fabric.adjacency.link
        return cls(np.maximum(times, 1), np.where(link == NONE, propagation, delays[link]))


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
