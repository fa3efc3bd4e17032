"""Routing on Cayley graphs by sorting, vectorised: table sizes."""

from __future__ import annotations

from typing import cast

import numpy as np

from addressing.scheme import Scheme
from dcnlab.evaluator.routing.forms import Tables
from dcnlab.evaluator.routing.tables.table_counts import by_kind
from topos.arrays import Longs
from topos.bases.cayley import CayleyGraph
from topos.families.butterfly import Butterfly
from topos.graph import IntArray


def symmetric(scheme: Scheme) -> bool:
    """The port depends only on where the destination has the vertex's own symbols: on u^-1 v."""
    return True


def table_counts(scheme: Scheme) -> Tables | None:
    """All vertices have tables of equal size, on the butterfly all of a level; None with known failures.

    The masks of the sorting rules do not depend on the vertex.  On the butterfly the prefixes at two
    vertices of a level are equal after an exclusive or of all words.
    """
    family = cast(CayleyGraph, scheme.fabric.family)

    def level(nodes: IntArray) -> Longs:
        if not isinstance(family, Butterfly):
            return np.zeros(len(nodes), dtype=np.int64)
        return np.array([family.element(family.vertex(node))[0] for node in nodes.tolist()], dtype=np.int64)

    return None if scheme.known else by_kind(scheme, level)
