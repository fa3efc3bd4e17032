"""AACM: the servers of a torus find out where they are (CLOT, section AACM; the completed protocol).

The origin sends a Config by each of its ports; it carries the address that its receiver
is to take.  A station waits for all Configs that its address calls for, compares them
and the ports by which they were sent, and if all agree takes the address, acknowledges
each and sends Configs on.  So every cable carries one Config and one ACK.  The last
station sends Success back, along the ports at which Configs came first.

When something does not fit, a station reports it to the origin the same way: addresses
or ports that disagree (AddrErr), a link that does not acknowledge (DeadLink), or, marked
as secondary, Configs that do not come.  The origin then has everybody look who is at the
other end of each cable (Combine; the question runs over every cable that works, so it
does not depend on what was configured) and finds from all answers which cables or
servers are the cause: see :mod:`hostagent.protocols.aacm.diagnosis`.

A :class:`Station` has no socket and no clock: it is told of frames and of the time, in
seconds on any steady clock, and says what to send and when to be asked again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from hostagent.protocols.aacm.frames import (
    Flag,
    Frame,
    Rejection,
    Report,
    Sighting,
    check_sizes,
    decode,
    encode,
)
from hostagent.protocols.aacm.origin import Origin, Outcome
from hostagent.protocols.aacm.ports import Coordinates, incoming, opposite, outgoing, step
from hostagent.protocols.aacm.retransmission import Delivery, Timing

_EPOCHS = 1 << 16
_SEQUENCES = 1 << 16
_NOTHING = Flag(0)
#: What counters call the kinds of frames.
_NAMES = {
    Flag.CONFIG: "config",
    Flag.CONFIG | Flag.ACK: "config ack",
    Flag.CONFIG | Flag.ACK | Flag.ADDR_ERR: "config refused",
    Flag.CONFIG | Flag.ACK | Flag.DEAD_LINK: "config waiting",
    Flag.COMBINE: "survey",
    Flag.COMBINE | Flag.ACK: "survey ack",
    Flag.SUCCESS: "success",
    Flag.SUCCESS | Flag.ACK: "success ack",
}


@dataclass(frozen=True, slots=True)
class Taken:
    """The news that a station has taken an address."""

    address: Coordinates
    epoch: int


@dataclass(slots=True)
class _Survey:
    """What a station has seen at its ports, and the port by which it was asked to look (0: nobody asked)."""

    parent: int
    seen: dict[int, Sighting] = field(default_factory=dict)
    reported: bool = False


@dataclass(slots=True)
class _Round:
    """One configuration as a station knows it."""

    epoch: int
    sizes: Coordinates
    delivery: Delivery
    #: The port of the first Config: the way back to the origin.
    parent: int = 0
    claims: dict[int, Frame] = field(default_factory=dict)
    place: Coordinates | None = None
    refused: bool = False
    deadline: float | None = None
    survey: _Survey | None = None
    #: Ports and sequence numbers of what was passed on towards the origin.
    passed: set[tuple[int, int]] = field(default_factory=set)


class Station:
    """One server.  ``number`` is its hardware address, ``ports`` those of its cards that lie in the
    torus; frames without a tag by ``key`` are refused."""

    def __init__(
        self, number: int, ports: Iterable[int], key: bytes | None = None, timing: Timing | None = None
    ) -> None:
        self.number = number
        self.ports = frozenset(ports)
        #: Kept while a new configuration is under way, until that is agreed.
        self.address: Coordinates | None = None
        #: Frames sent by kind, frames rejected by reason.
        self.counts: Counter[str] = Counter()
        #: What has happened since the driver last emptied it.
        self.news: list[Taken | Outcome] = []
        self._key = key
        self._timing = timing or Timing()
        self._round: _Round | None = None
        self._origin: Origin | None = None
        self._sequence = 0
        self._leaving: list[tuple[int, bytes]] = []

    # --- what the driver calls --------------------------------------------------

    def configure(self, sizes: Coordinates, epoch: int, now: float) -> None:
        """Be the origin of configuration ``epoch`` (one more than the last; its lowest bit is Alt).

        Raises AddressError for radices that give addresses no host can use.
        """
        check_sizes(sizes)
        current = self._begin(epoch % _EPOCHS, sizes)
        self._origin = Origin(self.number, sizes, self._timing, now)
        self._take(current, (0,) * len(sizes), now)

    def receive_frame(self, data: bytes, port: int, now: float) -> None:
        """Bytes that arrived at ``port``, whatever they are."""
        frame = decode(data, self._key)
        if isinstance(frame, Rejection):
            self.counts[f"rejected: {frame.value}"] += 1
            return
        current = self._round_of(frame) if port in self.ports else None
        if current is None:
            self.counts["rejected: another configuration"] += 1
        elif frame.kind & Flag.ACK:
            self._acknowledged(current, frame, port, now)
        elif frame.kind == Flag.CONFIG:
            self._told(current, frame, port, now)
        elif frame.kind == Flag.COMBINE:
            self._asked(current, frame, port, now)
        else:
            self._pass_on(current, frame, port, now)
        self._conclude(now)

    def frames_to_send(self) -> list[tuple[int, bytes]]:
        """(port, bytes) pairs to send now; each is given once."""
        leaving, self._leaving = self._leaving, []
        return leaving

    def next_timer(self) -> float | None:
        """When :meth:`handle_timer` is to be called, if nothing happens before."""
        if self._round is None:
            return None
        origin = self._origin.next_timer() if self._origin else None
        times = (self._round.delivery.next_timer(), self._round.deadline, origin)
        return min((time for time in times if time is not None), default=None)

    def handle_timer(self, now: float) -> None:
        """Do what was to be done by ``now``."""
        current = self._round
        if current is None:
            return
        again, lost = current.delivery.due(now)
        self.counts["sent again"] += len(again)
        self._leaving += again
        for frame in lost:
            self._given_up(current, frame, now)
        if current.deadline is not None and current.deadline <= now:
            current.deadline = None
            self._alarm(current, Flag.DEAD_LINK, self._missing(current), now, secondary=True)
        self._conclude(now)

    # --- configurations -----------------------------------------------------------

    def _begin(self, epoch: int, sizes: Coordinates) -> _Round:
        delivery = Delivery(self._timing.interval(sizes), self._timing.attempts)
        self._round = _Round(epoch, sizes, delivery)
        self._origin = None
        return self._round

    def _round_of(self, frame: Frame) -> _Round | None:
        """The configuration that a frame belongs to, a new one if it begins that; None if it is over."""
        current = self._round
        if current is not None and (frame.epoch, frame.sizes) == (current.epoch, current.sizes):
            return current
        newer = current is None or 0 < (frame.epoch - current.epoch) % _EPOCHS < _EPOCHS // 2
        if newer and frame.kind in (Flag.CONFIG, Flag.COMBINE):
            return self._begin(frame.epoch, frame.sizes)
        return None

    def _told(self, current: _Round, frame: Frame, port: int, now: float) -> None:
        """A neighbour says which address this station has."""
        known = current.claims.get(port)
        if known is not None and (known.address, known.port) == (frame.address, frame.port):
            self._answer(current, port, frame)
            return
        current.claims[port] = frame
        if current.place is None and not current.parent:
            current.parent = port
            current.deadline = now + 2 * self._timing.patience(current.sizes)
        if not self._agree(current):
            current.refused, current.deadline = current.place is None, None
            self._answer(current, port, frame)
            self._alarm(current, Flag.ADDR_ERR, _seen(current.claims), now)
        elif current.place is not None:
            self._answer(current, port, frame)
        elif frame.address is not None and self._complete(current, frame.address):
            self._take(current, frame.address, now)

    def _complete(self, current: _Round, place: Coordinates) -> bool:
        """Whether all Configs have come that the address calls for."""
        return not current.refused and current.claims.keys() == set(incoming(place, current.sizes))

    def _agree(self, current: _Round) -> bool:
        """Whether all Configs give one address, and arrived at the ports at which they belong."""
        places = {frame.address for frame in current.claims.values()}
        if current.place is not None:
            places.add(current.place)
        place = places.pop()
        if places or place is None:
            return False
        ports = set(incoming(place, current.sizes))
        return all(port in ports and frame.port == opposite(port) for port, frame in current.claims.items())

    def _answer(self, current: _Round, port: int, frame: Frame) -> None:
        """Acknowledge a Config: it is agreed, refused, or others are still awaited."""
        if current.refused or not self._agree(current):
            self._acknowledge(current, port, frame, Flag.ADDR_ERR)
        else:
            self._acknowledge(current, port, frame, Flag.DEAD_LINK if current.place is None else _NOTHING)

    def _take(self, current: _Round, place: Coordinates, now: float) -> None:
        """All agree: take the address, acknowledge it, tell the next."""
        self.address = current.place = place
        current.deadline = None
        self.news.append(Taken(place, current.epoch))
        for port, frame in current.claims.items():
            self._acknowledge(current, port, frame)
        ports = list(outgoing(place, current.sizes))
        for port in ports:
            self._send(current, Flag.CONFIG, port, now, address=step(place, port, current.sizes))
        if not ports:
            self._send(current, Flag.SUCCESS, current.parent, now)

    # --- towards the origin ---------------------------------------------------------

    def _alarm(
        self, current: _Round, kind: Flag, seen: tuple[Sighting, ...], now: float, secondary: bool = False
    ) -> None:
        report = Report(self.number, current.place, secondary, seen)
        self._report(current, Flag.REPORT | kind, report.encode(), now)

    def _report(self, current: _Round, kind: Flag, data: bytes, now: float) -> None:
        """Send something towards the origin, or be the origin that it reaches."""
        if self._origin is not None:
            if not self._origin.hear(kind, data, now):
                self.counts["rejected: malformed report"] += 1
            return
        survey = current.survey.parent if current.survey else 0
        port = survey or current.parent if kind & Flag.COMBINE else current.parent or survey
        if port:
            self._send(current, kind, port, now, data=data)

    def _pass_on(self, current: _Round, frame: Frame, port: int, now: float) -> None:
        """Success or a Report on its way to the origin."""
        self._acknowledge(current, port, frame)
        if (port, frame.sequence) not in current.passed:
            current.passed.add((port, frame.sequence))
            self._report(current, frame.kind, frame.data, now)

    def _missing(self, current: _Round) -> tuple[Sighting, ...]:
        """What came and what did not, at a station that still waits."""
        place = next(iter(current.claims.values())).address
        assert place is not None
        silent = [port for port in incoming(place, current.sizes) if port not in current.claims]
        return _seen(current.claims) + tuple(
            Sighting(port, 0, opposite(port), step(place, port, current.sizes)) for port in silent
        )

    def _given_up(self, current: _Round, frame: Frame, now: float) -> None:
        """A frame was never acknowledged."""
        self.counts["never acknowledged"] += 1
        silence = Sighting(frame.port, 0, opposite(frame.port), frame.address)
        if frame.kind == Flag.CONFIG:
            self._alarm(current, Flag.DEAD_LINK, (silence,), now)
        elif frame.kind == Flag.COMBINE:
            self._saw(current, silence, now)

    def _conclude(self, now: float) -> None:
        """As the origin: begin the survey when it is time, and tell the outcome."""
        if self._origin is None or self._round is None:
            return
        if self._origin.wants_survey(now) and self._round.survey is None:
            self._look(self._round, 0, now)
        outcome = self._origin.conclusion(now)
        if outcome is not None:
            self.news.append(outcome)

    # --- the survey -------------------------------------------------------------------

    def _asked(self, current: _Round, frame: Frame, port: int, now: float) -> None:
        """A neighbour wants to know who is here, and so says who is there."""
        if current.survey is None:
            self._look(current, port, now)
        self._acknowledge(current, port, frame)
        self._saw(current, Sighting(port, frame.station, frame.port, frame.address), now)

    def _look(self, current: _Round, parent: int, now: float) -> None:
        """Ask at every port who is there."""
        current.survey = _Survey(parent)
        for port in sorted(self.ports):
            self._send(current, Flag.COMBINE, port, now)

    def _saw(self, current: _Round, sighting: Sighting, now: float) -> None:
        """Somebody, or nobody, is at a port; when that is known of all, report it."""
        survey = current.survey
        if survey is None or survey.reported:
            return
        if sighting.station or sighting.port not in survey.seen:
            survey.seen[sighting.port] = sighting
        if survey.seen.keys() == self.ports:
            survey.reported = True
            report = Report(self.number, current.place, False, tuple(survey.seen.values()))
            self._report(current, Flag.REPORT | Flag.COMBINE, report.encode(), now)

    # --- frames -----------------------------------------------------------------------

    def _acknowledged(self, current: _Round, frame: Frame, port: int, now: float) -> None:
        if (
            current.delivery.acknowledge(port, frame)
            and frame.kind & Flag.COMBINE
            and not frame.kind & Flag.REPORT
        ):
            self._saw(current, Sighting(port, frame.station, frame.port, frame.address), now)

    def _send(
        self,
        current: _Round,
        kind: Flag,
        port: int,
        now: float,
        address: Coordinates | None = None,
        data: bytes = b"",
    ) -> None:
        """Send a frame, again and again until it is acknowledged."""
        self._sequence = (self._sequence + 1) % _SEQUENCES
        frame = self._frame(current, kind, port, self._sequence, address or current.place, data)
        current.delivery.watch(frame, self._leave(frame), now)

    def _acknowledge(self, current: _Round, port: int, frame: Frame, verdict: Flag = _NOTHING) -> None:
        kind = frame.kind | Flag.ACK | verdict
        self._leave(self._frame(current, kind, port, frame.sequence, current.place, b""))

    def _frame(
        self, current: _Round, kind: Flag, port: int, sequence: int, address: Coordinates | None, data: bytes
    ) -> Frame:
        return Frame(kind, port, current.epoch, sequence, self.number, address, current.sizes, data)

    def _leave(self, frame: Frame) -> bytes:
        data = encode(frame, self._key)
        self._leaving.append((frame.port, data))
        name = _NAMES.get(frame.kind) or ("report ack" if frame.kind & Flag.ACK else "report")
        self.counts[f"sent {name}"] += 1
        return data


def _seen(claims: dict[int, Frame]) -> tuple[Sighting, ...]:
    """Configs as a report tells of them."""
    return tuple(Sighting(port, f.station, f.port, f.address) for port, f in claims.items())
