"""What an autoconfiguration protocol is in a lab, and one machine's part in it: its agents.

A lab on one machine has one side, a lab on several one per machine.  The steps are the same: all sides prepare,
the one with the origin begins, all finish.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from addressing.scheme import Scheme
from hostagent.client import AgentPool


@dataclass(frozen=True)
class ServerOutcomes:
    """What became of the servers of one machine: when each was configured, in seconds on the clock of
    time.monotonic() there, those that have something else than the scheme gives them, and the ``frames`` sent
    by kind."""

    at: Mapping[int, float]
    wrong: Sequence[int]
    frames: Mapping[str, int]


@dataclass(frozen=True)
class Concluded:
    """What the origin has concluded: after how many milliseconds all servers had their addresses (``success``),
    or what it found in the wiring, from how many direct (``causes``) and ``secondary`` alarms."""

    success: bool
    ms: float
    findings: list[str]
    causes: int
    secondary: int


class Side(ABC):
    """The agents of one machine."""

    #: Seconds by which the machine's monotonic clock is ahead of the one that times are told in.
    ahead: float = 0.0

    @abstractmethod
    def runs(self, node: int) -> bool:
        """Whether the machine runs a node."""

    @abstractmethod
    def prepare(self) -> None:
        """Forget what the servers have reported so far."""

    @abstractmethod
    def begin(self, epoch: int) -> Concluded | None:
        """Have the origin, a server of this machine, start; what it concludes, if it does."""

    @abstractmethod
    def finish(self) -> ServerOutcomes:
        """Wait for the machine's servers."""


class Protocol(ABC):
    """A protocol by which servers configure themselves, between the agents of a lab."""

    @abstractmethod
    def enable(self, agents: AgentPool, scheme: Scheme) -> None:
        """Make all agents of this machine run it."""

    @abstractmethod
    def origin(self, scheme: Scheme) -> int:
        """The server that starts it."""

    @abstractmethod
    def side(self, agents: AgentPool, scheme: Scheme, servers: frozenset[int]) -> Side:
        """The agents of these servers, which this machine runs, for one run."""

    @abstractmethod
    def wrong(self, scheme: Scheme, nodes: Sequence[int]) -> str:
        """Return the error, in one line, when servers have something else than the scheme gives them."""

    @abstractmethod
    def timed(self, concluded: Concluded | None, at: Mapping[int, float], begun: float) -> tuple[float, float]:
        """Return when a run really began, on the clock of ``at``, and how many milliseconds it took.

        ``begun`` is when it was asked for."""

    def check(self, scheme: Scheme, concluded: Concluded | None) -> None:
        """Raise LabError with every error that the origin found; one that concludes nothing finds none."""
        return


def frames(outcomes: Iterable[ServerOutcomes]) -> dict[str, int]:
    """The frames that all machines have sent, by kind."""
    total: dict[str, int] = {}
    for one in outcomes:
        for kind, count in one.frames.items():
            total[kind] = total.get(kind, 0) + count
    return total
