"""What must hold in a lab that has converged."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.fields import argument
from dcnlab.lab.contract.values import Figures
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.probe import Probe, at_once
from dcnlab.lab.instruments.result import Result

if TYPE_CHECKING:
    from dcnlab.lab.instruments.proof import ProofProbe
    from dcnlab.lab.network.measured_lab import MeasuredLab

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

    def summary(self) -> Figures:
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
class Invariants(Measurement[InvariantsResult]):
    """Wait until a lab has converged, and check what must hold then; exit 1 if it does not.

    Exactly the servers that a path joins answer each other, no packet arrives twice or at a wrong server, none
    loops, and the tables are as predicted; and of all packets that servers could send to each other, `verify`
    proves the same from the tables.
    """

    name: ClassVar[str] = "invariants"
    examples: ClassVar[tuple[str, ...]] = ("dcnlab invariants LAB", "dcnlab invariants LAB --within 60 --json")

    within: float = argument("The lab must have converged within this time.", default=30.0, low=0.0, unit="s")
    most: int = argument("Ping at most this many pairs, drawn at random.", default=1000, low=1)

    def run(self, lab: MeasuredLab, context: Context) -> InvariantsResult:
        from dcnlab.lab.instruments import deliveries
        from dcnlab.lab.running import convergence

        begun, fabric = time.monotonic(), lab.fabric
        lossy = any(shape.loss or shape.corrupt for shape in lab.impairments.values())
        context.progress(0, 2, "converging")
        with context.probes(deliveries.DeliveriesProbe) as probes, context.probes(TablesProbe) as tables:
            whole = convergence.await_convergence(lambda: deliveries.conditions(fabric, probes), self.within)
            unsettled = whole.missing()
            while True:
                converged = time.monotonic() - begun
                context.progress(1, 2, "asking pairs")
                seen = deliveries.check(fabric, probes, whole, self.most, lossy)
                wrong = list(itertools.chain(*at_once(tables, lambda probe: probe.wrong())))
                if not seen and not wrong:
                    break
                if not whole.flooding or time.monotonic() - begun >= self.within:
                    break
                time.sleep(_PAUSE)
                whole = deliveries.conditions(fabric, probes)
            unproved = [] if unsettled else _unproved(lab, whole.known, probes)
        return InvariantsResult(
            seen.asked, round(converged, 3), unsettled, seen.lost, seen.unexpected, seen.duplicated,
            seen.misdelivered, seen.loops, sorted(wrong, key=fabric.index), unproved,
        )  # fmt: skip


def _unproved(lab: MeasuredLab, down: frozenset[int], probes: Sequence[ProofProbe]) -> list[str]:
    """What the tables violate while these links are down."""
    from dcnlab.lab.instruments import proof
    from topos.graph import LinkState

    links = LinkState(down)
    result = proof.prove(lab.scheme.with_failures(links), links, lab.config, probes)
    return [f"{one.kind} by {' '.join(one.path)}: {one.reason} ({one.packet})" for one in result.found]


class TablesProbe(Probe):
    """The switches of one machine."""

    def wrong(self) -> list[str]:
        """Return the nodes whose tables are not as predicted."""
        from dcnlab.lab.inspection import tables

        return tables.wrong(self.lab)
