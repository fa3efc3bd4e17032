"""Proofs of what a lab has installed: what its switches hold is read, and checked with the agents' rule."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dcnlab.lab.instruments.probe import Probe, at_once
from dcnlab.lab.instruments.result import Result

if TYPE_CHECKING:
    from addressing.scheme import Scheme
    from dcnlab.lab.options.config import LabConfig
    from dcnlab.verifier.checking import Report
    from dcnlab.verifier.installed import Installed
    from dcnlab.verifier.watch import Watch
    from topos.graph import LinkState

#: Violations of one kind that are shown, and pairs of one.
_SHOWN, _PAIRS = 5, 3


@dataclass(frozen=True)
class FoundViolation:
    """What does not hold: ``loop``, ``lost``, ``misdelivered``, or ``ambiguous`` (entries of one priority that
    match the same packet and do different things).

    ``pairs`` are those whose packets it concerns; none: no server sends such packets by itself.  ``command``
    sends the packet.
    """

    kind: str
    reason: str
    packet: str
    path: list[str]
    entries: list[str]
    pairs: list[tuple[str, str]]
    command: str


@dataclass(frozen=True)
class VerifyResult(Result):
    """What was checked and what does not hold.

    ``found`` are the ``violations``.  ``pairs`` and ``classes`` are the numbers of pairs and of starts of other
    packets (0 if not asked for), ``unanalysed`` the pairs of which it is not known what happens, for
    ``reasons``; ``may_drop`` the meters that packets pass.  ``expiring`` entries have a timeout: what was
    checked includes them.
    """

    violations: int
    switches: int
    entries: int
    pairs: int
    classes: int
    states: int
    found: list[FoundViolation]
    unanalysed: int
    reasons: list[str]
    may_drop: list[str]
    expiring: int
    read_ms: float
    check_ms: float

    @property
    def held(self) -> bool:
        return not self.found

    @classmethod
    def figures(cls) -> tuple[str, ...]:
        names = ("violations", "unanalysed", "pairs", "classes", "states", "switches", "entries")
        return (*names, "read_ms", "check_ms")

    def notes(self) -> Iterator[str]:
        for kind in dict.fromkeys(one.kind for one in self.found):
            some = [one for one in self.found if one.kind == kind]
            for one in some[:_SHOWN]:
                yield from _lines(one)
            if len(some) > _SHOWN:
                yield f"{kind}: {len(some) - _SHOWN} more; --json shows all"
        for reason in self.reasons[:_SHOWN]:
            yield f"not analysed: {reason}"
        for meter in self.may_drop[:_SHOWN]:
            yield f"may drop: {meter}"
        if self.expiring:
            yield f"{self.expiring:,} of these entries have a timeout: checked is what holds before that"


def _lines(one: FoundViolation) -> Iterator[str]:
    yield f"{one.kind}: {one.reason}"
    yield f"  packet   {one.packet}"
    yield f"  path     {' '.join(one.path)}"
    for node, entry in dict.fromkeys(zip(one.path, one.entries, strict=True)):
        if entry:
            yield f"  {node:8} {entry}"
    if one.pairs:
        some = ", ".join(f"{a} -> {b}" for a, b in one.pairs[:_PAIRS])
        yield f"  pairs    {len(one.pairs):,}: {some}{', ...' if len(one.pairs) > _PAIRS else ''}"
    else:
        yield "  pairs    none: no server sends such a packet by itself"
    if one.command:
        yield f"  see it   {one.command}"


class ProofProbe(Probe):
    """One machine: what its switches hold."""

    def dumps(self, within: float) -> dict[str, list[str]]:
        """What ``ovs-ofctl`` prints of each switch, once two readings agree."""
        from dcnlab.lab.instruments import installed

        return installed.dumps(self.lab, within)


def prove(
    scheme: Scheme,
    links: LinkState,
    config: LabConfig,
    probes: Sequence[ProofProbe],
    any_packet: bool = False,
    within: float = 10.0,
    kept: Kept | None = None,
) -> VerifyResult:
    """Read the tables of all machines, each until two readings agree within some seconds, and check them.

    With ``kept``, only what has changed since it was last given is checked again.
    """
    begun = time.monotonic()
    texts: dict[str, list[str]] = {}
    for part in at_once(probes, lambda probe: probe.dumps(within)):
        texts |= part
    read = time.monotonic()
    with (kept or Kept()).watched(scheme, links, config, texts) as watch:
        reports = [watch.report()]
        if any_packet:
            reports.append(_any_packet(watch.model))
        checked = time.monotonic()
        return _result(watch.model, reports, 1000 * (read - begun), 1000 * (checked - read))


class Kept:
    """The last check of a lab."""

    def __init__(self, _: object = None) -> None:
        self._lock = threading.Lock()
        self._of: tuple[object, ...] = ()
        self._texts: dict[str, list[str]] = {}
        self._watch: Watch | None = None

    @contextmanager
    def watched(
        self, scheme: Scheme, links: LinkState, config: LabConfig, dumps: dict[str, list[str]]
    ) -> Iterator[Watch]:
        """The check of what was read: that before with what is new, where links and groups are as before."""
        with self._lock:
            of = links, scheme.known, dumps.keys(), {name: texts[1:] for name, texts in dumps.items()}
            if self._watch is None or self._of != of:
                self._watch = _watch(scheme, links, config, dumps)
            else:
                _tell(self._watch, self._texts, dumps)
            self._of, self._texts = of, dumps
            yield self._watch


def _watch(scheme: Scheme, links: LinkState, config: LabConfig, texts: dict[str, list[str]]) -> Watch:
    from dcnlab.lab.instruments import installed as reading
    from dcnlab.verifier.installed import Installed
    from dcnlab.verifier.watch import Watch

    switches = {scheme.fabric.index(name): switch for name, switch in reading.switches(texts).items()}
    return Watch(Installed(scheme, links, switches, config.choice().tables, config.name))


def _tell(watch: Watch, before: dict[str, list[str]], texts: dict[str, list[str]]) -> None:
    """Tell a check which entries are new, and which are gone."""
    from dcnlab.verifier.openflow import reading

    for name, (flows, *_) in texts.items():
        if flows != before[name][0]:
            node = watch.model.fabric.index(name)
            held = {entry.text: entry for entry in watch.model.switches[node].entries}
            lines = {line.strip(): None for line in flows.splitlines() if reading.is_entry(line)}
            gone = [entry for text, entry in held.items() if text not in lines]
            watch.change(node, gone, [reading.entry(line) for line in lines if line not in held])


def _any_packet(model: Installed) -> Report:
    """Prove it of any packets that servers could send."""
    from dcnlab.lab.errors import UsageError
    from dcnlab.verifier.atoms import TooMany
    from dcnlab.verifier.checking import Check

    try:
        classes = model.classes()
    except TooMany as error:
        raise UsageError(f"--any-packet: {error}") from error
    return Check(model).any_packet(place for header in classes for place in model.injected(header))


def _result(model: Installed, reports: Sequence[Report], read_ms: float, check_ms: float) -> VerifyResult:
    violations = [
        FoundViolation(
            one.kind.value, one.reason, one.packet, [*one.path], [*one.entries], [*one.pairs], one.command
        )
        for report in reports
        for one in report.violations
    ]
    name = model.fabric.name
    for (node, entries), place in model.ambiguous.items():
        reason = "entries of one priority match the same packet and do different things"
        where = [name(node)] * len(entries)
        command = model.command([place], None)
        violations.append(
            FoundViolation("ambiguous", reason, model.packet(place), where, [*entries], [], command)
        )
    return VerifyResult(
        violations=len(violations),
        switches=len(model.switches),
        entries=sum(len(switch.entries) for switch in model.switches.values()),
        pairs=reports[0].checked,
        classes=sum(report.checked for report in reports[1:]),
        states=sum(report.states for report in reports),
        found=violations,
        unanalysed=reports[0].unanalysed,
        reasons=[*reports[0].reasons],
        may_drop=[f"{name(node)}: {meter}" for node, meter in model.metered],
        expiring=sum(
            "_timeout=" in entry.text for switch in model.switches.values() for entry in switch.entries
        ),
        read_ms=round(read_ms, 1),
        check_ms=round(check_ms, 1),
    )
