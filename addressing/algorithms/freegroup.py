"""The free-group embedding: a breadth-first tree whose nodes are words of the links on the way from the root.

WMGR (Aguirre-Guerrero et al., Algorithm 1).  As bits, every node spends
``bit_length(children)`` bits on the letter that follows its own word; code 0 there means
"the word ends here".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from topos.fabric import Fabric
from topos.graph import NONE, LinkState

Word = tuple[int, ...]


@dataclass(frozen=True)
class Embedding:
    """Per node its word, and its prefix as (value, length) in bits.

    A fabric in several pieces (after failures) gets one tree per piece, whose roots
    hang below a virtual root as its letters: all words of a piece then have their first
    ``common`` = 1 letters in common, and no other word begins with them.
    """

    words: tuple[Word, ...]
    prefixes: tuple[tuple[int, int], ...]
    #: Bits of the letter that may follow each node's word.
    widths: tuple[int, ...]
    parents: tuple[int, ...]
    common: int

    def distance(self, a: int, b: int) -> int:
        """The word metric |a^-1 b|: the number of tree links between two nodes."""
        return len(self.words[a]) + len(self.words[b]) - 2 * common_prefix_length(self.words[a], self.words[b])


def embed(fabric: Fabric, known: LinkState, root: int) -> Embedding:
    """Breadth-first trees in port order over the links that are up: one from ``root``, and one from
    the first node of every piece without it."""
    size = fabric.size
    children: list[list[int]] = [[] for _ in range(size)]
    parents = [NONE] * size
    seen = [False] * size
    roots: list[int] = []
    for start in (root, *range(size)):
        if seen[start]:
            continue
        seen[start] = True
        roots.append(start)
        queue = [start]
        for at in queue:
            for end in fabric.neighbours(at, known):
                if not seen[end]:
                    seen[end], parents[end] = True, at
                    children[at].append(end)
                    queue.append(end)
    return _spell(roots, children, parents)


def _spell(roots: list[int], children: list[list[int]], parents: list[int]) -> Embedding:
    """Words and bit prefixes, from the roots down."""
    size = len(parents)
    words: list[Word] = [()] * size
    prefixes = [(0, 0)] * size
    widths = [len(below).bit_length() for below in children]
    queue = list(roots)
    if len(roots) > 1:
        width = len(roots).bit_length()
        for letter, root in enumerate(roots, start=1):
            words[root], prefixes[root] = (letter,), (letter, width)
    for at in queue:
        value, length = prefixes[at]
        for letter, child in enumerate(children[at], start=1):
            words[child] = (*words[at], letter)
            prefixes[child] = (value << widths[at] | letter, length + widths[at])
            queue.append(child)
    common = int(len(roots) > 1)
    return Embedding(tuple(words), tuple(prefixes), tuple(widths), tuple(parents), common)


def common_prefix_length(a: Word, b: Word) -> int:
    """The length of the longest common prefix."""
    length = 0
    for left, right in zip(a, b, strict=False):
        if left != right:
            break
        length += 1
    return length


@lru_cache(maxsize=16)
def centre(fabric: Fabric) -> int:
    """The middle of a longest shortest path, as two sweeps find it: from node 0 to the farthest node,
    and from there to the farthest again.  Exact on trees, a good guess elsewhere, and cheap anywhere."""
    far, _ = _farthest(fabric, 0)
    end, parents = _farthest(fabric, far)
    way = [end]
    while parents[way[-1]] != NONE:
        way.append(parents[way[-1]])
    return way[len(way) // 2]


def _farthest(fabric: Fabric, start: int) -> tuple[int, list[int]]:
    """The last node that a breadth-first search from ``start`` meets, and everybody's parent in it."""
    parents, seen, queue = [NONE] * fabric.size, [False] * fabric.size, [start]
    seen[start] = True
    for at in queue:
        for end in fabric.neighbours(at):
            if not seen[end]:
                seen[end], parents[end] = True, at
                queue.append(end)
    return queue[-1], parents
