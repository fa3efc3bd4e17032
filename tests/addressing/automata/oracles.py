"""Small groups, and their normal forms and word differences computed from the definitions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import networkx as nx
import numpy as np

from addressing.automata.group import Group, Word, of_graph, of_table
from topos.bases.cayley import CayleyGraph
from topos.registry import parse

T = TypeVar("T", bound=Hashable)

#: Every family, up to 120 elements.
SMALL = (
    "hypercube:3", "hypercube:6", "bubblesort:3", "bubblesort:4", "bubblesort:5", "star:3", "star:4", "star:5",
    "transposition:4", "transposition:5", "pancake:4", "pancake:5", "butterfly:3", "butterfly:4",
    "borel:7,2,1,2", "borel:11,3,0,1", "borel:11,3,1,2",
)  # fmt: skip
#: Letter orders other than that of the ports.
REORDERED = (
    ("transposition:4", (1, 2, 4, 3, 5, 6)), ("pancake:4", (3, 1, 2)), ("butterfly:3", (4, 2, 3, 1)),
    ("borel:7,2,1,2", (2, 3, 1, 4)), ("bubblesort:4", (3, 1, 2)),
)  # fmt: skip
CASES = (*((spec, None) for spec in SMALL), *REORDERED)


@functools.cache
def family(spec: str) -> CayleyGraph:
    """The family of a specification."""
    parsed = parse(spec)
    assert isinstance(parsed, CayleyGraph)
    return parsed


@functools.cache
def group(spec: str, order: tuple[int, ...] | None = None) -> Group:
    """The group of a specification, cached."""
    return of_graph(family(spec), order)


def of_elements(generators: Sequence[T], identity: T, multiply: Callable[[T, T], T]) -> Group:
    """The group that elements of any kind (permutations, matrices ...) generate.

    Generators must be closed under inversion; GroupError names the first that has no inverse.
    """
    numbers = {identity: 0}
    rows: list[list[int]] = []
    queue = [identity]
    for element in queue:
        row = []
        for generator in generators:
            end = multiply(element, generator)
            if end not in numbers:
                numbers[end] = len(queue)
                queue.append(end)
            row.append(numbers[end])
        rows.append(row)
    names = tuple(str(generator) for generator in generators)
    return of_table(np.array(rows, dtype=np.int32), names, tuple(range(len(generators))))


@functools.cache
def steps(spec: str, order: tuple[int, ...] | None = None) -> list[list[int]]:
    """Per vertex the vertices that its letters lead to, in their order."""
    graph = family(spec)
    ports = order or tuple(range(1, len(graph.letters) + 1))
    ends: list[list[int]] = graph.images(np.arange(graph.vertices))[:, np.array(ports) - 1].tolist()
    return ends


@functools.cache
def normal_forms(spec: str, order: tuple[int, ...] | None = None) -> dict[int, Word]:
    """Per vertex its normal form by networkx's distances: from the identity always the least letter that
    leads nearer.  Letters are numbered in their order."""
    rows = steps(spec, order)
    network = nx.Graph((v, end) for v, ends in enumerate(rows) for end in ends)
    return {v: _least(rows, v, nx.single_source_shortest_path_length(network, v)) for v in network}


def _least(rows: Sequence[Sequence[int]], target: int, distance: dict[int, int]) -> Word:
    at, word = 0, []
    while at != target:
        ends = rows[at]
        letter = next(i for i, end in enumerate(ends) if distance[end] == distance[at] - 1)
        word.append(letter)
        at = ends[letter]
    return tuple(word)


@functools.cache
def definition15(spec: str, order: tuple[int, ...] | None = None) -> frozenset[int]:
    """The word differences, as vertices: u(t)^-1 v(t) for all t and all neighbours u and v."""
    graph, words, rows = family(spec), normal_forms(spec, order), steps(spec, order)

    @functools.cache
    def spell(word: Word) -> int:
        return rows[spell(word[:-1])][word[-1]] if word else 0

    pairs = set()
    for u in range(graph.vertices):
        for end in rows[u]:
            one, other = words[u], words[end]
            for t in range(max(len(one), len(other)) + 1):
                pairs.add((spell(one[:t]), spell(other[:t])))
    return frozenset(graph.product(graph.inverse(a), b) for a, b in pairs)
