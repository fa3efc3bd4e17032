"""A scheme proved on a network: intact, and after each of many failures, known to the control plane or not."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from addressing.scheme import Scheme
from dcnlab.verifier.arrays.compiled import fits
from dcnlab.verifier.arrays.pairs import Compiled
from dcnlab.verifier.checking import Check, Report
from dcnlab.verifier.forked import forked
from dcnlab.verifier.offline import Offline, Tables
from topos.fabric import Fabric
from topos.graph import ALL_UP, LinkState
from topos.spec import SpecError


@dataclass(frozen=True)
class Failure:
    """What has failed, in words, and the links that are down by it."""

    words: str
    links: LinkState


@dataclass(frozen=True)
class Outcome:
    """What was proved of one failure.

    ``known`` holds once the control plane knows of it and tables have changed, ``unknown`` while only the ends
    of the links do (None if not asked for); ``any_packet`` of all packets that servers could send, known.
    ``entries`` is the number of entries of switches that change.
    """

    failure: Failure
    known: Report
    unknown: Report | None = None
    any_packet: Report | None = None
    entries: int = 0

    @property
    def reports(self) -> dict[str, Report]:
        """The reports by the names of their attributes."""
        reports = {"known": self.known, "unknown": self.unknown, "any_packet": self.any_packet}
        return {name: report for name, report in reports.items() if report is not None}

    @property
    def held(self) -> bool:
        """Whether nothing is violated."""
        return all(report.held for report in self.reports.values())

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        reports = {name: report.as_dict() for name, report in self.reports.items()}
        return {"failure": self.failure.words, "held": self.held, "entries_changed": self.entries, **reports}


def failures(fabric: Fabric, text: str, seed: int = 1) -> list[Failure]:
    """The failures that ``none``, ``links``, ``nodes`` or ``pairs:50`` names; SpecError for other texts.

    ``pairs:N`` draws N pairs of links."""
    kind, _, number = text.partition(":")
    if kind == "pairs" and number.isdigit():
        return list(_pairs(fabric, int(number), seed))
    if text == "none":
        return [Failure("none", ALL_UP)]
    if text == "links":
        return [
            Failure(_link(fabric, link), LinkState(frozenset({link}))) for link in range(len(fabric.link_ends))
        ]
    if text == "nodes":
        every = ((node, frozenset(fabric.links_of(node))) for node in range(fabric.size))
        return [Failure(fabric.name(node), LinkState(links)) for node, links in every]
    raise SpecError(f"--failures: write none, links, nodes or pairs:NUMBER, not {text!r}")


def _pairs(fabric: Fabric, count: int, seed: int) -> Iterator[Failure]:
    draw, links = random.Random(seed), range(len(fabric.link_ends))
    if len(links) < 2:
        return
    for _ in range(count):
        both = sorted(draw.sample(links, 2))
        yield Failure(" and ".join(_link(fabric, link) for link in both), LinkState(frozenset(both)))


def _link(fabric: Fabric, number: int) -> str:
    link = fabric.link(number)
    return f"{fabric.name(link.a.node)}-{fabric.name(link.b.node)}"


@dataclass(frozen=True)
class Question:
    """What is to be proved: of the failures that ``failures`` names, with ``unknown`` also while the control
    plane does not know of them; with ``any_packet`` of all packets and not only of those that servers send."""

    failures: str = "none"
    unknown: bool = False
    any_packet: bool = False
    seed: int = 1


def sweep(
    scheme: Scheme,
    question: Question,
    text: str = "",
    progress: Callable[[str, float | None], None] | None = None,
) -> Iterator[Outcome]:
    """What is proved of each failure; ``text`` is the scheme's specification, for commands."""
    cases = failures(scheme.fabric, question.failures, question.seed)
    if progress is not None:
        progress(f"tables of {scheme.fabric.size:,} nodes", None)
    whole = Proofs(Tables(scheme))
    if len(cases) > 1:
        whole.intact()  # each failure is compared with it
    said = progress or (lambda stage, share: None)
    said("failures", 0.0)
    # Iterated to its end: with the last outcome its processes end.
    for done, one in enumerate(forked(lambda failure: outcome(whole, failure, question, text), cases), 1):
        said("failures", done / len(cases))
        yield one


class Proofs:
    """Proofs about the pairs of a scheme, in compiled code where its labels fit."""

    def __init__(self, whole: Tables) -> None:
        self.whole = whole
        self._compiled = Compiled(whole) if fits(whole.scheme) else None

    def intact(self) -> Report:
        """What is found while all links are up."""
        return self.pairs(Offline(self.whole)) if self._compiled is None else self._compiled.intact()

    def pairs(self, model: Offline, losses: bool = True) -> Report:
        """What :meth:`Check.pairs` finds of all pairs."""
        if self._compiled is None:
            return Check(model).pairs(model.starts(), losses)
        return self._compiled.check(model, losses)


def outcome(proofs: Proofs, failure: Failure, question: Question, text: str = "") -> Outcome:
    """What is proved of one failure; the tables of ``proofs`` are those of the intact network."""
    links, whole = failure.links, proofs.whole
    tables = Tables(whole.scheme.with_failures(links), whole) if links else whole
    after = Offline(tables, links, text)
    known = proofs.pairs(after)
    unknown = proofs.pairs(Offline(whole, links, text), losses=False) if question.unknown and links else None
    anything = None
    if question.any_packet:
        anything = Check(after).any_packet(
            place for header in after.classes() for place in after.injected(header)
        )
    return Outcome(failure, known, unknown, anything, tables.changed())
