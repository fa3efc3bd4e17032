"""Errors whose text is one line for the user."""

from __future__ import annotations


class ParameterError(ValueError):
    """A parameter out of range, or parameters that do not fit; one line for the user."""


class SpecError(ValueError):
    """A specification that is wrong, or a plugin that is broken; one line for the user."""
