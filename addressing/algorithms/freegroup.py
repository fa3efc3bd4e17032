"""The free-group embedding of WMGR (Aguirre-Guerrero et al., Algorithm 1).

A node's word lists the links on its path from the root of a breadth-first tree.  Written as bits, a
node's child appends ``bit_length(children)`` bits for its letter; code 0 means that the word ends here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from addressing.algorithms.shortest_paths import Starts, live_rows
from topos.fabric import Fabric
from topos.graph import ALL_UP, NONE, IntArray, LinkState

Word = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Embedding:
    """Breadth-first trees as arrays by node, with the words and bit prefixes that follow from them.

    A fabric in several pieces (after failures) gets one tree per piece.  Their roots become the
    children of a virtual root, so the first ``common`` = 1 letters of a word name its piece.
    """

    #: The node above in the tree; ``NONE`` at a root.
    parent: IntArray
    #: The last letter of the word; 0 for the empty word.
    letter: IntArray
    #: The length of the word.
    depth: IntArray
    common: int

    def distance(self, a: int, b: int) -> int:
        """The word metric |a^-1 b|: the number of tree links between two nodes."""
        return len(self.words[a]) + len(self.words[b]) - 2 * common_prefix_length(self.words[a], self.words[b])

    def same_prefixes(self, other: Embedding, node: int) -> bool:
        """Whether a node and all above it have the same words and prefixes in both trees."""
        if self.words[node] != other.words[node]:
            return False
        above, elsewhere = node, node
        while above != NONE and elsewhere != NONE:
            if self.prefixes[above] != other.prefixes[elsewhere]:
                return False
            above, elsewhere = self.parents[above], other.parents[elsewhere]
        return above == elsewhere

    @cached_property
    def width(self) -> IntArray:
        """Bits of the letter that may follow each node's word."""
        children = np.bincount(self.parent[self.parent != NONE], minlength=len(self.parent))
        return np.frexp(children)[1].astype(np.int32)

    @cached_property
    def length(self) -> IntArray:
        """The length of each node's prefix in bits."""
        length = np.zeros(len(self.parent), dtype=np.int32)
        roots = self.parent == NONE
        length[roots] = int(roots.sum()).bit_length() if self.common else 0
        for level in self._levels:
            above = self.parent[level]
            length[level] = length[above] + self.width[above]
        return length

    @cached_property
    def downwards(self) -> IntArray:
        """The nodes by depth, then by number."""
        return np.argsort(self.depth, kind="stable").astype(np.int32)

    @property
    def _levels(self) -> list[IntArray]:
        """The nodes below the roots, level by level."""
        counts = np.bincount(self.depth)
        return np.split(self.downwards, np.cumsum(counts)[:-1])[self.common + 1 :]

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """``parent`` as numbers."""
        return tuple(self.parent.tolist())

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """``width`` as numbers."""
        return tuple(self.width.tolist())

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """Per node its word."""
        words: list[Word] = [()] * len(self.parent)
        parents, letters = self.parents, self.letter.tolist()
        for node in self.downwards.tolist():
            above = words[parents[node]] if parents[node] != NONE else ()
            words[node] = (*above, letters[node]) if letters[node] else above
        return tuple(words)

    @cached_property
    def prefixes(self) -> tuple[tuple[int, int], ...]:
        """Per node its prefix as (value, length) in bits."""
        values = [0] * len(self.parent)
        parents, letters, widths = self.parents, self.letter.tolist(), self.widths
        for node in self.downwards.tolist():
            above = parents[node]
            values[node] = letters[node] if above == NONE else values[above] << widths[above] | letters[node]
        return tuple(zip(values, self.length.tolist(), strict=True))


def embed(fabric: Fabric, known: LinkState, root: int) -> Embedding:
    """Breadth-first trees in port order over the links that are up: one from ``root``, and one from
    the first node of every piece that does not contain ``root``."""
    start, peer = live_rows(fabric, known)
    parent, letter, depth = (np.full(fabric.size, value, dtype=np.int32) for value in (NONE, 0, NONE))
    roots, following = [root], 0
    _grow(root, start, peer, parent, letter, depth)
    while following < fabric.size:
        if depth[following] == NONE:
            roots.append(following)
            _grow(following, start, peer, parent, letter, depth)
        following += 1
    common = int(len(roots) > 1)
    if common:
        letter[roots] = np.arange(1, len(roots) + 1, dtype=np.int32)
    return Embedding(parent, letter, depth + common, common)


def _grow(root: int, start: Starts, peer: IntArray, parent: IntArray, letter: IntArray, depth: IntArray) -> int:
    """Write the tree of one root, one level at a time.  Nodes of a level are in the order in which the
    search reaches them; the first link that reaches a node is its link in the tree.  Returns the node
    that is reached last."""
    frontier, hops, last = np.array([root]), 0, root
    first = np.empty(len(parent), dtype=np.int64)
    depth[root] = 0
    while len(frontier):
        hops, last = hops + 1, int(frontier[-1])
        count = start[frontier + 1] - start[frontier]
        before = np.cumsum(count) - count
        links = np.repeat(start[frontier] - before, count) + np.arange(int(count.sum()))
        owners = np.repeat(frontier, count)
        unseen = depth[peer[links]] == NONE
        ends, owners = peer[links][unseen], owners[unseen]
        # Of several links to a node the first one counts: written last, so that it stays.
        place = np.arange(len(ends))
        first[ends[::-1]] = place[::-1]
        ends, owners = ends[first[ends] == place], owners[first[ends] == place]
        parent[ends], depth[ends] = owners, hops
        place = np.arange(len(ends))
        fresh = np.concatenate([[True], owners[1:] != owners[:-1]])[: len(ends)]
        letter[ends] = place - np.maximum.accumulate(np.where(fresh, place, 0)) + 1
        frontier = ends
    return last


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
    start, peer = live_rows(fabric, ALL_UP)
    ends = [0, 0]
    for _ in range(2):
        parent, letter, depth = (np.full(fabric.size, value, dtype=np.int32) for value in (NONE, 0, NONE))
        ends = [_grow(ends[0], start, peer, parent, letter, depth), ends[0]]
    path = [ends[0]]
    while parent[path[-1]] != NONE:
        path.append(int(parent[path[-1]]))
    return path[len(path) // 2]
