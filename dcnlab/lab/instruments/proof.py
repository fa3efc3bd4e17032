"""Proofs of what a lab has installed: what its switches hold is read, and checked with the agents' rule."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dcnlab.lab.instruments.probe import Probe, at_once
from dcnlab.lab.instruments.result import Result

if TYPE_CHECKING:
    from addressing.scheme import Scheme
    from dcnlab.lab.options.config import LabConfig
    from dcnlab.verifier.checking import Report
    from dcnlab.verifier.installed import Installed
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

    ``pairs`` and ``classes`` are the numbers of pairs and of starts of other packets (0 if not asked for),
    ``unanalysed`` the pairs of which it is not known what happens, for ``reasons``.
    """

    switches: int
    entries: int
    pairs: int
    classes: int
    states: int
    found: list[FoundViolation]
    unanalysed: int
    reasons: list[str]
    read_ms: float
    check_ms: float

    @property
    def violations(self) -> int:
        """How much does not hold."""
        return len(self.found)

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
) -> VerifyResult:
    """Read the tables of all machines, each until two readings agree within some seconds, and check them."""
    from dcnlab.lab.instruments import installed as reading
    from dcnlab.verifier.installed import Installed

    begun = time.monotonic()
    found: dict[str, list[str]] = {}
    for part in at_once(probes, lambda probe: probe.dumps(within)):
        found |= part
    read = time.monotonic()
    switches = {scheme.fabric.index(name): switch for name, switch in reading.switches(found).items()}
    model = Installed(scheme, links, switches, config.choice().tables, config.name)
    reports = _reports(model, any_packet)
    checked = time.monotonic()
    return _result(model, reports, 1000 * (read - begun), 1000 * (checked - read))


def _reports(model: Installed, any_packet: bool) -> list[Report]:
    """Of the packets of all pairs; then, if asked for, of any packets."""
    from dcnlab.lab.errors import UsageError
    from dcnlab.verifier.atoms import TooMany
    from dcnlab.verifier.checking import Check

    check = Check(model)
    reports = [check.pairs(model.starts())]
    if any_packet:
        try:
            classes = model.classes()
        except TooMany as error:
            raise UsageError(f"--any-packet: {error}") from error
        every = Check(model)
        reports.append(every.any_packet(place for header in classes for place in model.injected(header)))
    return reports


def _result(model: Installed, reports: Sequence[Report], read_ms: float, check_ms: float) -> VerifyResult:
    found = [
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
        found.append(FoundViolation("ambiguous", reason, model.packet(place), where, [*entries], [], ""))
    return VerifyResult(
        switches=len(model.switches),
        entries=sum(len(switch.entries) for switch in model.switches.values()),
        pairs=reports[0].checked,
        classes=sum(report.checked for report in reports[1:]),
        states=sum(report.states for report in reports),
        found=found,
        unanalysed=reports[0].unanalysed,
        reasons=[*reports[0].reasons],
        read_ms=round(read_ms, 1),
        check_ms=round(check_ms, 1),
    )
