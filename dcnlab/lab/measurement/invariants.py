"""What must hold in a lab that has converged."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dcnlab.lab.instruments.arguments import argument
from dcnlab.lab.instruments.conducted import Conducted, at_once
from dcnlab.lab.instruments.measurement import Context
from dcnlab.lab.instruments.result import Result
from dcnlab.lab.instruments.side import Side

if TYPE_CHECKING:
    from dcnlab.lab.instruments.flow_place import Place
    from dcnlab.lab.running.lab import RunningLab
    from dcnlab.lab.running.network import Network

_LISTS = ("lost", "unexpected", "duplicated", "misdelivered", "loops", "wrong_tables", "unproved")
#: Lines about one kind of violation that are shown.
_SHOWN = 10
#: Seconds between two checks where agents tell each other of failures, and nobody knows when all know.
_PAUSE = 0.3


@dataclass(frozen=True)
class InvariantsResult(Result):
    """The pairs that were asked, the seconds until the lab had converged, and what does not hold."""

    asked: int
    converged_s: float
    #: What keeps the lab from having converged; empty if it has.
    unsettled: str
    lost: list[tuple[str, str]]
    unexpected: list[tuple[str, str]]
    duplicated: list[str]
    misdelivered: list[str]
    loops: list[str]
    wrong_tables: list[str]
    #: What `dcnlab verify` finds in the tables, whether or not a packet has met it.
    unproved: list[str]

    @property
    def violated(self) -> tuple[str, ...]:
        """The kinds of what does not hold."""
        return tuple(kind for kind in ("unsettled", *_LISTS) if getattr(self, kind))

    @property
    def violations(self) -> int:
        """How much does not hold."""
        return sum(1 if kind == "unsettled" else len(getattr(self, kind)) for kind in self.violated)

    @property
    def held(self) -> bool:
        return not self.violated

    @classmethod
    def figures(cls) -> tuple[str, ...]:
        return ("violations", "asked", "converged_s", *_LISTS)

    def summary(self) -> dict[str, Any]:
        numbers = {"violations": self.violations, "asked": self.asked, "converged_s": self.converged_s}
        return numbers | {name: len(getattr(self, name)) for name in _LISTS}

    def notes(self) -> Iterator[str]:
        if self.unsettled:
            yield f"not converged: {self.unsettled}"
        for text, pairs in (("lost", self.lost), ("answered without a path", self.unexpected)):
            yield from _some(text, [f"{source} -> {target}" for source, target in pairs])
        yield from _some("arrived twice", self.duplicated)
        yield from _some("arrived at a wrong server", self.misdelivered)
        yield from _some("circulates", self.loops)
        yield from _some("table not as predicted", self.wrong_tables)
        yield from _some("proof fails", self.unproved)


def _some(text: str, items: list[str]) -> Iterator[str]:
    """The first lines about one kind of violation."""
    for item in items[:_SHOWN]:
        yield f"{text}: {item}"
    if len(items) > _SHOWN:
        yield f"{text}: {len(items) - _SHOWN} more"


@dataclass(frozen=True)
class Invariants(Conducted[InvariantsResult]):
    """Wait until a lab has converged, and check what must hold then; exit 1 if it does not.

    Exactly the servers that a path joins answer each other, no packet arrives twice or at a wrong server, none
    loops, and the tables are as predicted; and of all packets that servers could send to each other, `verify`
    proves the same from the tables.
    """

    name: ClassVar[str] = "invariants"
    examples: ClassVar[tuple[str, ...]] = ("dcnlab invariants LAB", "dcnlab invariants LAB --within 60 --json")

    within: float = argument("The lab must have converged within this time.", default=30.0, low=0.0, unit="s")
    most: int = argument("Ping at most this many pairs, drawn at random.", default=1000, low=1)

    def side(self, lab: RunningLab, context: Context) -> Side:
        from dcnlab.lab.inspection import tables
        from dcnlab.lab.instruments.deliveries import DeliveriesSide

        return DeliveriesSide(lab, lambda: tables.wrong(lab))

    def conduct(
        self, network: Network, impaired: Sequence[Mapping[str, Any]], places: Sequence[Place], context: Context
    ) -> InvariantsResult:
        from dcnlab.lab.instruments import deliveries
        from dcnlab.lab.running import settling

        begun, fabric = time.monotonic(), network.fabric
        lossy = any({"loss", "corrupt"} & set(one["impairments"]) for one in impaired)
        context.progress(0, 2, "converging")
        whole = settling.await_convergence(lambda: deliveries.conditions(fabric, places), self.within)
        unsettled = whole.missing()
        while True:
            converged = time.monotonic() - begun
            context.progress(1, 2, "asking pairs")
            found = deliveries.check(fabric, places, whole, self.most, lossy)
            wrong = sorted(itertools.chain(*at_once(places, "wrong_tables")), key=fabric.index)
            if not found and not wrong:
                break
            if not whole.flooding or time.monotonic() - begun >= self.within:
                break
            time.sleep(_PAUSE)
            whole = deliveries.conditions(fabric, places)
        unproved = [] if unsettled else _unproved(network, whole.known, places)
        return InvariantsResult(
            found.asked, round(converged, 3), unsettled, found.lost, found.unexpected, found.duplicated,
            found.misdelivered, found.loops, wrong, unproved,
        )  # fmt: skip


def _unproved(network: Network, down: frozenset[int], places: Sequence[Place]) -> list[str]:
    """What the tables violate while these links are down."""
    from dcnlab.lab.instruments import proof
    from topos.graph import LinkState

    links = LinkState(down)
    scheme = network.scheme.with_failures(links)
    result = proof.prove(replace(network, scheme=scheme, links=links), places)
    return [f"{one.kind} by {' '.join(one.path)}: {one.reason} ({one.packet})" for one in result.found]
