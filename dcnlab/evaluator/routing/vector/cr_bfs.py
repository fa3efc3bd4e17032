"""CR routing nearest first, by arrays: the walks of ``cr`` with another order of words."""

from __future__ import annotations

from addressing.scheme import Scheme
from dcnlab.evaluator.routing.forms import SourceRoutes
from dcnlab.evaluator.routing.vector.cr import routes
from topos.graph import LinkState


def source_routes(scheme: Scheme, links: LinkState) -> SourceRoutes | None:
    """Of the words with the best end a shortest one; None where ``cr`` has none."""
    return routes(scheme, links, nearest=True)
