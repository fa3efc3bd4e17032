"""The generators of a graph's links, discovered by relators (Aguirre-Guerrero et al., WMGR, footnote 2).

A graph is known to be the Cayley graph of a group, but not which generator each link is.  From a first
vertex, links are given letters one after the other.  Every relator must then close a cycle at every
vertex: where all its letters but one are known, the last one follows, as in Todd and Coxeter's
enumeration of cosets; where a relator does not close, the last choice is taken back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from addressing.automata.group import Word
from addressing.automata.presentations import Presentation

#: A vertex, a letter, and the neighbour that the letter leads to.
Link = tuple[int, int, int]
#: No letters are possible.
CONTRADICTION: Link = (-1, -1, -1)


def discover(neighbours: Sequence[Sequence[int]], presentation: Presentation) -> list[dict[int, int]] | None:
    """Per vertex the neighbour by each letter; None if the graph has no such labelling.

    ``neighbours`` lists each vertex's neighbours.  The graph must be connected.
    """
    if any(len(row) != presentation.degree for row in neighbours):
        return None
    work = _Labelling(neighbours, presentation)
    choices = [work.choices()]
    while True:
        choice = next(choices[-1], None)
        if choice is None:
            choices.pop()
            if not choices:
                return None
            work.undo()
            continue
        work.mark()
        if not work.assign(*choice):
            work.undo()
            continue
        if work.complete:
            return work.by_letter
        choices.append(work.choices())


@dataclass
class _Labelling:
    """Letters of links, with a record of the assignments to take back."""

    neighbours: Sequence[Sequence[int]]
    presentation: Presentation
    by_letter: list[dict[int, int]] = field(init=False)
    by_neighbour: list[dict[int, int]] = field(init=False)
    _trail: list[tuple[int, int, int]] = field(default_factory=list)
    _marks: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.by_letter = [{} for _ in self.neighbours]
        self.by_neighbour = [{} for _ in self.neighbours]
        self._starting: Mapping[int, list[Word]] = {
            letter: [
                word[place:] + word[:place]
                for word in self.presentation.relators
                for place, first in enumerate(word)
                if first == letter
            ]
            for letter in range(self.presentation.degree)
        }

    @property
    def complete(self) -> bool:
        """True when every link has its letters."""
        return len(self._trail) == len(self.neighbours) * self.presentation.degree

    def choices(self) -> Iterator[tuple[int, int, int]]:
        """(vertex, letter, neighbour) for the vertex with the fewest missing letters, and its first one."""
        degree = self.presentation.degree
        open_rows = [v for v, row in enumerate(self.by_letter) if len(row) < degree]
        if not self._trail:
            open_rows = open_rows[:1]
        vertex = max(open_rows, key=lambda v: len(self.by_letter[v]))
        letter = next(a for a in range(degree) if a not in self.by_letter[vertex])
        free = [end for end in self.neighbours[vertex] if end not in self.by_neighbour[vertex]]
        yield from ((vertex, letter, end) for end in free)

    def mark(self) -> None:
        """Remember the present state for :meth:`undo`."""
        self._marks.append(len(self._trail))

    def undo(self) -> None:
        """Return to the state of the last :meth:`mark`."""
        if not self._marks:
            return
        first = self._marks.pop()
        while len(self._trail) > first:
            vertex, letter, end = self._trail.pop()
            del self.by_letter[vertex][letter], self.by_neighbour[vertex][end]

    def assign(self, vertex: int, letter: int, end: int) -> bool:
        """Give a link its letter, and all that follows from it; False on a contradiction."""
        todo = [(vertex, letter, end)]
        while todo:
            vertex, letter, end = todo.pop()
            back = self.presentation.inverses[letter]
            for here, a, there in ((vertex, letter, end), (end, back, vertex)):
                known = self.by_letter[here].get(a), self.by_neighbour[here].get(there)
                if known == (there, a):
                    continue
                if known != (None, None) or there not in self.neighbours[here]:
                    return False
                self.by_letter[here][a] = there
                self.by_neighbour[here][there] = a
                self._trail.append((here, a, there))
            for here, a in ((vertex, letter), (end, back)):
                for word in self._starting[a]:
                    follows = self._scan(here, word)
                    if follows is CONTRADICTION:
                        return False
                    if follows is not None:
                        todo.append(follows)
        return True

    def _scan(self, start: int, word: Word) -> Link | None:
        """The one letter of a relator at a vertex that is not known yet; None if there are more, or the
        relator closes; CONTRADICTION where it does not close."""
        here, first = start, 0
        while first < len(word) and word[first] in self.by_letter[here]:
            here = self.by_letter[here][word[first]]
            first += 1
        if first == len(word):
            return None if here == start else CONTRADICTION
        there, last = start, len(word)
        while (
            last > first + 1 and (back := self.presentation.inverses[word[last - 1]]) in self.by_letter[there]
        ):
            there = self.by_letter[there][back]
            last -= 1
        return (here, word[first], there) if last == first + 1 else None
