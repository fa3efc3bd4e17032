"""Hierarchical routing on any network, vectorised: as ``hrsw``."""

from dcnlab.evaluator.routing.vector.hrsw import rule

__all__ = ["rule"]
