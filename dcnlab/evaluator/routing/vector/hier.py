"""Hierarchical routing on any network, vectorised: as ``hrsw``, where ties go to one port."""

from typing import cast

from addressing.scheme import Scheme
from addressing.schemes.hier import Hier
from dcnlab.evaluator.routing.forms import PairLengths, Rule
from dcnlab.evaluator.routing.vector import hrsw
from dcnlab.evaluator.routing.vector.hrsw import table_counts
from topos.graph import LinkState

__all__ = ["pair_lengths", "rule", "table_counts"]


def rule(scheme: Scheme, known_down: LinkState) -> Rule | None:
    """That of ``hrsw``; None where destinations are spread."""
    return None if cast(Hier, scheme).ties == "spread" else hrsw.rule(scheme, known_down)


def pair_lengths(scheme: Scheme) -> PairLengths | None:
    """Those of ``hrsw``; None where destinations are spread."""
    return None if cast(Hier, scheme).ties == "spread" else hrsw.pair_lengths(scheme)
