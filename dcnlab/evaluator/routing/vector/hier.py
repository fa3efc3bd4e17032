"""Hierarchies on any network by arrays: as ``hrsw``."""

from dcnlab.evaluator.routing.vector.hrsw import rule

__all__ = ["rule"]
