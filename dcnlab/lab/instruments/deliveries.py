"""Where packets arrive in a lab that has converged, and where they must not."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dcnlab.lab.errors import LabError
from dcnlab.lab.instruments.packets.echo import ping_pairs
from dcnlab.lab.instruments.packets.taps import MOST_CROSSINGS, Packet, Taps
from dcnlab.lab.instruments.probe import Context, at_once
from dcnlab.lab.instruments.proof import ProofProbe
from dcnlab.lab.running import convergence
from dcnlab.lab.running.local_machine import LocalMachine
from topos.fabric import Fabric

Pair = tuple[str, str]

#: Seconds until a request between servers that a path joins counts as lost; between others it is short, since
#: all of them are lost.
_TIMEOUT, _TIMEOUT_CUT = 5.0, 0.5
#: Where links lose packets: how often a pair without an answer is asked again, and seconds until that is lost.
_AGAIN, _TIMEOUT_AGAIN = 30, 1.0
#: Pairs that no path joins which are asked at most: each takes its time.
_MOST_CUT = 40


class DeliveriesProbe(ProofProbe):
    """One machine: in which condition it is, what its servers send, and where packets pass there."""

    def __init__(self, lab: LocalMachine, context: Context) -> None:
        super().__init__(lab, context)
        self._open = contextlib.ExitStack()
        self._taps: Taps | None = None

    def condition(self) -> convergence.Convergence:
        """Return the condition of the machine."""
        return convergence.condition(self.lab)

    def watch(self, identity: int) -> None:
        """Count echo requests and replies with that identifier wherever they pass, from now on.

        Others may have changed tables just before: switches forward by the tables that they have now.
        """
        with contextlib.suppress(LabError):  # a daemon that has ended just now forwards nothing
            self.lab.await_tables()
        self._taps = Taps(self.lab, identity)
        self._open.enter_context(self._taps.open())

    def unanswered(self, pairs: Sequence[tuple[int, int]], timeout: float, identity: int) -> list[Pair]:
        """Send requests from the servers that are here: the pairs without an answer after ``timeout`` s."""
        ends = [(self.lab.endpoint(a), self.lab.endpoint(b)) for a, b in pairs if self.lab.running.here(a)]
        return ping_pairs(ends, timeout, identity=identity).lost

    def passed(self) -> dict[str, list[str]]:
        """The packets that one server got twice, that a wrong one got, and that circulate, in words."""
        assert self._taps is not None
        self._open.close()
        names = {
            self.lab.address(server): self.lab.fabric.name(server) for server in range(self.lab.fabric.servers)
        }
        twice, wrong = _wrong_deliveries(self._taps, names)
        return {"duplicated": twice, "misdelivered": wrong, "loops": sorted(_loops(self._taps, names))}

    def close(self) -> None:
        self._open.close()


@dataclass(frozen=True)
class Deliveries:
    """The pairs that were asked, and what is wrong: pairs that a path joins without an answer, other pairs with
    one, packets that arrived twice or at a wrong server or that circulate."""

    asked: int
    lost: list[Pair]
    unexpected: list[Pair]
    duplicated: list[str]
    misdelivered: list[str]
    loops: list[str]

    def __bool__(self) -> bool:
        return any((self.lost, self.unexpected, self.duplicated, self.misdelivered, self.loops))


def conditions(fabric: Fabric, probes: Sequence[DeliveriesProbe]) -> convergence.Whole:
    """Return the condition of each machine of a lab."""
    absent = frozenset(node for node in range(fabric.size) if not any(probe.runs(node) for probe in probes))
    return convergence.Whole(fabric, at_once(probes, lambda probe: probe.condition()), absent)


def check(
    fabric: Fabric, probes: Sequence[DeliveriesProbe], whole: convergence.Whole, most: int, lossy: bool = False
) -> Deliveries:
    """Ask at most ``most`` pairs that a path joins, and some that none joins, and look at where all packets of
    this passed.  Where links are ``lossy``, pairs without an answer are asked again."""
    joined, parted = _pairs(whole, most)
    parted = [(a, b) for a, b in parted if any(probe.runs(a) for probe in probes)]
    identity = random.SystemRandom().randrange(1 << 16)
    at_once(probes, lambda probe: probe.watch(identity))
    lost = _unanswered(probes, joined, _TIMEOUT, identity)
    silent = _unanswered(probes, parted, _TIMEOUT_CUT, (identity + 1) & 0xFFFF)
    for number in range(_AGAIN if lossy else 0):
        if not lost:
            break
        again = [(fabric.index(a), fabric.index(b)) for a, b in lost]
        lost = _unanswered(probes, again, _TIMEOUT_AGAIN, (identity + 2 + number) & 0xFFFF)
    passed = at_once(probes, lambda probe: probe.passed())
    unexpected = sorted({(fabric.name(a), fabric.name(b)) for a, b in parted} - {*silent})
    wrong = {kind: sorted(line for one in passed for line in one[kind]) for kind in passed[0]}
    return Deliveries(len(joined) + len(parted), lost, unexpected, **wrong)


def _pairs(whole: convergence.Whole, most: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Ordered pairs of servers that a path joins, and those that none joins, by networkx."""
    draw = random.Random(most)
    joined = [pair for piece in whole.connected() for pair in itertools.permutations(sorted(piece), 2)]
    together = set(joined)
    parted = [pair for pair in itertools.permutations(range(whole.fabric.servers), 2) if pair not in together]
    return _some(draw, joined, most), _some(draw, parted, min(most, _MOST_CUT))


def _some(draw: random.Random, pairs: list[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    return pairs if len(pairs) <= most else draw.sample(pairs, most)


def _unanswered(
    probes: Sequence[DeliveriesProbe], pairs: Sequence[tuple[int, int]], timeout: float, identity: int
) -> list[Pair]:
    pairs_left = at_once(probes, lambda probe: probe.unanswered(pairs, timeout, identity))
    return sorted((a, b) for some in pairs_left for a, b in some)


def _wrong_deliveries(taps: Taps, names: dict[str, str]) -> tuple[list[str], list[str]]:
    """Packets that one server got twice, and those that a wrong server got."""
    twice = {
        f"{_text(packet, names)}: {count} times at {server}"
        for (server, packet), count in taps.deliveries.items()
        if count > 1
    }
    wrong = {
        f"{_text(packet, names)}: at {server}"
        for server, packet in taps.deliveries
        if names.get(packet.destination) != server
    }
    return sorted(twice), sorted(wrong)


def _loops(taps: Taps, names: dict[str, str]) -> Iterator[str]:
    """Packets that crossed a link again and again."""
    for (interface, packet), count in taps.crossings.items():
        if count > MOST_CROSSINGS:
            yield f"{_text(packet, names)}: {count} times at {interface}"


def _text(packet: Packet, names: dict[str, str]) -> str:
    source, destination = (names.get(address, address) for address in (packet.source, packet.destination))
    return f"{source} -> {destination} ({'request' if packet.request else 'reply'})"
