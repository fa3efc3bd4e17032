"""AACM: the servers of a torus find out where they are (CLOT, section 6; the completed protocol).

The origin sends a Config by each of its ports, which carries the address that its receiver is to take.  A
server waits for all Configs that its address requires, and compares the addresses and the ports by which they
were sent.  If all agree, it takes the address, acknowledges each Config and sends Configs to its other
neighbours. So every link carries one Config and one ACK.  The last server sends Success, which returns to the
origin by the ports at which Configs came first.

Errors are reported to the origin in the same way: addresses or ports that disagree (AddrErr), a link that does
not acknowledge (DeadLink) or, marked as secondary, Configs that do not come.  Then the origin starts a survey
(Combine): every server finds out who is at the other end of each link.  The survey crosses every working link,
so it does not depend on the configuration.  From all answers the origin concludes which cables or servers are
the cause: see :mod:`hostagent.protocols.aacm.diagnosis`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from addressing.fields import ipv4
from hostagent.control.interface import ControlMachine
from hostagent.protocols.aacm.frames import (
    Flag,
    Frame,
    Rejection,
    Report,
    Sighting,
    decode,
    encode,
)
from hostagent.protocols.aacm.origin import ConfigurationOutcome, Origin
from hostagent.protocols.aacm.ports import Coordinates, incoming, opposite, outgoing, step
from hostagent.protocols.aacm.retransmission import AacmTiming, Retransmitter

_EPOCHS = 1 << 16
_SEQUENCES = 1 << 16
_NOTHING = Flag(0)
#: The kinds of frames in counters.
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
class AddressAssigned:
    """Event: a server has taken an address."""

    address: Coordinates
    epoch: int


@dataclass(slots=True)
class _Survey:
    """What a server has seen at its ports, and the port by which the survey came (0: it is the origin)."""

    parent: int
    seen: dict[int, Sighting] = field(default_factory=dict)
    reported: bool = False


@dataclass(slots=True)
class _Configuration:
    """A server's state of one configuration."""

    epoch: int
    sizes: Coordinates
    delivery: Retransmitter
    #: The port of the first Config, by which reports return to the origin.
    parent: int = 0
    claims: dict[int, Frame] = field(default_factory=dict)
    coordinates: Coordinates | None = None
    refused: bool = False
    deadline: float | None = None
    survey: _Survey | None = None
    #: Ports and sequence numbers of the frames that were forwarded to the origin.
    forwarded: set[tuple[int, int]] = field(default_factory=set)


class AacmNode(ControlMachine[AddressAssigned | ConfigurationOutcome]):
    """One server.

    ``number`` is its hardware address, ``ports`` are its ports in the torus.  Frames without a tag by ``key``
    are rejected.
    """

    def __init__(
        self, number: int, ports: Iterable[int], key: bytes | None = None, timing: AacmTiming | None = None
    ) -> None:
        super().__init__()
        self.number = number
        self.ports = frozenset(ports)
        #: Kept during a new configuration until that is agreed.
        self.address: Coordinates | None = None
        self._key = key
        self._timing = timing or AacmTiming()
        self._configuration: _Configuration | None = None
        self._origin: Origin | None = None
        self._sequence = 0

    # --- what the driver calls --------------------------------------------------

    def configure(self, sizes: Coordinates, epoch: int, now: float) -> None:
        """Be the origin of configuration ``epoch`` (one more than the last; its lowest bit is Alt).

        Raises AddressError for radices that give addresses no host can use.
        """
        ipv4.check_radices(sizes)
        current = self._begin(epoch % _EPOCHS, sizes)
        self._origin = Origin(self.number, sizes, self._timing, now)
        self._assign(current, (0,) * len(sizes), now)

    def receive_frame(self, data: bytes, port: int, now: float) -> None:
        """A payload arrived at ``port``; any bytes are legal."""
        frame = decode(data, self._key)
        if isinstance(frame, Rejection):
            self.counts[f"rejected: {frame.value}"] += 1
            return
        current = self._configuration_of(frame) if port in self.ports else None
        if current is None:
            self.counts["rejected: another configuration"] += 1
        elif frame.kind & Flag.ACK:
            self._handle_ack(current, frame, port, now)
        elif frame.kind == Flag.CONFIG:
            self._handle_config(current, frame, port, now)
        elif frame.kind == Flag.COMBINE:
            self._handle_combine(current, frame, port, now)
        else:
            self._forward_to_origin(current, frame, port, now)
        self._conclude(now)

    def next_timer(self) -> float | None:
        """When :meth:`handle_timer` is due, unless another call comes first; None: never."""
        if self._configuration is None:
            return None
        origin = self._origin.next_timer() if self._origin else None
        times = (self._configuration.delivery.next_timer(), self._configuration.deadline, origin)
        return min((time for time in times if time is not None), default=None)

    def handle_timer(self, now: float) -> None:
        """Do everything that is due by ``now``."""
        current = self._configuration
        if current is None:
            return
        again, lost = current.delivery.due(now)
        self.counts["retransmitted"] += len(again)
        self._outgoing += again
        for frame in lost:
            self._handle_timeout(current, frame, now)
        if current.deadline is not None and current.deadline <= now:
            current.deadline = None
            self._alarm(current, Flag.DEAD_LINK, self._missing(current), now, secondary=True)
        self._conclude(now)

    # --- configurations -----------------------------------------------------------

    def _begin(self, epoch: int, sizes: Coordinates) -> _Configuration:
        delivery = Retransmitter(self._timing.interval(sizes), self._timing.attempts)
        self._configuration = _Configuration(epoch, sizes, delivery)
        self._origin = None
        return self._configuration

    def _configuration_of(self, frame: Frame) -> _Configuration | None:
        """The configuration of a frame, which may start a new one; None for an old one."""
        current = self._configuration
        if current is not None and (frame.epoch, frame.sizes) == (current.epoch, current.sizes):
            return current
        newer = current is None or 0 < (frame.epoch - current.epoch) % _EPOCHS < _EPOCHS // 2
        if newer and frame.kind in (Flag.CONFIG, Flag.COMBINE):
            return self._begin(frame.epoch, frame.sizes)
        return None

    def _handle_config(self, current: _Configuration, frame: Frame, port: int, now: float) -> None:
        """A neighbour assigns an address to this server."""
        known = current.claims.get(port)
        if known is not None and (known.address, known.port) == (frame.address, frame.port):
            self._answer(current, port, frame)
            return
        current.claims[port] = frame
        if current.coordinates is None and not current.parent:
            current.parent = port
            current.deadline = now + 2 * self._timing.timeout(current.sizes)
        if not self._agree(current):
            current.refused, current.deadline = current.coordinates is None, None
            self._answer(current, port, frame)
            self._alarm(current, Flag.ADDR_ERR, _sightings(current.claims), now)
        elif current.coordinates is not None:
            self._answer(current, port, frame)
        elif frame.address is not None and self._complete(current, frame.address):
            self._assign(current, frame.address, now)

    def _complete(self, current: _Configuration, coordinates: Coordinates) -> bool:
        """Whether all Configs have come that the address requires."""
        return not current.refused and current.claims.keys() == set(incoming(coordinates, current.sizes))

    def _agree(self, current: _Configuration) -> bool:
        """Whether all Configs assign one address, and arrived at the ports where they belong."""
        places = {frame.address for frame in current.claims.values()}
        if current.coordinates is not None:
            places.add(current.coordinates)
        coordinates = places.pop()
        if places or coordinates is None:
            return False
        ports = set(incoming(coordinates, current.sizes))
        return all(port in ports and frame.port == opposite(port) for port, frame in current.claims.items())

    def _answer(self, current: _Configuration, port: int, frame: Frame) -> None:
        """Acknowledge a Config: agreed, refused, or still waiting for others."""
        if current.refused or not self._agree(current):
            self._acknowledge(current, port, frame, Flag.ADDR_ERR)
        else:
            self._acknowledge(current, port, frame, Flag.DEAD_LINK if current.coordinates is None else _NOTHING)

    def _assign(self, current: _Configuration, coordinates: Coordinates, now: float) -> None:
        """All agree: take the address, acknowledge it, send Configs to the other neighbours."""
        self.address = current.coordinates = coordinates
        current.deadline = None
        self.events.append(AddressAssigned(coordinates, current.epoch))
        for port, frame in current.claims.items():
            self._acknowledge(current, port, frame)
        ports = list(outgoing(coordinates, current.sizes))
        for port in ports:
            self._send(current, Flag.CONFIG, port, now, address=step(coordinates, port, current.sizes))
        if not ports:
            self._send(current, Flag.SUCCESS, current.parent, now)

    # --- towards the origin ---------------------------------------------------------

    def _alarm(
        self,
        current: _Configuration,
        kind: Flag,
        seen: tuple[Sighting, ...],
        now: float,
        secondary: bool = False,
    ) -> None:
        report = Report(self.number, current.coordinates, secondary, seen)
        self._report(current, Flag.REPORT | kind, report.encode(), now)

    def _report(self, current: _Configuration, kind: Flag, data: bytes, now: float) -> None:
        """Send something to the origin, or handle it as the origin."""
        if self._origin is not None:
            if not self._origin.on_message(kind, data, now):
                self.counts["rejected: malformed report"] += 1
            return
        survey = current.survey.parent if current.survey else 0
        port = survey or current.parent if kind & Flag.COMBINE else current.parent or survey
        if port:
            self._send(current, kind, port, now, data=data)

    def _forward_to_origin(self, current: _Configuration, frame: Frame, port: int, now: float) -> None:
        """Forward Success or a Report to the origin."""
        self._acknowledge(current, port, frame)
        if (port, frame.sequence) not in current.forwarded:
            current.forwarded.add((port, frame.sequence))
            self._report(current, frame.kind, frame.data, now)

    def _missing(self, current: _Configuration) -> tuple[Sighting, ...]:
        """The Configs that came and those that did not, at a server that still waits."""
        coordinates = next(iter(current.claims.values())).address
        assert coordinates is not None
        missing = [port for port in incoming(coordinates, current.sizes) if port not in current.claims]
        return _sightings(current.claims) + tuple(
            Sighting(port, 0, opposite(port), step(coordinates, port, current.sizes)) for port in missing
        )

    def _handle_timeout(self, current: _Configuration, frame: Frame, now: float) -> None:
        """A frame was never acknowledged."""
        self.counts["never acknowledged"] += 1
        silence = Sighting(frame.port, 0, opposite(frame.port), frame.address)
        if frame.kind == Flag.CONFIG:
            self._alarm(current, Flag.DEAD_LINK, (silence,), now)
        elif frame.kind == Flag.COMBINE:
            self._record_sighting(current, silence, now)

    def _conclude(self, now: float) -> None:
        """At the origin: start the survey when it is due, and report the outcome."""
        if self._origin is None or self._configuration is None:
            return
        if self._origin.wants_survey(now) and self._configuration.survey is None:
            self._start_survey(self._configuration, 0, now)
        outcome = self._origin.conclusion(now)
        if outcome is not None:
            self.events.append(outcome)

    # --- the survey -------------------------------------------------------------------

    def _handle_combine(self, current: _Configuration, frame: Frame, port: int, now: float) -> None:
        """A neighbour asks who is here; the question also shows who is there."""
        if current.survey is None:
            self._start_survey(current, port, now)
        self._acknowledge(current, port, frame)
        self._record_sighting(current, Sighting(port, frame.server, frame.port, frame.address), now)

    def _start_survey(self, current: _Configuration, parent: int, now: float) -> None:
        """Ask at every port who is there."""
        current.survey = _Survey(parent)
        for port in sorted(self.ports):
            self._send(current, Flag.COMBINE, port, now)

    def _record_sighting(self, current: _Configuration, sighting: Sighting, now: float) -> None:
        """Note who is at a port (server 0: nobody); when all ports are known, report them."""
        survey = current.survey
        if survey is None or survey.reported:
            return
        if sighting.server or sighting.port not in survey.seen:
            survey.seen[sighting.port] = sighting
        if survey.seen.keys() == self.ports:
            survey.reported = True
            report = Report(self.number, current.coordinates, False, tuple(survey.seen.values()))
            self._report(current, Flag.REPORT | Flag.COMBINE, report.encode(), now)

    # --- frames -----------------------------------------------------------------------

    def _handle_ack(self, current: _Configuration, frame: Frame, port: int, now: float) -> None:
        if (
            current.delivery.acknowledge(port, frame)
            and frame.kind & Flag.COMBINE
            and not frame.kind & Flag.REPORT
        ):
            self._record_sighting(current, Sighting(port, frame.server, frame.port, frame.address), now)

    def _send(
        self,
        current: _Configuration,
        kind: Flag,
        port: int,
        now: float,
        address: Coordinates | None = None,
        data: bytes = b"",
    ) -> None:
        """Send a frame, and retransmit it until it is acknowledged."""
        self._sequence = (self._sequence + 1) % _SEQUENCES
        frame = self._frame(current, kind, port, self._sequence, address or current.coordinates, data)
        current.delivery.track(frame, self._enqueue(frame), now)

    def _acknowledge(self, current: _Configuration, port: int, frame: Frame, verdict: Flag = _NOTHING) -> None:
        kind = frame.kind | Flag.ACK | verdict
        self._enqueue(self._frame(current, kind, port, frame.sequence, current.coordinates, b""))

    def _frame(
        self,
        current: _Configuration,
        kind: Flag,
        port: int,
        sequence: int,
        address: Coordinates | None,
        data: bytes,
    ) -> Frame:
        return Frame(kind, port, current.epoch, sequence, self.number, address, current.sizes, data)

    def _enqueue(self, frame: Frame) -> bytes:
        data = encode(frame, self._key)
        self._outgoing.append((frame.port, data))
        name = _NAMES.get(frame.kind) or ("report ack" if frame.kind & Flag.ACK else "report")
        self.counts[f"sent {name}"] += 1
        return data


def _sightings(claims: dict[int, Frame]) -> tuple[Sighting, ...]:
    """Configs as entries of a report."""
    return tuple(Sighting(port, f.server, f.port, f.address) for port, f in claims.items())
