"""Distributed labelling: every node learns its free-group label from its parent (WMGR, section IV-A).

Neighbours tell each other what they are: which root they follow and by which ports the
way from there goes (the *trail*), whose child they are, and their label.  Whoever's tale
changes tells it anew; a tale counts until the next; all are acknowledged and sent again
until they are.  A node follows the root of the least rank, by the ShortLex-least trail:
so its parent is who a breadth-first search in port order would give it.  A parent gives
out letters when all its neighbours have heard of its trail, that is, when it knows who its
children are; their labels, and their children's, follow from the root down.

When a port goes or comes back, the node begins a new *epoch*: everybody forgets and starts
anew, and the labels are those of what is up.  A piece that is cut off from the root finds
none for a while and then follows its least number.

A :class:`Labeller` has no socket and no clock: it is told of frames and of the time, in
seconds on any steady clock, and says what to send and when to be asked again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from addressing.algorithms.freegroup import shared
from hostagent.protocols.authentication import Rejection
from hostagent.protocols.labelling.frames import NO_ROOT, Frame, Label, Tale, decode, encode

_SEQUENCES = 1 << 16


@dataclass(frozen=True)
class Timing:
    """Seconds until a tale is sent again, how often before the port counts as down, and how long a
    node looks out for a root before it offers itself."""

    interval: float = 0.1
    attempts: int = 20
    patience: float = 1.0


@dataclass(frozen=True, slots=True)
class Labelled:
    """The news that a node has a label, or another one than before."""

    label: Label
    epoch: int
    at: float


@dataclass(slots=True)
class _Neighbour:
    """What was told to and heard from the other end of a port in this epoch."""

    told: Tale | None = None
    sequence: int = 0
    acknowledged: bool = True
    #: Whether the other end has heard of the trail that this node has now.
    knows_trail: bool = False
    attempts: int = 0
    due: float = 0.0
    said: Tale | None = None
    #: The number of the last tale heard, and the port at the other end.
    heard: int = 0
    port: int = 0


@dataclass(slots=True)
class Labeller:
    """One node; ``rank`` is 0 at the root that was chosen, elsewhere the node's number plus one."""

    rank: int
    ports: Iterable[int]
    key: bytes | None = None
    timing: Timing = field(default_factory=Timing)
    epoch: int = 0
    label: Label | None = None
    #: Frames sent by kind, frames rejected by reason.
    counts: Counter[str] = field(default_factory=Counter)
    #: What has happened since the driver last emptied it.
    news: list[Labelled] = field(default_factory=list)

    _up: set[int] = field(init=False)
    _around: dict[int, _Neighbour] = field(init=False, default_factory=dict)
    _trail: tuple[int, ...] | None = field(init=False, default=None)
    _root: int = field(init=False, default=NO_ROOT)
    _parent: int = field(init=False, default=0)
    _offers: bool = field(init=False, default=False)
    _deadline: float | None = field(init=False, default=None)
    _leaving: list[tuple[int, bytes]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self._up = set(self.ports)
        self._around = {port: _Neighbour() for port in sorted(self._up)}

    # --- what the driver calls --------------------------------------------------

    def start(self, now: float) -> None:
        """Begin a new epoch: at the root for the first labels, anywhere for new ones."""
        self._begin(self.epoch + 1, now)
        self._follow(now)

    def carrier(self, port: int, up: bool, now: float) -> None:
        """A port has a carrier or not; labels are learned anew unless nobody spoke there."""
        if up == (port in self._up) or port not in self._around:
            return
        spoke = self._around[port].said is not None
        (self._up.add if up else self._up.discard)(port)
        self._around[port] = _Neighbour()
        if self.epoch and (up or spoke):
            self.start(now)
        else:
            self._follow(now)

    def receive_frame(self, data: bytes, port: int, now: float) -> None:
        """Bytes that arrived at ``port``, whatever they are."""
        frame = decode(data, self.key)
        if isinstance(frame, Rejection):
            self.counts[f"rejected: {frame.value}"] += 1
            return
        if port not in self._around:
            self.counts["rejected: no such port"] += 1
            return
        if frame.epoch > self.epoch:
            self._begin(frame.epoch, now)
        if port not in self._up:  # it was silent, or its carrier is back and nobody said so yet
            self._up.add(port)
            self._begin(self.epoch + 1, now)
        elif frame.epoch == self.epoch:
            self._hear(frame, port)
        else:
            self._around[port].told = None  # somebody lags behind: tell it again
        self._follow(now)
        self._acknowledge(frame, port)

    def frames_to_send(self) -> list[tuple[int, bytes]]:
        """(port, bytes) pairs to send now; each is given once."""
        leaving, self._leaving = self._leaving, []
        return leaving

    def next_timer(self) -> float | None:
        """When :meth:`handle_timer` is to be called, if nothing happens before."""
        waiting = (self._around[port] for port in self._up)
        times = [around.due for around in waiting if not around.acknowledged]
        if self._deadline is not None:
            times.append(self._deadline)
        return min(times, default=None)

    def handle_timer(self, now: float) -> None:
        """Send again what was not acknowledged, give up silent ports, offer oneself as a root."""
        for port in sorted(self._up):
            around = self._around[port]
            if around.acknowledged or around.due > now:
                continue
            if around.attempts < self.timing.attempts:
                self.counts["sent again"] += 1
                self._send(port, around, now)
            else:
                self.counts["silent ports"] += 1
                self.carrier(port, False, now)
        if self._deadline is not None and self._deadline <= now:
            self._deadline, self._offers = None, True
        self._follow(now)

    # --- what it has learned ----------------------------------------------------

    @property
    def root(self) -> int | None:
        """The rank of the root that this node follows; None without one."""
        return None if self._trail is None else self._root

    @property
    def parent(self) -> int:
        """The port to the parent; 0 at a root and without one."""
        return self._parent

    def next_port(self, word: tuple[int, ...]) -> int | None:
        """Algorithm 2 on what was learned: the port to the neighbour that is nearest to a word by the
        word metric, the first on ties; None where none is nearer than this node."""
        if self.label is None:
            return None
        best, chosen = self._metric(self.label.word, word), None
        for port in sorted(self._up):
            said = self._around[port].said
            theirs = self._word_at(port, said) if said is not None else None
            if theirs is not None and (distance := self._metric(theirs, word)) < best:
                best, chosen = distance, port
        return chosen

    def _word_at(self, port: int, said: Tale) -> tuple[int, ...] | None:
        if said.label is not None and said.root == self._root:
            return said.label.word
        return None

    @staticmethod
    def _metric(a: tuple[int, ...], b: tuple[int, ...]) -> int:
        return len(a) + len(b) - 2 * shared(a, b)

    # --- hearing ----------------------------------------------------------------

    def _begin(self, epoch: int, now: float) -> None:
        """Forget everything: a new epoch."""
        self.epoch, self.label = epoch, None
        self._around = {port: _Neighbour() for port in self._around}
        self._trail, self._root, self._parent, self._offers = None, NO_ROOT, 0, self.rank == 0
        self._deadline = now + self.timing.patience

    def _hear(self, frame: Frame, port: int) -> None:
        around = self._around[port]
        if frame.heard == around.sequence and around.told is not None:
            around.acknowledged = around.knows_trail = True
        newer = 0 < (frame.sequence - around.heard) % _SEQUENCES < _SEQUENCES // 2
        if frame.tale is not None and newer:
            around.said, around.heard, around.port = frame.tale, frame.sequence, frame.port

    def _follow(self, now: float) -> None:
        """Bring everything that follows from the neighbours' tales up to date, and tell what changed."""
        if not self.epoch:
            return
        self._choose()
        self._take_label(now)
        letters = self._letters()
        for port in sorted(self._up):
            around, letter = self._around[port], letters.get(port, 0)
            width = len(letters).bit_length() if letter else 0
            tale = Tale(
                self._root, self._trail or (), port == self._parent, self.label, letter, width
            )  # fmt: skip
            if tale != around.told:
                around.knows_trail &= around.told is not None and around.told.trail == tale.trail
                around.told, around.attempts = tale, 0
                around.sequence = (around.sequence + 1) % _SEQUENCES
                self._send(port, around, now)

    def _choose(self) -> None:
        """The least root, and the ShortLex-least trail from it."""
        offers: list[tuple[int, int, tuple[int, ...], int]] = []
        for port in self._up:
            around = self._around[port]
            if around.said is not None and around.said.root != NO_ROOT:
                trail = (*around.said.trail, around.port)
                offers.append((around.said.root, len(trail), trail, port))
        if offers and self.rank < min(offers)[0]:
            self._offers = True  # whoever began to offer itself was early, not least
        if self._offers:
            offers.append((self.rank, 0, (), 0))
        root, _, trail, parent = min(offers, default=(NO_ROOT, 0, (), 0))
        if root == NO_ROOT or (root, trail) == (self._root, self._trail):
            return
        self._root, self._trail, self._parent, self.label, self._deadline = root, trail, parent, None, None
        for around in self._around.values():
            around.knows_trail = False

    def _take_label(self, now: float) -> None:
        """The label that this node has by its parent's tale."""
        if self._trail is None:
            return
        label: Label | None = Label()
        if self._parent:
            said = self._around[self._parent].said
            assert said is not None
            fits = said.trail == self._trail[:-1] and said.label is not None and said.letter
            label = said.label.child(said.letter, said.width) if fits and said.label else None
        if label != self.label:
            self.label = label
            if label is not None:
                self.news.append(Labelled(label, self.epoch, now))

    def _letters(self) -> dict[int, int]:
        """The children's letters by port; none before all neighbours know this node's trail."""
        if self.label is None or not all(self._around[port].knows_trail for port in self._up):
            return {}
        children = [port for port in sorted(self._up) if self._is_child(port)]
        return {port: letter for letter, port in enumerate(children, start=1)}

    def _is_child(self, port: int) -> bool:
        said = self._around[port].said
        if said is None or self._trail is None:
            return False
        return said.parent and (said.root, said.trail) == (self._root, (*self._trail, port))

    # --- speaking ---------------------------------------------------------------

    def _send(self, port: int, around: _Neighbour, now: float) -> None:
        around.acknowledged, around.due = False, now + self.timing.interval
        around.attempts += 1
        self._emit(Frame(port, self.epoch, around.sequence, around.heard, around.told))

    def _acknowledge(self, frame: Frame, port: int) -> None:
        """Say that a tale was heard, unless a tale of one's own has just said so."""
        if frame.tale is None or frame.epoch != self.epoch:
            return
        around = self._around[port]
        if not any(out == port for out, _ in self._leaving):
            self._emit(Frame(port, self.epoch, around.sequence, around.heard, None))

    def _emit(self, frame: Frame) -> None:
        self.counts["sent tale" if frame.tale else "sent ack"] += 1
        self._leaving.append((frame.port, encode(frame, self.key)))
