"""The automatic structure of a complete rewriting system: general multiplier and Diff, without the group.

The general multiplier reads two normal forms u and v side by side, the shorter one padded at its end, and
finds the letter a, if any, with v = u a.  Its states are (state of the word acceptor on u, the same on v,
word difference).  It starts with the differences of the rules.  The multiplier must find v for every u
and a; where it does not, the differences of u and v are added (Epstein, Holt and Rees).  The differences
that the finished multiplier uses are those of WMGR's Definition 15.  The system must be complete; the
group may be infinite.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from addressing.automata.acceptor import DEAD, Acceptor
from addressing.automata.completion import System

#: The acceptor's state after the end of a word.
ENDED = -2
#: The multiplier's result for two equal normal forms: no letter leads from one to the other.
EQUAL = -1
State = tuple[int, int, bytes]
#: Letters of u and v read together; None stands for padding.
Pair = tuple[int | None, int | None]


@dataclass(frozen=True, eq=False)
class Multiplier:
    """The general multiplier, trimmed: every state is on a path from the initial to an accepting state."""

    moves: dict[State, dict[Pair, State]]
    accepts: dict[State, int]

    @property
    def differences(self) -> frozenset[bytes]:
        """The word differences of the normal forms of all neighbours, as normal forms."""
        return frozenset(difference for _, _, difference in self.moves)

    @property
    def transitions(self) -> frozenset[tuple[bytes, Pair, bytes]]:
        """The moves without the acceptor's states: the transitions of a trimmed Diff."""
        return frozenset(
            (state[2], pair, end[2]) for state, row in self.moves.items() for pair, end in row.items()
        )

    def letter(self, u: bytes, v: bytes) -> int | None:
        """The letter a with v = u a, EQUAL when v = u; None when there is none, or when u or v is not a
        normal form."""
        state: State | None = (0, 0, b"")
        for pair in zip_longest(u, v):
            state = self.moves.get(state, {}).get(pair) if state is not None else None
        return None if state is None else self.accepts.get(state)


def multiplier(system: System) -> Multiplier:
    """The general multiplier of a complete system; does not terminate for a group that has none."""
    work = _Differences(system, system.acceptor.minimised())
    work.learn(*((left[:-1], right) for left, right in system.rules.items()))
    while (missing := work.missing()) is not None:
        word, letter = missing
        work.learn((word, system.reduce(word + bytes((letter,)))))
    return work.trimmed()


class _Differences:
    """A set of word differences that grows until the multiplier is complete."""

    def __init__(self, system: System, acceptor: Acceptor) -> None:
        self.system, self.acceptor = system, acceptor
        self.degree = system.presentation.degree
        letters = (bytes((letter,)) for letter in range(self.degree))
        self.letters = {system.reduce(letter): letter[0] for letter in letters}
        self.differences = {b"", *self.letters}
        self._steps: dict[tuple[bytes, Pair], bytes] = {}

    def learn(self, *pairs: tuple[bytes, bytes]) -> None:
        """Add the differences of pairs of words, and their inverses."""
        for u, v in pairs:
            difference = b""
            for pair in zip_longest(u, v):
                difference = self._step(difference, pair)
                back = self.system.reduce(self.system.inverse(difference))
                self.differences |= {difference, back}

    def missing(self) -> tuple[bytes, int] | None:
        """The least normal form u and letter a such that no v = u a is found; None if all are found.

        Only the set of partners that u leads to matters, so this terminates on infinite languages."""
        start = frozenset([(0, b"")])
        seen = {(0, start)}
        queue = [(b"", 0, start)]
        for word, state, partners in queue:
            known = {a for end in self._ends(partners) if (a := self.letters.get(end)) is not None}
            unknown = set(range(self.degree)) - known
            if unknown:
                return word, min(unknown)
            for letter, after in enumerate(self.acceptor.moves[state]):
                if after == DEAD:
                    continue
                following = frozenset(
                    (q, d) for other, before in partners for _, q, d in self._partners(other, before, letter)
                )
                if (after, following) not in seen:
                    seen.add((after, following))
                    queue.append((word + bytes((letter,)), after, following))
        return None

    def trimmed(self) -> Multiplier:
        """The multiplier with the states on paths from the initial to an accepting state only."""
        start: State = (0, 0, b"")
        moves: dict[State, dict[Pair, State]] = {start: {}}
        queue = [start]
        before: dict[State, list[State]] = {}
        for state in queue:
            for pair, end in self._moves(state):
                moves[state][pair] = end
                before.setdefault(end, []).append(state)
                if end not in moves:
                    moves[end] = {}
                    queue.append(end)
        labels = {b"": EQUAL, **self.letters}
        accepts = {state: labels[state[2]] for state in queue if state[2] in labels}
        alive = dict.fromkeys(accepts)
        todo = list(accepts)
        for state in todo:
            for source in before.get(state, ()):
                if source not in alive:
                    alive[source] = None
                    todo.append(source)
        kept = {
            state: {pair: end for pair, end in row.items() if end in alive}
            for state, row in moves.items()
            if state in alive
        }
        return Multiplier(kept, accepts)

    def _moves(self, state: State) -> Iterator[tuple[Pair, State]]:
        """The transitions from a state of the multiplier."""
        p, q, difference = state
        for letter, after in self._letters(p):
            for right, end, following in self._partners(q, difference, letter):
                if (letter, right) != (None, None):
                    yield (letter, right), (after, end, following)

    def _letters(self, state: int) -> Iterator[tuple[int | None, int]]:
        """(letter, next state) that the acceptor can read in a state; letter None for the word's end."""
        if state != ENDED:
            yield from ((a, end) for a, end in enumerate(self.acceptor.moves[state]) if end != DEAD)
        yield None, ENDED

    def _partners(
        self, state: int, difference: bytes, letter: int | None
    ) -> Iterator[tuple[int | None, int, bytes]]:
        """(letter, next state, difference after) that the other word can read beside ``letter``."""
        for right, end in self._letters(state):
            following = self._step(difference, (letter, right))
            if following in self.differences:
                yield right, end, following

    def _ends(self, partners: Iterable[tuple[int, bytes]]) -> Iterator[bytes]:
        """The differences at which partners can end when the first word has ended."""
        for state, difference in partners:
            yield difference
            yield from (following for _, _, following in self._partners(state, difference, None))

    def _step(self, difference: bytes, pair: Pair) -> bytes:
        """x^-1 d y, reduced."""
        key = difference, pair
        if key not in self._steps:
            left, right = (b"" if letter is None else bytes((letter,)) for letter in pair)
            self._steps[key] = self.system.reduce(self.system.inverse(left) + difference + right)
        return self._steps[key]
