"""Hierarchical routing on any network, vectorised: as ``hrsw``."""

from dcnlab.evaluator.routing.vector.hrsw import rule, table_counts

__all__ = ["rule", "table_counts"]
