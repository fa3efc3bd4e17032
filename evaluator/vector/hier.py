"""Hierarchies on any network by arrays: as ``hrsw``."""

from evaluator.vector.hrsw import rule

__all__ = ["rule"]
