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

from addressing.algorithms.shortest_paths import Ways
from addressing.source import SourceRouted, Way
from hostagent.protocols.authentication import Rejection, flaw, seal
from topos.graph import NONE, LinkState

ETHERTYPE = 0xA803
PROBE, PASSED, ARRIVED = 1, 2, 3
#: Seconds between probes of one way, until a probe counts as lost, until its answer is too late to tell
#: anything, between trials of suspected ways, and until a suspicion ends that nobody has tried.
PERIOD, PATIENCE, LATE, TRIAL, SUSPICION = 0.05, 0.25, 5.0, 0.5, 60.0
#: Round trips that are remembered; what exceeds them starts the memory afresh.
MEMORY = 4096

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
    way: Way
    position: int
    reached: int = 0

    def encode(self, key: bytes | None = None) -> bytes:
        """As bytes on the wire, with a tag when there is a ``key``."""
        body = _HEAD.pack(self.kind, self.serial, self.reached, self.position, len(self.way))
        body += b"".join(map(_SERVER.pack, self.way))
        return seal(body, ETHERTYPE, key)


def decode(data: bytes, key: bytes | None = None) -> Probe | Rejection:
    """The probe in ``data``, or why there is none.  What follows it is padding."""
    if len(data) < _HEAD.size:
        return Rejection.LENGTH
    kind, serial, reached, position, count = _HEAD.unpack_from(data)
    end = _HEAD.size + count * _SERVER.size
    found = flaw(data, end, ETHERTYPE, key)
    if found is not None:
        return found
    if not PROBE <= kind <= ARRIVED or not 0 < position < count:
        return Rejection.CONTENT
    way = tuple(server for (server,) in _SERVER.iter_unpack(data[_HEAD.size : end]))
    return Probe(kind, serial, way, position, reached)


@dataclass(slots=True)
class Asked:
    """A probe under way: along which way, since when, and how far it is known to have come."""

    way: Way
    since: float
    reached: int = 0


class Prober:
    """The probing of one server; ``servers`` are asked for by whoever sends to them.  Frames without a
    tag by ``key`` are refused."""

    def __init__(self, scheme: SourceRouted, node: int, key: bytes | None = None) -> None:
        self._scheme, self._node, self._key = scheme, node, key
        self._asked: dict[int, Asked] = {}
        #: Probes that count as lost, whose answers may be late.
        self._late: dict[int, Asked] = {}
        self._suspected: dict[int, float] = {}
        self._due: float | None = None
        self._trial = 0.0
        self._serial = 0
        self._leaving: list[tuple[int, bytes]] = []
        #: Seconds of the round trip along each way that has answered.
        self.round_trips: dict[Way, float] = {}
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

    def round(self, servers: frozenset[int], links: LinkState, now: float) -> None:
        """Probe all ways to ``servers``, given the ``links`` that are known to be down; judge the
        probes that were lost."""
        for serial, asked in list(self._asked.items()):
            if now - asked.since > PATIENCE:
                self._late[serial] = self._asked.pop(serial)
                self._lost(asked, now)
        self._suspected = {link: until for link, until in self._suspected.items() if until > now}
        self._late = {n: late for n, late in self._late.items() if now - late.since <= LATE}
        trial = bool(self._suspected) and self._trial <= now
        self._trial = now + TRIAL if trial else self._trial
        for server in sorted(servers):
            for way in self._ways(server, links, trial):
                self._serial += 1
                self._asked[self._serial] = Asked(way, now)
                self._pass_on(Probe(PROBE, self._serial, way, 1))
        self._due = now + PERIOD if servers or self._asked else None

    def receive(self, data: bytes, now: float) -> None:
        """A frame's payload arrived."""
        probe = decode(data, self._key)
        if isinstance(probe, Probe) and not self._sensible(probe):
            probe = Rejection.CONTENT
        if isinstance(probe, Rejection):
            self.counts[f"rejected: {probe.value}"] += 1
            return
        if probe.position + 1 < len(probe.way):
            self._pass_on(replace(probe, position=probe.position + 1))
            if probe.kind == PROBE:
                self._answer(probe, PASSED)
        elif probe.kind == PROBE:
            self._answer(probe, ARRIVED)
        else:
            self._heard(probe, now)

    def frames_to_send(self) -> list[tuple[int, bytes]]:
        """(server one hop away, payload) pairs to send now; each is given once."""
        leaving, self._leaving = self._leaving, []
        return leaving

    def _ways(self, server: int, links: LinkState, trial: bool) -> list[Way]:
        """What is probed: the parallel ways that may be up, or a detour; in a ``trial``, or where
        suspicions leave nothing, those over suspected links as well."""
        scheme = self._scheme
        ways = [way for way, _ in scheme.usable(self._node, server) if len(way) > 1]
        suspected = links.fail(self._suspected)
        usable = [way for way in ways if scheme.alive(way, suspected)]
        if not usable:
            detour = scheme.shortest(self._node, server, Ways(scheme.fabric, suspected))
            usable = [] if detour is None else [detour]
        if usable and not trial:
            return usable
        others = [way for way in ways if scheme.alive(way, links)]
        if not others:
            detour = scheme.shortest(self._node, server, Ways(scheme.fabric, links))
            others = [] if detour is None else [detour]
        return usable + [way for way in others if way not in usable]

    def _heard(self, probe: Probe, now: float) -> None:
        """An answer is back: all links that it has crossed are up."""
        asked = self._asked.get(probe.serial) or self._late.get(probe.serial)
        if asked is None or probe.reached <= asked.reached or probe.way != asked.way[probe.reached :: -1]:
            self.counts["known already"] += 1
            return
        asked.reached = probe.reached
        for a, b in pairwise(reversed(probe.way)):
            self._suspected.pop(self._last_link(a, b), None)
        if probe.kind == ARRIVED and self._asked.pop(probe.serial, None) is not None:
            if len(self.round_trips) >= MEMORY:
                self.round_trips.clear()
            before = self.round_trips.get(asked.way, now - asked.since)
            self.round_trips[asked.way] = before + _GAIN * (now - asked.since - before)
            self.counts["answered"] += 1

    def _lost(self, asked: Asked, now: float) -> None:
        """Suspect the link beyond the last server that has acknowledged."""
        self.counts["lost"] += 1
        self.round_trips.pop(asked.way, None)
        if asked.reached + 1 < len(asked.way):
            a, b = asked.way[asked.reached], asked.way[asked.reached + 1]
            self._suspected[self._last_link(a, b)] = now + SUSPICION

    def _last_link(self, a: int, b: int) -> int:
        """The cable between two servers, or the one from the switch between them to the second (had
        the first one's own link died, it would have said so); NONE where nothing joins them."""
        fabric = self._scheme.fabric
        direct = fabric.links_between(a, b)
        if direct:
            return direct[0]
        around = set(fabric.neighbours(a))
        return next((fabric.link_at(b, port) for port, end in fabric.ports(b) if end.node in around), NONE)

    def _sensible(self, probe: Probe) -> bool:
        """True when it is this server's turn, and all servers of the way exist."""
        return probe.way[probe.position] == self._node and max(probe.way) < self._scheme.fabric.servers

    def _answer(self, probe: Probe, kind: int) -> None:
        back = probe.way[probe.position :: -1]
        self._pass_on(Probe(kind, probe.serial, back, 1, probe.position))

    def _pass_on(self, probe: Probe) -> None:
        self.counts["sent"] += 1
        self._leaving.append((probe.way[probe.position], probe.encode(self._key)))
