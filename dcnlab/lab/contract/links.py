"""Links: what was cut or restored, and what keeps them down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dcnlab.lab.contract.answer import ABSENT, Answer

#: Names that a line of text lists before it says how many more there are.
_SHOWN = 4


@dataclass(frozen=True, eq=False)
class Cuts(Answer):
    """What the user has cut: the numbers of ``links`` that were cut by themselves, and the names of ``nodes``
    that were cut with all their links."""

    links: list[int] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class DownLink(Answer):
    """A link that is down: its ends (and which it is of several), its number, and why, one line a cause."""

    link: list[str]
    number: int
    because: list[str]


@dataclass(frozen=True, eq=False, kw_only=True)
class LinkChange(Answer):
    """Links that have failed or were restored.

    ``detection_ms`` is the time until an agent or the controller had noticed, in milliseconds (None where
    nothing changed); ``converged_ms`` until all tables and agents agreed; ``tables_ms`` the part of it in which
    ``flow_mods`` flow messages went to ``switches`` switches.  Where nodes changed in an order without loops
    they did in ``turns``, and that took ``order_ms``; 0 where all changed at once.  ``at_once`` says why they
    did where an order was asked for.  ``silent`` agents do not answer.  ``repair`` tells how schemes that
    repair their tables have done it; None for others.
    ``still_down`` are those of the links that were restored and are down nevertheless: their node is cut too,
    for example.
    """

    links: list[int]
    up: bool
    silent: list[str]
    still_down: list[DownLink] = field(default_factory=list)
    detection_ms: float | None
    converged_ms: float
    flow_mods: int
    switches: int
    tables_ms: float
    turns: int = 0
    order_ms: float = 0.0
    at_once: str = field(default="", metadata=ABSENT)
    repair: Mapping[str, int | float] | None = field(default=None, metadata=ABSENT)

    def notes(self) -> list[str]:
        """Why tables changed at once; what keeps links down, one line for each cause but the agents in
        ``silent``."""
        named = {f"the agent of {server} does not answer" for server in self.silent}
        by_cause: dict[str, list[str]] = {}
        for one in self.still_down:
            for cause in (cause for cause in one.because if cause not in named):
                by_cause.setdefault(cause, []).append("-".join(one.link))
        at_once = [f"tables changed at once: {self.at_once}"] if self.at_once else []
        return at_once + [
            f"{_some(links)} {'stay' if len(links) > 1 else 'stays'} down: {cause}"
            for cause, links in by_cause.items()
        ]


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
