"""Hierarchical routing on any network, vectorised: as ``hrsw``."""

from dcnlab.evaluator.routing.vector.hrsw import lengths, pair_lengths, rule, table_counts

__all__ = ["lengths", "pair_lengths", "rule", "table_counts"]
