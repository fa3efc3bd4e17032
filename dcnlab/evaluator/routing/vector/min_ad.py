"""Minimal adaptive routing, vectorised: every packet takes as many hops as its torus distance."""

from __future__ import annotations

from typing import cast

from addressing.scheme import Scheme
from addressing.schemes.min_ad import MinimalAdaptive
from dcnlab.evaluator.routing.forms import Lengths, PairLengths
from dcnlab.evaluator.routing.torus_distances import torus_distance_of_pairs, torus_distances


def lengths(scheme: Scheme) -> Lengths:
    """The torus distance: every hop is a torus link to a nearer server."""
    return torus_distances(cast(MinimalAdaptive, scheme).torus.sizes)


def pair_lengths(scheme: Scheme) -> PairLengths:
    """The same for single pairs."""
    return torus_distance_of_pairs(cast(MinimalAdaptive, scheme).torus.sizes)
