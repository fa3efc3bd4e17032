"""DCube's shortest source routes, vectorised."""

from __future__ import annotations

from functools import partial
from typing import cast

import numpy as np

from addressing.scheme import Scheme
from addressing.schemes.dcube_shortest import DCubeShortest
from addressing.schemes.shortest import Shortest
from dcnlab.evaluator.graph import next_hops
from dcnlab.evaluator.graph.hop_graph import live_links
from dcnlab.evaluator.routing.forms import Lengths, SourceRoutes, Tables
from dcnlab.evaluator.routing.reroute import follow_next_hops, with_backup_routes
from dcnlab.evaluator.routing.vector import dcube, shortest
from dcnlab.evaluator.routing.vector.dcube import backup_next_hops, fits
from topos.graph import ALL_UP, IntArray, LinkState


def source_routes(scheme: Scheme, known_down: LinkState) -> SourceRoutes | None:
    """The first shortest path over the links that are up; None where flows use all parallel paths."""
    dcube, down = cast(DCubeShortest, scheme), scheme.all_failures(known_down)
    if dcube.multipath:
        return None
    intact = partial(follow_next_hops, scheme.fabric, backup_next_hops(scheme, ALL_UP))
    if not down:
        return intact
    return with_backup_routes(scheme.fabric, [intact], backup_next_hops(scheme, down), down, fits(dcube))


def always_shortest(scheme: Scheme) -> bool:
    """The first shortest path, unless flows use all parallel paths or the tag leaves no room for a
    backup path."""
    return not scheme.known and not cast(DCubeShortest, scheme).multipath


def lengths(scheme: Scheme) -> Lengths | None:
    """The lengths of the same paths, from the next hops of all nodes."""
    if cast(DCubeShortest, scheme).multipath:
        return None
    fabric = scheme.fabric
    rule, usable = shortest.rule(Shortest(fabric), ALL_UP), live_links(fabric)
    none = np.zeros(0, dtype=np.int32)

    def hops_of(sources: IntArray, destinations: IntArray, cost: IntArray) -> IntArray:
        peer = fabric.adjacency.peer
        hops = next_hops.hops_to(rule(destinations), destinations, peer, usable, cost, none)
        return hops[:, sources]

    return hops_of


def table_counts(scheme: Scheme) -> Tables:
    """As ``dcube``."""
    return dcube.table_counts(scheme)
