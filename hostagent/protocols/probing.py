"""Path probing by the source (BCube, section 4): of its parallel ways a new flow takes the best.

A source probes every way to the servers that it sends to.  A probe carries the way and goes along
it from server to server; each acknowledges to the source as it passes it on, the last by the final
answer.  The round trip is what ways are compared by: queues show in it, so that the least loaded of
equal ways wins (the paper asks relays for their free bandwidth instead, which cards here do not know).

Where no final answer comes the link beyond the last server that acknowledged is *suspected*: a server
behind a switch dies without anybody's carrier being lost.  Ways over suspected links are not
taken, and where no parallel way is left the source finds another (the scheme's detour) and probes
that.  Suspected ways are tried again now and then; any answer from beyond a link clears it.

An answer counts once, and only to a probe of one's own of the last seconds: answers sent again
tell nothing.  With a shared key nobody else's frames count (:mod:`hostagent.protocols.authentication`).

A frame follows the Ethernet header with EtherType 0xA803; numbers are big-endian:

    kind 8 | serial 32 | reached 8 | position 8 | count 8 | server 32, count times
    tag length 8 | tag | CRC-32

Any bytes decode to a probe or to a :class:`.authentication.Rejection`; nothing is ever raised.
"""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise

from addressing.algorithms.shortest_paths import ShortestPaths
from addressing.source import ServerPath, SourceRouted
from hostagent.protocols.authentication import Rejection, authenticate, verify
from topos.graph import NONE, LinkState

ETHERTYPE = 0xA803
PROBE, PASSED, ARRIVED = 1, 2, 3
#: Seconds between probes of one way, until a probe counts as lost, until its answer is too late to tell
#: anything, between trials of suspected ways, and until a suspicion ends that nobody has tried.
PROBE_INTERVAL, PROBE_TIMEOUT, LATE_TIMEOUT, RETRY_INTERVAL, SUSPICION_TIMEOUT = 0.05, 0.25, 5.0, 0.5, 60.0
#: Round trips that are remembered; what exceeds them starts the memory afresh.
CACHE_SIZE = 4096

_HEAD = struct.Struct(">BIBBB")
_SERVER = struct.Struct(">I")
#: How much a new round trip counts beside those before.
_GAIN = 0.25


@dataclass(frozen=True, slots=True)
class Probe:
    """A probe or an answer on its ``way``, for the server at ``position`` of it; an answer tells of the
    probe's server number ``reached``."""

    kind: int
    serial: int
    path: ServerPath
    position: int
    reached: int = 0

    def encode(self, key: bytes | None = None) -> bytes:
        """As bytes on the wire, with a tag when there is a ``key``."""
        body = _HEAD.pack(self.kind, self.serial, self.reached, self.position, len(self.path))
        body += b"".join(map(_SERVER.pack, self.path))
        return authenticate(body, ETHERTYPE, key)


def decode(data: bytes, key: bytes | None = None) -> Probe | Rejection:
    """The probe in ``data``, or why there is none.  What follows it is padding."""
    if len(data) < _HEAD.size:
        return Rejection.LENGTH
    kind, serial, reached, position, count = _HEAD.unpack_from(data)
    end = _HEAD.size + count * _SERVER.size
    found = verify(data, end, ETHERTYPE, key)
    if found is not None:
        return found
    if not PROBE <= kind <= ARRIVED or not 0 < position < count:
        return Rejection.CONTENT
    path = tuple(server for (server,) in _SERVER.iter_unpack(data[_HEAD.size : end]))
    return Probe(kind, serial, path, position, reached)


@dataclass(slots=True)
class PendingProbe:
    """A probe under way: along which way, since when, and how far it is known to have come."""

    path: ServerPath
    since: float
    reached: int = 0


class Prober:
    """The probing of one server; ``servers`` are asked for by whoever sends to them.  Frames without a
    tag by ``key`` are refused."""

    def __init__(self, scheme: SourceRouted, node: int, key: bytes | None = None) -> None:
        self._scheme, self._node, self._key = scheme, node, key
        self._pending: dict[int, PendingProbe] = {}
        #: Probes that count as lost, whose answers may be late.
        self._late: dict[int, PendingProbe] = {}
        self._suspected: dict[int, float] = {}
        self._due: float | None = None
        self._next_retry = 0.0
        self._serial = 0
        self._outgoing: list[tuple[int, bytes]] = []
        #: Seconds of the round trip along each way that has answered.
        self.round_trips: dict[ServerPath, float] = {}
        self.counts: Counter[str] = Counter()

    @property
    def suspected(self) -> LinkState:
        """The links that are held to be down."""
        return LinkState(frozenset(self._suspected))

    def begin(self, now: float) -> None:
        """Somebody sends to a server that is not probed yet."""
        if self._due is None:
            self._due = now

    def next_timer(self) -> float | None:
        """When :meth:`round` is due."""
        return self._due

    def probe_round(self, servers: frozenset[int], links: LinkState, now: float) -> None:
        """Probe all ways to ``servers``, given the ``links`` that are known to be down; judge the
        probes that were lost."""
        for serial, pending in list(self._pending.items()):
            if now - pending.since > PROBE_TIMEOUT:
                self._late[serial] = self._pending.pop(serial)
                self._handle_loss(pending, now)
        self._suspected = {link: until for link, until in self._suspected.items() if until > now}
        self._late = {n: late for n, late in self._late.items() if now - late.since <= LATE_TIMEOUT}
        trial = bool(self._suspected) and self._next_retry <= now
        self._next_retry = now + RETRY_INTERVAL if trial else self._next_retry
        for server in sorted(servers):
            for path in self._paths(server, links, trial):
                self._serial += 1
                self._pending[self._serial] = PendingProbe(path, now)
                self._forward(Probe(PROBE, self._serial, path, 1))
        self._due = now + PROBE_INTERVAL if servers or self._pending else None

    def receive(self, data: bytes, now: float) -> None:
        """A frame's payload arrived."""
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

    def frames_to_send(self) -> list[tuple[int, bytes]]:
        """(server one hop away, payload) pairs to send now; each is given once."""
        leaving, self._outgoing = self._outgoing, []
        return leaving

    def _paths(self, server: int, links: LinkState, trial: bool) -> list[ServerPath]:
        """What is probed: the parallel ways that may be up, or a detour; in a ``trial``, or where
        suspicions leave nothing, those over suspected links as well."""
        scheme = self._scheme
        ways = [path for path, _ in scheme.usable(self._node, server) if len(path) > 1]
        suspected = links.fail(self._suspected)
        usable = [path for path in ways if scheme.alive(path, suspected)]
        if not usable:
            detour = scheme.shortest(self._node, server, ShortestPaths(scheme.fabric, suspected))
            usable = [] if detour is None else [detour]
        if usable and not trial:
            return usable
        others = [path for path in ways if scheme.alive(path, links)]
        if not others:
            detour = scheme.shortest(self._node, server, ShortestPaths(scheme.fabric, links))
            others = [] if detour is None else [detour]
        return usable + [path for path in others if path not in usable]

    def _handle_answer(self, probe: Probe, now: float) -> None:
        """An answer is back: all links that it has crossed are up."""
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
            before = self.round_trips.get(pending.path, now - pending.since)
            self.round_trips[pending.path] = before + _GAIN * (now - pending.since - before)
            self.counts["answered"] += 1

    def _handle_loss(self, pending: PendingProbe, now: float) -> None:
        """Suspect the link beyond the last server that has acknowledged."""
        self.counts["lost"] += 1
        self.round_trips.pop(pending.path, None)
        if pending.reached + 1 < len(pending.path):
            a, b = pending.path[pending.reached], pending.path[pending.reached + 1]
            self._suspected[self._last_link(a, b)] = now + SUSPICION_TIMEOUT

    def _last_link(self, a: int, b: int) -> int:
        """The cable between two servers, or the one from the switch between them to the second (had
        the first one's own link died, it would have said so); NONE where nothing joins them."""
        fabric = self._scheme.fabric
        direct = fabric.links_between(a, b)
        if direct:
            return direct[0]
        around = set(fabric.neighbours(a))
        return next((fabric.link_at(b, port) for port, end in fabric.ports(b) if end.node in around), NONE)

    def _is_valid(self, probe: Probe) -> bool:
        """True when it is this server's turn, and all servers of the way exist."""
        return probe.path[probe.position] == self._node and max(probe.path) < self._scheme.fabric.servers

    def _answer(self, probe: Probe, kind: int) -> None:
        back = probe.path[probe.position :: -1]
        self._forward(Probe(kind, probe.serial, back, 1, probe.position))

    def _forward(self, probe: Probe) -> None:
        self.counts["sent"] += 1
        self._outgoing.append((probe.path[probe.position], probe.encode(self._key)))
