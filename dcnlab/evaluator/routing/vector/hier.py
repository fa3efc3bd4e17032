"""Hierarchical routing on any network, vectorised: as ``hrsw``."""

from dcnlab.evaluator.routing.vector.hrsw import pair_lengths, rule, table_counts

__all__ = ["pair_lengths", "rule", "table_counts"]
