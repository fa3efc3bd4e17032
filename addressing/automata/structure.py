"""The automatic structure of a complete system: general multiplier and Diff, without the group.

The general multiplier reads two normal forms u and v side by side, the shorter one padded
at its end, and says for which letter a, if any, v = u a.  Its states are (state of the word
acceptor on u, the same on v, word difference).  Differences start as those of the rules;
for every u and a the multiplier must then know v, and where it does not, the differences
of u and v are added (Epstein, Holt and Rees).  What the finished multiplier uses is the set
of Definition 15.  This needs a complete system, not a finite group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from addressing.automata.acceptor import DEAD, Acceptor
from addressing.automata.completion import System

#: The acceptor's state after the end of a word.
ENDED = -2
#: What the multiplier says of two equal normal forms: no letter leads from one to the other.
EQUAL = -1
State = tuple[int, int, bytes]
#: Letters of u and v read together; None stands for padding.
Pair = tuple[int | None, int | None]


@dataclass(frozen=True, eq=False)
class Multiplier:
    """The general multiplier, trimmed: every state lies between the first one and an accepting one."""

    moves: dict[State, dict[Pair, State]]
    accepts: dict[State, int]

    @property
    def differences(self) -> frozenset[bytes]:
        """The word differences of all normal forms of neighbours, as normal forms."""
        return frozenset(difference for _, _, difference in self.moves)

    @property
    def transitions(self) -> frozenset[tuple[bytes, Pair, bytes]]:
        """What remains of the moves when the acceptor is left out: the transitions of a trimmed Diff."""
        return frozenset(
            (state[2], pair, end[2]) for state, row in self.moves.items() for pair, end in row.items()
        )

    def letter(self, u: bytes, v: bytes) -> int | None:
        """The letter a with v = u a, EQUAL when v = u; None when there is none, or when u or v is no
        normal form."""
        state: State | None = (0, 0, b"")
        for pair in zip_longest(u, v):
            state = self.moves.get(state, {}).get(pair) if state is not None else None
        return None if state is None else self.accepts.get(state)


def multiplier(system: System) -> Multiplier:
    """The general multiplier of a complete system; it does not end for a group without one."""
    work = _Work(system, system.acceptor.minimised())
    work.learn(*((left[:-1], right) for left, right in system.rules.items()))
    while (missing := work.missing()) is not None:
        word, letter = missing
        work.learn((word, system.reduce(word + bytes((letter,)))))
    return work.trimmed()


class _Work:
    """Word differences on the way to all that are needed."""

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
        """The least normal form u, with a letter a, such that no v = u a is known; None if none is.

        The subsets that u leads to are what counts, so this ends on infinite languages too."""
        start = frozenset([(0, b"")])
        met = {(0, start)}
        queue = [(b"", 0, start)]
        for word, state, partners in queue:
            found = {a for end in self._ends(partners) if (a := self.letters.get(end)) is not None}
            lacking = set(range(self.degree)) - found
            if lacking:
                return word, min(lacking)
            for letter, after in enumerate(self.acceptor.moves[state]):
                if after == DEAD:
                    continue
                following = frozenset(
                    (q, d) for other, before in partners for _, q, d in self._partners(other, before, letter)
                )
                if (after, following) not in met:
                    met.add((after, following))
                    queue.append((word + bytes((letter,)), after, following))
        return None

    def trimmed(self) -> Multiplier:
        """The states that lie between the first and an accepting one."""
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
        """What can be read from a state of the multiplier."""
        p, q, difference = state
        for letter, after in self._letters(p):
            for right, end, following in self._partners(q, difference, letter):
                if (letter, right) != (None, None):
                    yield (letter, right), (after, end, following)

    def _letters(self, state: int) -> Iterator[tuple[int | None, int]]:
        """What an acceptor's state can read: letters, or the end of the word."""
        if state != ENDED:
            yield from ((a, end) for a, end in enumerate(self.acceptor.moves[state]) if end != DEAD)
        yield None, ENDED

    def _partners(
        self, state: int, difference: bytes, letter: int | None
    ) -> Iterator[tuple[int | None, int, bytes]]:
        """What the other word can read beside ``letter``, and the difference after that."""
        for right, end in self._letters(state):
            following = self._step(difference, (letter, right))
            if following in self.differences:
                yield right, end, following

    def _ends(self, partners: Iterable[tuple[int, bytes]]) -> Iterator[bytes]:
        """The differences in which partners can end when the first word has ended."""
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
