"""Errors whose text is one line for the user, with the exit code that they end in."""

from __future__ import annotations


class LabError(Exception):
    """Something failed while a lab was launched or used (exit code 1)."""

    exit_code = 1


class UsageError(LabError):
    """The user asked for something that cannot be (exit code 2)."""

    exit_code = 2
