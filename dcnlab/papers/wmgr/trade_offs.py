"""WMGR (Aguirre-Guerrero et al.): stretch, labels, memory and time, as the text compares them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial

import numpy as np

from addressing.automata import sizes
from addressing.registry import bind
from dcnlab.evaluator.graph.distances import distance_rows
from dcnlab.evaluator.graph.hop_graph import hop_graph
from dcnlab.evaluator.routing.table_sizes import table_sizes
from dcnlab.papers.claim import Claim, Experiment, Reading, Row
from dcnlab.papers.measure import GROWTH, growth_exponent, path_time, routed
from dcnlab.papers.wmgr.complexity import (
    FAMILIES,
    FREE,
    NO_TABLE,
    OWN,
    algorithm_2,
    algorithm_3,
    bounded,
    growth,
    label,
    memory,
    time,
)  # fmt: skip
from dcnlab.papers.wmgr.statements import group_of
from dcnlab.papers.wmgr.states import states
from dcnlab.papers.wmgr.topologies import degree, diameter, nodes
from topos.registry import fabric

_PAPER = "Aguirre-Guerrero et al., WMGR"
_claim = partial(Claim.of, _PAPER)
#: Sizes whose pairs can all be routed.
_SMALL = {
    "bcube": ("bcube:3,2", "bcube:4,2", "bcube:5,2", "bcube:7,2", "bcube:9,2"),
    "dcell": ("dcell:2,2", "dcell:3,2", "dcell:4,2", "dcell:5,2"),
    "fattree": ("fattree:4", "fattree:6", "fattree:8", "fattree:12"),
    "jellyfish": tuple(f"jellyfish:24,{n},12" for n in (20, 40, 80, 120)),
    "xpander": ("xpander:12,2", "xpander:12,4", "xpander:12,6", "xpander:12,8"),
    "slimfly": ("slimfly:3", "slimfly:4", "slimfly:5", "slimfly:7"),
}
_GROUPS = ("hypercube", "bubblesort", "star", "transposition", "butterfly")
_CONSTANT = ("dcell", "fattree", "slimfly")
#: A Cayley graph of each family.
_GRAPHS = ("hypercube:7", "bubblesort:5", "star:5", "transposition:5", "butterfly:5")
_OTHERS = ("bcube:4,2", "dcell:3,2", "jellyfish:24,40,12", "xpander:12,4", "slimfly:5")


# --- stretch ----------------------------------------------------------------------------


@cache
def largest_stretch(spec: str) -> float:
    """The largest stretch of WMGR by the free group, over all pairs of nodes."""
    lengths = routed(spec, "wmgr", "all")
    assert lengths is not None
    return lengths.stretch_max


def _stretch() -> Iterator[Row]:
    how = f"{GROWTH}; the largest over all pairs of nodes, root h0"
    for name, specs in _SMALL.items():
        family = replace(FAMILIES[name], sizes=specs)
        claim = bounded(
            f"stretch-{name}-log", f"{family.row}: largest stretch grows within O(log(n)), {family.where}",
            "abstract; section VI: 'it achieves a stretch that grows logarithmically'", how,
        )  # fmt: skip
        yield growth(claim, family, largest_stretch, (0, 1, 0))
        if name in _CONSTANT:
            claim = bounded(
                f"stretch-{name}-constant", f"{family.row}: largest stretch grows within O(1), {family.where}",
                "section V-F: 'in the DCell, Fat-tree and Slim fly topologies, the stretch is constant'", how,
            )  # fmt: skip
            yield growth(claim, family, largest_stretch, (0, 0, 0))
    for name in ("bcube", *_GROUPS, "jellyfish", "xpander"):
        family = FAMILIES[name]
        claim = bounded(
            f"polylog-{name}", f"{family.row}: D grows within O(log(n)^2), {family.where}",
            "section V-F: the stretch is 'bounded by D, which is poly-logarithmic'", GROWTH,
        )  # fmt: skip
        yield growth(claim, family, diameter, (0, 2, 0))
    source = "section V-D: 'achieves stretch 1 only in topologies based on trees'"
    for spec in (*_GRAPHS, *_OTHERS):
        claim = _claim(
            f"only-trees-{spec}", source, f"largest stretch with the free group, {spec}, above 1",
            "exact over all pairs of nodes, root h0, scan built", 1, ">",
        )  # fmt: skip
        yield Row(claim, largest_stretch(spec))


def _delivered() -> Iterator[Row]:
    for spec in (
        *_GRAPHS,
        "bcube:4,2",
        "dcell:3,2",
        "fattree:4",
        "jellyfish:24,20,12",
        "xpander:12,2",
        "slimfly:5",
    ):
        lengths = routed(spec, "wmgr", "all")
        claim = _claim(
            f"greedy-{spec}", "section III-A, Definition 1: 'packet delivery is guaranteed'",
            f"pairs, %, that greedy routing delivers, {spec}", "exact over all pairs of nodes, root h0", 100,
        )  # fmt: skip
        yield Row(claim, None if lengths is None else 100 * lengths.delivered)


# --- labels, tables, Diff -----------------------------------------------------------------


def _labels() -> Iterator[Row]:
    for name, family in FAMILIES.items():
        bound = diameter(family.large) * math.log2(degree(family.large))
        claim = _claim(
            f"theorem-4-{name}", "Theorem 4", f"bits of a label over D log2 Delta, {family.large}, at most 1",
            "the longest word, root h0; letters of log2 Delta bits", 1, "<=",
        )  # fmt: skip
        yield Row(claim, round(label(family.large, FREE) / bound, 9))
    source = "section V-C, on Table II: {}"
    words = "'In BCube and the Bubble-sort graph, the node labels are larger'"
    for name in ("bcube", "bubblesort"):
        spec = FAMILIES[name].large
        claim = Claim(
            f"labels-{name}", _PAPER, f"bits of a label of WMGR over those of {FAMILIES[name].own}, {spec}", 1,
            "the longest word times log2 Delta; the label of the scheme", ">", source=source.format(words),
        )  # fmt: skip
        yield Row(claim, label(spec, FREE) / label(spec, OWN))
    s = 10
    spec = f"butterfly:{s}"
    claim = _claim(
        "labels-butterfly", source.format("'smaller node labels in the Butterfly graph'"),
        f"bits of a label of WMGR over those of permutation sort, {spec}",
        "the longest word times log2 Delta; s log2 s bits are those of the proof of Theorem 3", 1, "<",
    )  # fmt: skip
    ours = label(spec, FREE)
    yield Row.by_reading(
        claim, Reading("a permutation of s numbers, s log2 s bits", ours / (s * math.log2(s))),
        Reading("the label of permsort", ours / label(spec, OWN)),
    )  # fmt: skip
    yield from _entries()


def _entries() -> Iterator[Row]:
    for name, family in FAMILIES.items():
        if family.own and name not in NO_TABLE:
            spec = family.sizes[0]
            claim = _claim(
                f"entries-{name}", "section V-B: 'the number of entries is equal to the node degree'",
                f"entries of the largest table of {family.own} over Delta, {spec}",
                "compiled tables, without the entry of a relaying server for itself", 1,
            )  # fmt: skip
            entries = table_sizes(bind(family.own, fabric(spec)), 1, 2000, generic=True).entries_max
            yield Row(claim, (entries - fabric(spec).relaying) / degree(spec))


def free_differences(letters: int, longest: int = 4) -> int:
    """Word differences (Definition 15) of the free group of involutions, of words of at most ``longest``."""
    words = [()] + [
        word
        for length in range(1, longest + 1)
        for word in itertools.product(range(letters), repeat=length)
        if all(a != b for a, b in itertools.pairwise(word))
    ]
    differences = set()
    for word in words:
        for letter in range(letters):
            other = word[:-1] if word and word[-1] == letter else (*word, letter)
            for at in range(max(len(word), len(other)) + 1):
                differences.add(_reduced((*reversed(word[:at]), *other[:at])))
    return len(differences)


def _reduced(word: tuple[int, ...]) -> tuple[int, ...]:
    kept: list[int] = []
    for letter in word:
        if kept and kept[-1] == letter:
            kept.pop()
        else:
            kept.append(letter)
    return tuple(kept)


def _smallest() -> Iterator[Row]:
    for letters in (2, 3, 4, 6):
        claim = _claim(
            f"free-diff-{letters}", "section V-C: Diff of the free group takes O(Delta) bits; IV-B: O(|A|)",
            f"states of Diff of the free group over Delta + 1, Delta = {letters}",
            "brute force over all words of at most 4 letters: the letters and the empty word", 1,
        )  # fmt: skip
        yield Row(claim, free_differences(letters) / (letters + 1))
    for spec in _GRAPHS:
        claim = _claim(
            f"smallest-{spec}", "sections V-C and V-D: 'The smallest automaton Diff' is the free group's",
            f"states of Diff of {spec} over those of the free group of its letters",
            "Definition 15, both", 1, ">",
        )  # fmt: skip
        order = "colex" if spec.startswith("transposition") else "natural"
        yield Row(claim, states(spec, order)[0] / (degree(spec) + 1))
        bits = sizes.measure(group_of(spec)).trimmed.bits
        claim = _claim(
            f"trade-off-{spec}", "section VI: 'with the Free Group the memory requirements decrease'",
            f"bits of a node's table with the free group over those of Diff, {spec}",
            "the largest compiled table; packed tables of the transitions", 1, "<",
        )  # fmt: skip
        yield Row(claim, memory(spec, FREE) / bits)
    family = "bubblesort:4"
    counts = {states(family, order)[0] for order in itertools.permutations((1, 2, 3))}
    claim = _claim(
        "orders-differ", "section V-D: 'different lexicographic orders may result in SAS of different sizes'",
        f"different numbers of states of Diff over the orders of {family}, above 1", "all orders", 1, ">",
    )  # fmt: skip
    yield Row(claim, len(counts))


# --- time -------------------------------------------------------------------------------


def _read(spec: str, number: int) -> float:
    """The letters that Algorithm 2 or 3 reads over the bound of Theorem 7 or 8."""
    bound = diameter(spec) ** 2 * math.log2(degree(spec)) ** 2
    return algorithm_2(spec) / (bound * degree(spec)) if number == 7 else algorithm_3(spec) / bound


def _theorems_7_and_8() -> Iterator[Row]:
    for name, family in FAMILIES.items():
        for number, words in ((7, "Delta D^2 log(Delta)^2"), (8, "D^2 log(Delta)^2")):
            if number == 7 or family.has_group:
                claim = bounded(
                    f"theorem-{number}-{name}",
                    f"{family.row}: letters that Algorithm {number - 5} reads grow within O({words}),"
                    f" {family.where}", f"Theorem {number}", f"{GROWTH}; letters, in the worst case",
                )  # fmt: skip
                yield growth(claim, family, partial(_read, number=number), (0, 0, 0))


def _reduction() -> Iterator[Row]:
    for name in _GROUPS:
        family = FAMILIES[name]
        claim = bounded(
            f"reduction-{name}",
            f"{family.row}: letters that reducing u^-1 v reads grow within O(|u^-1 v|^2), {family.where}",
            "section IV-B: 'The canonical form can be obtained in O(|u^-1 v|^2) time units'",
            f"{GROWTH}; by Diff, at most over sampled pairs; |u^-1 v| is at most 2 D",
        )  # fmt: skip
        yield growth(claim, family, lambda spec: algorithm_3(spec) / (2 * diameter(spec)) ** 2, (0, 0, 0))


def _slower() -> Iterator[Row]:
    for name, family in FAMILIES.items():
        if family.own:
            claim = _claim(
                f"slower-{name}", "section V-E: 'spending more time to take forwarding decisions'",
                f"decision of WMGR (free group) over that of {family.own}, {family.sizes[1]}",
                "worst cases over sampled walks", 1, ">",
            )  # fmt: skip
            yield Row(claim, time(family.sizes[1], FREE) / time(family.sizes[1], OWN))


def _chordal() -> Iterator[Row]:
    for form, values in (("hypercube:{}", (4, 5, 6, 7)), ("star:{}", (3, 4, 5, 6))):
        specs = [form.format(value) for value in values]
        spent = [path_time(bind("vertex-transitive", fabric(spec))) / diameter(spec) for spec in specs]
        claim = bounded(
            f"chordal-{specs[0]}",
            f"lines that find a path by reference 17 grow within O(D), {specs[0]} to {specs[-1]}",
            "section II, [17]: 'the time complexity is O(D) time units'",
            f"{GROWTH}; the decisions of a path together; the scheme vertex-transitive",
        )  # fmt: skip
        exponent, low, high = growth_exponent([nodes(spec) for spec in specs], spent)
        yield Row(claim, exponent, (low, high))


# --- no underlying Cayley graph -------------------------------------------------------------


def kinds(spec: str) -> int:
    """The vertices of the graph of switches (DCell: of servers) by their distances and short closed walks."""
    network = fabric(spec)
    chosen = np.arange(network.servers, network.size)
    if spec.startswith("dcell"):
        chosen = np.arange(network.servers)
    hops = "servers" if spec.startswith("dcell") else "links"
    rows = distance_rows(hop_graph(network, hops=hops), chosen.astype(np.int32))[:, chosen]  # type: ignore[arg-type]
    near = (rows == rows[rows > 0].min()).astype(np.int64)
    power, closed = near, []
    for _ in range(6):
        power = power @ near
        closed.append(power.diagonal())
    return len({(*np.bincount(row), *walks) for row, walks in zip(rows, np.array(closed).T, strict=True)})


def _no_group() -> Iterator[Row]:
    for spec in ("dcell:3,2", "jellyfish:24,40,12", "xpander:12,4", "slimfly:7"):
        claim = _claim(
            f"no-group-{spec}", "section V-E: 'DCell, Jellyfish, Xpander and Slim fly' have none",
            f"kinds of vertices of {spec} by distances and closed walks, above 1: no Cayley graph",
            "the graph of the switches, of DCell that of the servers; in a Cayley graph all vertices are alike",
            1, ">",
        )  # fmt: skip
        yield Row(claim, kinds(spec))


def _rows() -> Iterator[Row]:
    parts = (_labels, _smallest, _theorems_7_and_8, _reduction, _no_group, _delivered, _stretch)
    for part in parts:
        yield from part()


def _times() -> Iterator[Row]:
    yield from _slower()
    yield from _chordal()


EXPERIMENTS = (
    Experiment("wmgr-trade-offs", _PAPER, "stretch, labels and memory beside each other", _rows),
    Experiment("wmgr-time", _PAPER, "decision time beside other schemes", _times),
)
