"""Distributed labelling: every node learns its free-group label from its parent (WMGR, section IV-A).

Neighbours send each other advertisements: which root they follow, the ports on the path from there (the *path
vector*), whose child they are, and their label.  A node advertises again when something changes; the latest
advertisement counts.  All are acknowledged, and retransmitted until they are.

A node follows the root of the lowest rank, by the ShortLex-least path vector.  So its parent is the one that a
breadth-first search in port order would choose.  A parent assigns letters when all its neighbours know its path
vector: then it knows who its children are.  The labels of its descendants
follow from the root down.

When a port goes down or comes up, the node starts a new *epoch*: all nodes forget everything, and the labels
are those of the links that are up.  A component that is cut off from the root waits for a while, then follows
the node of the lowest number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from addressing.algorithms.freegroup import common_prefix_length
from hostagent.control.authentication import Rejection
from hostagent.control.interface import ControlMachine
from hostagent.protocols.labelling.frames import NO_ROOT, Advertisement, Frame, Label, decode, encode

_SEQUENCES = 1 << 16


@dataclass(frozen=True)
class LabellingTiming:
    """The timers of labelling, in seconds.

    ``interval`` is the time until a retransmission; after ``attempts`` the port counts as down.  ``timeout`` is
    how long a node waits for a root before it becomes a candidate.
    """

    interval: float = 0.1
    attempts: int = 20
    timeout: float = 1.0


@dataclass(frozen=True, slots=True)
class LabelAssigned:
    """Event: a node has a label, or a new one."""

    label: Label
    epoch: int
    at: float


@dataclass(slots=True)
class _Neighbour:
    """What was sent to and received from the other end of a port in this epoch."""

    advertised: Advertisement | None = None
    sequence: int = 0
    acknowledged: bool = True
    #: Whether the other end has acknowledged the present path vector.
    knows_path_vector: bool = False
    attempts: int = 0
    due: float = 0.0
    received: Advertisement | None = None
    #: The sequence number of the last advertisement received, and the port at the other end.
    last_received: int = 0
    port: int = 0


@dataclass(eq=False)
class Labeller(ControlMachine[LabelAssigned]):
    """One node; ``rank`` is 0 at the chosen root, elsewhere the node's number plus one."""

    rank: int
    ports: Iterable[int]
    key: bytes | None = None
    timing: LabellingTiming = field(default_factory=LabellingTiming)
    epoch: int = 0
    label: Label | None = None

    _up: set[int] = field(init=False)
    _neighbours: dict[int, _Neighbour] = field(init=False, default_factory=dict)
    _path_vector: tuple[int, ...] | None = field(init=False, default=None)
    _root: int = field(init=False, default=NO_ROOT)
    _parent: int = field(init=False, default=0)
    _root_candidate: bool = field(init=False, default=False)
    _deadline: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        super().__init__()
        self._up = set(self.ports)
        self._neighbours = {port: _Neighbour() for port in sorted(self._up)}

    # --- what the driver calls --------------------------------------------------

    def start(self, now: float) -> None:
        """Start a new epoch: at the root for the first labels, anywhere for new ones."""
        self._start_epoch(self.epoch + 1, now)
        self._update(now)

    def handle_link_change(self, port: int, up: bool, now: float) -> None:
        """A port goes down or comes up; this starts a new epoch unless nothing was ever received there."""
        if up == (port in self._up) or port not in self._neighbours:
            return
        was_used = self._neighbours[port].received is not None
        (self._up.add if up else self._up.discard)(port)
        self._neighbours[port] = _Neighbour()
        if self.epoch and (up or was_used):
            self.start(now)
        else:
            self._update(now)

    def receive_frame(self, data: bytes, port: int, now: float) -> None:
        """A payload arrived at ``port``; any bytes are legal."""
        frame = decode(data, self.key)
        if isinstance(frame, Rejection):
            self.counts[f"rejected: {frame.value}"] += 1
            return
        if port not in self._neighbours:
            self.counts["rejected: no such port"] += 1
            return
        if frame.epoch > self.epoch:
            self._start_epoch(frame.epoch, now)
        if port not in self._up:  # it did not answer, or its carrier is back and not reported yet
            self._up.add(port)
            self._start_epoch(self.epoch + 1, now)
        elif frame.epoch == self.epoch:
            self._handle_frame(frame, port)
        else:
            self._neighbours[port].advertised = None  # the neighbour is in an older epoch: advertise again
        self._update(now)
        self._acknowledge(frame, port)

    def next_timer(self) -> float | None:
        """When :meth:`handle_timer` is due, unless another call comes first; None: never."""
        waiting = (self._neighbours[port] for port in self._up)
        times = [neighbour.due for neighbour in waiting if not neighbour.acknowledged]
        if self._deadline is not None:
            times.append(self._deadline)
        return min(times, default=None)

    def handle_timer(self, now: float) -> None:
        """Retransmit, give up ports that do not answer, become a candidate for the root."""
        for port in sorted(self._up):
            neighbour = self._neighbours[port]
            if neighbour.acknowledged or neighbour.due > now:
                continue
            if neighbour.attempts < self.timing.attempts:
                self.counts["retransmitted"] += 1
                self._send(port, neighbour, now)
            else:
                self.counts["silent ports"] += 1
                self.handle_link_change(port, False, now)
        if self._deadline is not None and self._deadline <= now:
            self._deadline, self._root_candidate = None, True
        self._update(now)

    # --- what it has learned ----------------------------------------------------

    @property
    def root(self) -> int | None:
        """The rank of the root that this node follows; None without one."""
        return None if self._path_vector is None else self._root

    @property
    def parent(self) -> int:
        """The port to the parent; 0 at a root and without one."""
        return self._parent

    def next_port(self, word: tuple[int, ...]) -> int | None:
        """Algorithm 2 on the learned labels: the port to the neighbour nearest to a word by the word metric.

        The first port on ties; None if no neighbour is nearer than this node.
        """
        if self.label is None:
            return None
        best, chosen = self._metric(self.label.word, word), None
        for port in sorted(self._up):
            received = self._neighbours[port].received
            theirs = self._word_at(port, received) if received is not None else None
            if theirs is not None and (distance := self._metric(theirs, word)) < best:
                best, chosen = distance, port
        return chosen

    def _word_at(self, port: int, received: Advertisement) -> tuple[int, ...] | None:
        if received.label is not None and received.root == self._root:
            return received.label.word
        return None

    @staticmethod
    def _metric(a: tuple[int, ...], b: tuple[int, ...]) -> int:
        return len(a) + len(b) - 2 * common_prefix_length(a, b)

    # --- receiving --------------------------------------------------------------

    def _start_epoch(self, epoch: int, now: float) -> None:
        """Forget everything and start an epoch."""
        self.epoch, self.label = epoch, None
        self._neighbours = {port: _Neighbour() for port in self._neighbours}
        self._path_vector, self._root, self._parent, self._root_candidate = None, NO_ROOT, 0, self.rank == 0
        self._deadline = now + self.timing.timeout

    def _handle_frame(self, frame: Frame, port: int) -> None:
        neighbour = self._neighbours[port]
        if frame.last_received == neighbour.sequence and neighbour.advertised is not None:
            neighbour.acknowledged = neighbour.knows_path_vector = True
        newer = 0 < (frame.sequence - neighbour.last_received) % _SEQUENCES < _SEQUENCES // 2
        if frame.advertisement is not None and newer:
            neighbour.received, neighbour.last_received, neighbour.port = (
                frame.advertisement,
                frame.sequence,
                frame.port,
            )

    def _update(self, now: float) -> None:
        """Update everything that follows from the neighbours' advertisements, and advertise changes."""
        if not self.epoch:
            return
        self._select_root()
        self._take_label(now)
        letters = self._letters()
        for port in sorted(self._up):
            neighbour, letter = self._neighbours[port], letters.get(port, 0)
            width = len(letters).bit_length() if letter else 0
            advertisement = Advertisement(
                self._root, self._path_vector or (), port == self._parent, self.label, letter, width
            )  # fmt: skip
            if advertisement != neighbour.advertised:
                neighbour.knows_path_vector &= (
                    neighbour.advertised is not None
                    and neighbour.advertised.path_vector == advertisement.path_vector
                )
                neighbour.advertised, neighbour.attempts = advertisement, 0
                neighbour.sequence = (neighbour.sequence + 1) % _SEQUENCES
                self._send(port, neighbour, now)

    def _select_root(self) -> None:
        """Select the lowest root, and the ShortLex-least path vector from it."""
        offers: list[tuple[int, int, tuple[int, ...], int]] = []
        for port in self._up:
            neighbour = self._neighbours[port]
            if neighbour.received is not None and neighbour.received.root != NO_ROOT:
                path_vector = (*neighbour.received.path_vector, neighbour.port)
                offers.append((neighbour.received.root, len(path_vector), path_vector, port))
        if offers and self.rank < min(offers)[0]:
            self._root_candidate = True  # the other candidate was earlier, but has a higher rank
        if self._root_candidate:
            offers.append((self.rank, 0, (), 0))
        root, _, path_vector, parent = min(offers, default=(NO_ROOT, 0, (), 0))
        if root == NO_ROOT or (root, path_vector) == (self._root, self._path_vector):
            return
        self._root, self._path_vector, self._parent, self.label, self._deadline = (
            root,
            path_vector,
            parent,
            None,
            None,
        )
        for neighbour in self._neighbours.values():
            neighbour.knows_path_vector = False

    def _take_label(self, now: float) -> None:
        """Take the label that follows from the parent's advertisement."""
        if self._path_vector is None:
            return
        label: Label | None = Label()
        if self._parent:
            received = self._neighbours[self._parent].received
            assert received is not None
            fits = (
                received.path_vector == self._path_vector[:-1]
                and received.label is not None
                and received.letter
            )
            label = received.label.child(received.letter, received.width) if fits and received.label else None
        if label != self.label:
            self.label = label
            if label is not None:
                self.events.append(LabelAssigned(label, self.epoch, now))

    def _letters(self) -> dict[int, int]:
        """The children's letters by port; none before all neighbours know this node's path vector."""
        if self.label is None or not all(self._neighbours[port].knows_path_vector for port in self._up):
            return {}
        children = [port for port in sorted(self._up) if self._is_child(port)]
        return {port: letter for letter, port in enumerate(children, start=1)}

    def _is_child(self, port: int) -> bool:
        received = self._neighbours[port].received
        if received is None or self._path_vector is None:
            return False
        return received.parent and (received.root, received.path_vector) == (
            self._root,
            (*self._path_vector, port),
        )

    # --- sending ----------------------------------------------------------------

    def _send(self, port: int, neighbour: _Neighbour, now: float) -> None:
        neighbour.acknowledged, neighbour.due = False, now + self.timing.interval
        neighbour.attempts += 1
        self._emit(Frame(port, self.epoch, neighbour.sequence, neighbour.last_received, neighbour.advertised))

    def _acknowledge(self, frame: Frame, port: int) -> None:
        """Acknowledge an advertisement, unless a frame that is queued does so already."""
        if frame.advertisement is None or frame.epoch != self.epoch:
            return
        neighbour = self._neighbours[port]
        if not any(out == port for out, _ in self._outgoing):
            self._emit(Frame(port, self.epoch, neighbour.sequence, neighbour.last_received, None))

    def _emit(self, frame: Frame) -> None:
        self.counts["sent advertisement" if frame.advertisement else "sent ack"] += 1
        self._outgoing.append((frame.port, encode(frame, self.key)))
