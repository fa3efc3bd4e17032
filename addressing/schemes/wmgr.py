"""WMGR on the free group: greedy routing by word metric on a spanning tree's labels.

A node's label is the word of letters on the way from the root; a packet goes to the
neighbour w that minimises |w^-1 v| = depth(w) + depth(v) - 2 lcp(w, v), the first in
port order on ties (Algorithm 2).  That rule is *exactly* a longest-prefix table of
one entry per neighbour and a local one: see :meth:`Wmgr.classes`.

As bits, every node spends ``bit_length(children)`` bits on the letter that follows
its own word; code 0 there means "the word ends here".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from addressing.header import DELIVER, Choices, Forward, Header, drop, only, prefix
from addressing.scheme import Class, Scheme
from topos.family import Family, param
from topos.graph import ALL_UP, NONE, LinkState

Word = tuple[int, ...]


@dataclass(frozen=True)
class Embedding:
    """The free-group embedding: per node its word, and its prefix as (value, length) in bits.

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


@dataclass(frozen=True)
class Wmgr(Scheme):
    """Word-metric greedy routing with deg + 1 prefix entries per node."""

    name: ClassVar[str] = "wmgr"
    summary: ClassVar[str] = "word-metric greedy routing on the free group: deg+1 prefixes per node"
    source: ClassVar[str] = "Aguirre-Guerrero et al., Algorithms 1 and 2, Theorem 9"

    root: int = param("number of the node whose label is the empty word", low=0, default=0)

    @classmethod
    def misfit(cls, family: Family) -> str | None:
        return None

    def endpoints(self) -> range:
        return range(self.fabric.size)

    @cached_property
    def embedding(self) -> Embedding:
        """Breadth-first trees in port order over the links known to be up."""
        size = self.fabric.size
        children: list[list[int]] = [[] for _ in range(size)]
        parents = [NONE] * size
        seen = [False] * size
        roots: list[int] = []
        for start in (self.root % size, *range(size)):
            if seen[start]:
                continue
            seen[start] = True
            roots.append(start)
            queue = [start]
            for at in queue:
                for end in self.fabric.neighbours(at, self.known):
                    if not seen[end]:
                        seen[end], parents[end] = True, at
                        children[at].append(end)
                        queue.append(end)
        return _spell(roots, children, parents)

    @cached_property
    def label_bits(self) -> int:
        """The longest word in bits, the code that ends it included."""
        tree = self.embedding
        return max(1, *(length + width for (_, length), width in zip(tree.prefixes, tree.widths, strict=True)))

    def label(self, node: int) -> int:
        value, length = self.embedding.prefixes[node]
        return value << (self.label_bits - length)

    @cached_property
    def _nodes(self) -> dict[int, int]:
        return {self.label(node): node for node in range(self.fabric.size)}

    def hop_bound(self) -> int:
        return 2 * max(map(len, self.embedding.words)) + 1

    def distance(self, a: int, b: int) -> int:
        """The word metric: the number of tree links between two nodes."""
        words = self.embedding.words
        return len(words[a]) + len(words[b]) - 2 * _common(words[a], words[b])

    def choices(self, at: int, header: Header, links: LinkState = ALL_UP) -> Choices:
        destination = self._nodes.get(header.label)
        if destination is None:
            return drop("no node has this label")
        if destination == at:
            return DELIVER
        words, common = self.embedding.words, self.embedding.common
        if words[at][:common] != words[destination][:common]:
            return drop("no way there is up")
        best, port = self.distance(at, destination), NONE
        for number, end in self.fabric.ports(at, self.blocked(links)):
            distance = self.distance(end.node, destination)
            if distance < best:
                best, port = distance, number
        return drop("no neighbour is nearer") if port == NONE else only(Forward(port))

    def classes(self, at: int) -> Iterable[Class]:
        """Neighbour w owns the shortest prefix P of its own word such that (1) w is first by
        (depth, scan position) among the neighbours whose words begin with P, and (2) if w is a
        child's depth below ``at``, no neighbour a level above ``at`` whose word begins with P
        less its last letter precedes w.  A child owns exactly its own word."""
        tree, bits = self.embedding, self.label_bits
        value, length = tree.prefixes[at]
        width = tree.widths[at]
        yield prefix(value << width, length + width, bits), Header(self.label(at))
        scan = list(dict.fromkeys(self.fabric.neighbours(at, self.known)))
        for position, owner in enumerate(scan):
            word = self._owned(at, position, scan)
            value, length = self._ancestor_prefix(owner, len(word))
            yield prefix(value, length, bits), Header(self.label(owner))

    def _owned(self, at: int, position: int, scan: list[int]) -> Word:
        """The shortest prefix of the word of ``scan[position]`` that this neighbour owns at ``at``."""
        words, common = self.embedding.words, self.embedding.common
        depth, mine = len(words[at]), words[scan[position]]
        for cut in range(common, len(mine)):
            first = min((len(words[n]), i) for i, n in enumerate(scan) if words[n][:cut] == mine[:cut])
            if first != (len(mine), position):
                continue
            above = (
                cut > common
                and len(mine) == depth + 1
                and any(
                    len(words[n]) == depth - 1 and words[n][: cut - 1] == mine[: cut - 1]
                    for n in scan[:position]
                )
            )
            if not above:
                return mine[:cut]
        return mine

    def _ancestor_prefix(self, node: int, depth: int) -> tuple[int, int]:
        tree = self.embedding
        while len(tree.words[node]) > depth and tree.parents[node] != NONE:
            node = tree.parents[node]
        return tree.prefixes[node] if len(tree.words[node]) == depth else (0, 0)


def _common(a: Word, b: Word) -> int:
    """The length of the longest common prefix."""
    length = 0
    for left, right in zip(a, b, strict=False):
        if left != right:
            break
        length += 1
    return length


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
