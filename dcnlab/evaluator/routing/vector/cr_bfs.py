"""CR routing, nearest end first, vectorised: the routes of ``cr`` with another order of words."""

from __future__ import annotations

from addressing.scheme import Scheme
from dcnlab.evaluator.routing.forms import Lengths, SourceRoutes
from dcnlab.evaluator.routing.vector.cr import lengths_by_period, routes
from topos.graph import LinkState


def source_routes(scheme: Scheme, known_down: LinkState) -> SourceRoutes | None:
    """A shortest of the words with the best end; None where ``cr`` has no such form."""
    return routes(scheme, known_down, nearest=True)


def lengths(scheme: Scheme) -> Lengths | None:
    """As ``cr``."""
    return lengths_by_period(scheme, nearest=True)
