"""Errors whose text is one line for the user, with the exit code of the program."""

from __future__ import annotations


class LabError(Exception):
    """The launch or the use of a lab failed (exit code 1)."""

    exit_code = 1


class UsageError(LabError):
    """The user asked for something that is impossible (exit code 2)."""

    exit_code = 2


class OptionError(UsageError):
    """A lab cannot have this topology, scheme or option; ``option`` is its name."""

    def __init__(self, option: str, text: str) -> None:
        super().__init__(text)
        self.option = option
