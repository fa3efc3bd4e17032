"""Path probing by the source (BCube, section 4): a new flow takes the best of its parallel paths.

A source probes every path to the servers that it sends to.  A probe carries its path and follows it from
server to server.  Each server acknowledges to the source as it forwards the probe; the last one sends the
final answer.  Paths are compared by their round-trip times: these contain queueing delay, so the least loaded
of equal paths wins.  (The paper asks relays for their free bandwidth instead, which interfaces here do not
know.)

Where no final answer comes, the link beyond the last server that acknowledged is *suspected*: when a server
behind a switch fails, no neighbour loses its carrier.  Paths over suspected links are not taken.  Where no
parallel path is left, the source finds another one (the scheme's backup path) and probes that.  Suspected
paths are tried again now and then; any answer from beyond a link clears the suspicion.

An answer counts once, and only for an own probe of the last seconds: replayed answers have no effect.  With a
shared key all other frames are rejected (:mod:`hostagent.control.authentication`).

A frame has EtherType 0xA803 (see :mod:`hostagent.control.codec`); its fields and items are

    kind 8 | serial 32 | reached 8 | position 8 | count 8 | server 32, count times

Any bytes decode to a probe or to a :class:`.authentication.Rejection`; nothing is ever raised.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import ClassVar

from addressing.algorithms.shortest_paths import ShortestPaths
from addressing.source import ServerPath, SourceRouted
from hostagent.control.authentication import Rejection
from hostagent.control.codec import FrameCodec
from hostagent.control.interface import ControlMachine
from hostagent.control.one_hop import OneHopProtocol
from hostagent.options import Options
from topos.graph import ALL_UP, NONE, LinkState

ETHERTYPE = 0xA803
PROBE, PASSED, ARRIVED = 1, 2, 3
#: Seconds between probes of one path.
PROBE_INTERVAL = 0.05
#: Seconds until a probe counts as lost, and until its answer is too late to count at all.
PROBE_TIMEOUT, LATE_TIMEOUT = 0.25, 5.0
#: Seconds between trials of suspected paths, and until a suspicion ends that nobody has tried.
RETRY_INTERVAL, SUSPICION_TIMEOUT = 0.5, 60.0
#: Round-trip times that are kept; when there are more, all are forgotten.
CACHE_SIZE = 4096

_CODEC = FrameCodec(ETHERTYPE, struct.Struct(">BIBB"), struct.Struct(">I"))
#: The weight of a new round-trip time in the moving average.
_GAIN = 0.25


@dataclass(frozen=True, slots=True)
class Probe:
    """A probe or an answer on its ``path``, for the server at ``position``.

    An answer comes from the server at position ``reached`` of the probe's path.
    """

    kind: int
    serial: int
    path: ServerPath
    position: int
    reached: int = 0

    def encode(self, key: bytes | None = None) -> bytes:
        """The payload of a frame, with a tag when there is a ``key``."""
        return _CODEC.encode((self.kind, self.serial, self.reached, self.position), self.path, key)


def decode(data: bytes, key: bytes | None = None) -> Probe | Rejection:
    """The probe in ``data``, or why it is rejected.  What follows it is padding."""
    decoded = _CODEC.decode(data, key)
    if isinstance(decoded, Rejection):
        return decoded
    (kind, serial, reached, position), path = decoded
    if not PROBE <= kind <= ARRIVED or not 0 < position < len(path):
        return Rejection.CONTENT
    return Probe(kind, serial, path, position, reached)


@dataclass(slots=True)
class PendingProbe:
    """A probe under way: its path, when it was sent, and how far it is known to have come."""

    path: ServerPath
    since: float
    reached: int = 0


@dataclass(frozen=True)
class ProbeResults:
    """The links that are suspected, and the round-trip time in seconds along each path that answered."""

    suspected: LinkState
    round_trips: Mapping[ServerPath, float]


class Prober(ControlMachine[ProbeResults]):
    """The probing of one server.

    ``destinations`` is shared with the forwarding: the servers that the host has sent to since the last round.
    ``known_failures`` returns the links that are known to be down without probing.  Frames without a tag by
    ``key`` are rejected.
    """

    def __init__(
        self,
        scheme: SourceRouted,
        node: int,
        key: bytes | None = None,
        destinations: set[int] | None = None,
        known_failures: Callable[[], LinkState] = lambda: ALL_UP,
    ) -> None:
        super().__init__()
        self._scheme, self._node, self._key = scheme, node, key
        self.destinations: set[int] = set() if destinations is None else destinations
        self._known_failures = known_failures
        self._pending: dict[int, PendingProbe] = {}
        #: Probes that count as lost, whose answers may be late.
        self._late: dict[int, PendingProbe] = {}
        #: Suspected links, and when each suspicion ends.
        self._suspected: dict[int, float] = {}
        self._due: float | None = None
        self._next_retry = 0.0
        self._serial = 0
        #: Seconds of the round trip along each path that has answered.
        self.round_trips: dict[ServerPath, float] = {}

    @property
    def suspected(self) -> LinkState:
        """The links that are suspected to be down."""
        return LinkState(frozenset(self._suspected))

    def next_timer(self) -> float | None:
        """When the next round is due: at once when the host has begun to send."""
        return 0.0 if self._due is None and self.destinations else self._due

    def handle_timer(self, now: float) -> None:
        """A round: judge the probes that were lost, then probe all paths to ``destinations``."""
        servers, known = sorted(self.destinations), self._known_failures()
        self.destinations.clear()
        for serial, pending in list(self._pending.items()):
            if now - pending.since > PROBE_TIMEOUT:
                self._late[serial] = self._pending.pop(serial)
                self._handle_loss(pending, now)
        self._suspected = {link: until for link, until in self._suspected.items() if until > now}
        self._late = {n: late for n, late in self._late.items() if now - late.since <= LATE_TIMEOUT}
        trial = bool(self._suspected) and self._next_retry <= now
        self._next_retry = now + RETRY_INTERVAL if trial else self._next_retry
        for server in servers:
            for path in self._paths(server, known, trial):
                self._serial += 1
                self._pending[self._serial] = PendingProbe(path, now)
                self._forward(Probe(PROBE, self._serial, path, 1))
        self._due = now + PROBE_INTERVAL if servers or self._pending else None
        self._publish()

    def receive_frame(self, data: bytes, port: int, now: float) -> None:
        """A payload arrived, at any port."""
        probe = decode(data, self._key)
        if isinstance(probe, Probe) and not self._is_valid(probe):
            probe = Rejection.CONTENT
        if isinstance(probe, Rejection):
            self.counts[f"rejected: {probe.value}"] += 1
            return
        if probe.position + 1 < len(probe.path):
            self._forward(replace(probe, position=probe.position + 1))
            if probe.kind == PROBE:
                self._answer(probe, PASSED)
        elif probe.kind == PROBE:
            self._answer(probe, ARRIVED)
        else:
            self._handle_answer(probe, now)

    def _publish(self) -> None:
        self.events.append(ProbeResults(self.suspected, self.round_trips))

    def _paths(self, server: int, known: LinkState, trial: bool) -> list[ServerPath]:
        """The paths to probe: the parallel paths that may be up, or a backup path.

        In a ``trial``, or where suspicions leave nothing, also those over suspected links.
        """
        parallel = [path for path, _ in self._scheme.usable(self._node, server) if len(path) > 1]
        usable = self._usable(server, parallel, known.fail(self._suspected))
        if usable and not trial:
            return usable
        return usable + [path for path in self._usable(server, parallel, known) if path not in usable]

    def _usable(self, server: int, parallel: Iterable[ServerPath], links: LinkState) -> list[ServerPath]:
        """The parallel paths without failed links; if there is none, the shortest path without them."""
        scheme = self._scheme
        usable = [path for path in parallel if scheme.alive(path, links)]
        if usable:
            return usable
        backup = scheme.shortest(self._node, server, ShortestPaths(scheme.fabric, links))
        return [] if backup is None else [backup]

    def _handle_answer(self, probe: Probe, now: float) -> None:
        """An answer is back: all links that it has crossed are up."""
        before = self.suspected
        pending = self._pending.get(probe.serial) or self._late.get(probe.serial)
        if (
            pending is None
            or probe.reached <= pending.reached
            or probe.path != pending.path[probe.reached :: -1]
        ):
            self.counts["known already"] += 1
            return
        pending.reached = probe.reached
        for a, b in pairwise(reversed(probe.path)):
            self._suspected.pop(self._last_link(a, b), None)
        if probe.kind == ARRIVED and self._pending.pop(probe.serial, None) is not None:
            if len(self.round_trips) >= CACHE_SIZE:
                self.round_trips.clear()
            round_trip = now - pending.since
            average = self.round_trips.get(pending.path, round_trip)
            self.round_trips[pending.path] = average + _GAIN * (round_trip - average)
            self.counts["answered"] += 1
        if self.suspected != before:
            self._publish()

    def _handle_loss(self, pending: PendingProbe, now: float) -> None:
        """Suspect the link beyond the last server that has acknowledged."""
        self.counts["lost"] += 1
        self.round_trips.pop(pending.path, None)
        if pending.reached + 1 < len(pending.path):
            a, b = pending.path[pending.reached], pending.path[pending.reached + 1]
            self._suspected[self._last_link(a, b)] = now + SUSPICION_TIMEOUT

    def _last_link(self, a: int, b: int) -> int:
        """The link between two servers, or the link to the second from the switch between them; else NONE.

        If the first server's own link had failed, it would have advertised that.
        """
        fabric = self._scheme.fabric
        direct = fabric.links_between(a, b)
        if direct:
            return direct[0]
        neighbours = set(fabric.neighbours(a))
        return next((fabric.link_at(b, port) for port, end in fabric.ports(b) if end.node in neighbours), NONE)

    def _is_valid(self, probe: Probe) -> bool:
        """Whether the probe is for this server, and all servers of its path exist."""
        return probe.path[probe.position] == self._node and max(probe.path) < self._scheme.fabric.servers

    def _answer(self, probe: Probe, kind: int) -> None:
        back = probe.path[probe.position :: -1]
        self._forward(Probe(kind, probe.serial, back, 1, probe.position))

    def _forward(self, probe: Probe) -> None:
        self.counts["sent"] += 1
        self._outgoing.append((probe.path[probe.position], probe.encode(self._key)))


class ProbingProtocol(OneHopProtocol[Prober]):
    """Path probing at an agent, whose scheme uses source routing."""

    name: ClassVar[str] = "probing"
    title: ClassVar[str] = "probes"
    ethertype: ClassVar[int] = ETHERTYPE

    @classmethod
    def enabled_by(cls, options: Options) -> bool:
        return options.load_balance == "probe"

    def create_machine(self) -> Prober:
        agent, scheme = self.context.agent, self.context.agent.scheme
        assert isinstance(scheme, SourceRouted)
        key, destinations = self.context.key, agent.probe_destinations
        return Prober(scheme, agent.node, key, destinations, lambda: agent.reported_failures)

    def handle_event(self, event: ProbeResults) -> None:
        """Have the agent follow the results: paths are compared by destination and tag."""
        trips = event.round_trips
        order = {(path[-1], tag): trip for path, trip in trips.items() if (tag := self._tag(path)) is not None}
        self.context.agent.apply_probe_results(event.suspected, order)

    def counts(self) -> dict[str, int]:
        """The counters, and how many links are suspected."""
        suspected = len(self.machine.suspected.down)
        return super().counts() | ({"links suspected": suspected} if suspected else {})

    @cached_property
    def _tag(self) -> Callable[[ServerPath], int | None]:
        scheme = self.context.agent.scheme
        assert isinstance(scheme, SourceRouted)
        return lru_cache(maxsize=CACHE_SIZE)(scheme.tag_of)
