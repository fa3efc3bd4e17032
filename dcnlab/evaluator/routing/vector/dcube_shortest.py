"""DCube's shortest source routes by arrays."""

from __future__ import annotations

from functools import partial
from typing import cast

from addressing.scheme import Scheme
from addressing.schemes.dcube_shortest import DCubeShortest
from dcnlab.evaluator.routing.forms import Ways
from dcnlab.evaluator.routing.reroute import along, rerouted
from dcnlab.evaluator.routing.vector.dcube import around, fits
from topos.graph import ALL_UP, LinkState


def ways(scheme: Scheme, links: LinkState) -> Ways | None:
    """The first shortest way, and round known failures a shortest one over what is up; None where
    flows are spread over parallel ways."""
    dcube, down = cast(DCubeShortest, scheme), scheme.blocked(links)
    if dcube.multipath:
        return None
    intact = partial(along, scheme.fabric, around(scheme, ALL_UP))
    if not down:
        return intact
    return rerouted(scheme.fabric, [intact], around(scheme, down), down, fits(dcube))
