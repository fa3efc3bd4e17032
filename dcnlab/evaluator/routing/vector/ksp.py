"""K shortest paths: no vectorised form, as each pair of vertices has a search of its own."""

from __future__ import annotations

from typing import cast

from addressing.scheme import Scheme
from addressing.schemes.ksp import Ksp


def searches(scheme: Scheme) -> int:
    """All ordered pairs of vertices; a table has entries of each."""
    vertices = len(cast(Ksp, scheme).vertices)
    return vertices * (vertices - 1)
