"""The free-group embedding of WMGR (Aguirre-Guerrero et al., Algorithm 1).

A node's word lists the links on its path from the root of a breadth-first tree.  Written as bits, a
node's child appends ``bit_length(children)`` bits for its letter; code 0 means that the word ends here.
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

    A fabric in several pieces (after failures) gets one tree per piece.  Their roots become the
    children of a virtual root, so the first ``common`` = 1 letters of a word name its piece.
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
    the first node of every piece that does not contain ``root``."""
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
    """The middle of a long shortest path, found by two breadth-first searches: from node 0 to the
    farthest node, and from there to the farthest again.  Exact on trees, approximate elsewhere."""
    far, _ = _farthest(fabric, 0)
    end, parents = _farthest(fabric, far)
    path = [end]
    while parents[path[-1]] != NONE:
        path.append(parents[path[-1]])
    return path[len(path) // 2]


def _farthest(fabric: Fabric, start: int) -> tuple[int, list[int]]:
    """The last node that a breadth-first search from ``start`` visits, and the parents of all nodes."""
    parents, seen, queue = [NONE] * fabric.size, [False] * fabric.size, [start]
    seen[start] = True
    for at in queue:
        for end in fabric.neighbours(at):
            if not seen[end]:
                seen[end], parents[end] = True, at
                queue.append(end)
    return queue[-1], parents
