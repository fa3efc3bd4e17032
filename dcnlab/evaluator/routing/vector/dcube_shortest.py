"""DCube's shortest source routes, vectorised."""

from __future__ import annotations

from functools import partial
from typing import cast

from addressing.scheme import Scheme
from addressing.schemes.dcube_shortest import DCubeShortest
from dcnlab.evaluator.routing.forms import SourceRoutes, Tables
from dcnlab.evaluator.routing.reroute import follow_next_hops, with_backup_routes
from dcnlab.evaluator.routing.vector import dcube
from dcnlab.evaluator.routing.vector.dcube import backup_next_hops, fits
from topos.graph import ALL_UP, LinkState


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


def table_counts(scheme: Scheme) -> Tables:
    """As ``dcube``."""
    return dcube.table_counts(scheme)
