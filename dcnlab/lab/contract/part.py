"""What the coordinator and the server of a part of a lab, on another machine, say to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dcnlab.lab.contract.machine import MachineLost
from dcnlab.lab.errors import LabError, UsageError

#: In the place of an exit code: the part has ended.
GONE = -1


@dataclass(frozen=True)
class PartLaunched:
    """A part runs: the ``seconds`` of each stage of its launch, and of the whole."""

    seconds: Mapping[str, float]
    launch_s: float


@dataclass(frozen=True)
class Report:
    """Progress of a request."""

    value: Any


@dataclass(frozen=True)
class Output:
    """What a request's program has written to one of its descriptors; no bytes at its end."""

    descriptor: int
    data: bytes


@dataclass(frozen=True)
class Result:
    """The answer to a request, as JSON."""

    value: Any


@dataclass(frozen=True)
class Failure:
    """A request or a launch has failed, with this exit code."""

    text: str
    code: int

    def error(self, prefix: str = "") -> LabError:
        """The error to raise for it."""
        if self.code == GONE:
            return MachineLost(prefix + self.text)
        return (UsageError if self.code == UsageError.exit_code else LabError)(prefix + self.text)


#: What comes for a request, the last two at its end.
Item = Report | Output | Result | Failure
