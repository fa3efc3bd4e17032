"""Values that ``reproduce`` shows as independent: by networkx, scipy and brute force, from the definitions.

No function here uses the program's topologies, schemes or evaluator: a contract of import-linter keeps it so.
Arguments are whole numbers and names, so that the record can say which call gave a value.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

Floats = NDArray[np.float64]


def _distances(size: int, edges: Iterable[tuple[int, int]], sources: Iterable[int]) -> Floats:
    """The hops from the sources to all nodes, infinite where there is no path."""
    a, b = np.array(list(edges)).T
    graph = csr_array((np.ones(len(a)), (a, b)), shape=(size, size))
    return dijkstra(graph, directed=False, indices=list(sources), unweighted=True)


# --- Borel Cayley graphs: matrices [[a^t, y], [0, 1]] modulo p ------------------------


@cache
def _from_identity(p: int, a: int, t1: int, t2: int) -> dict[tuple[int, int], int]:
    """The hops from the identity matrix to every matrix, by multiplying with A, B and their inverses."""

    def times(m: tuple[int, int], n: tuple[int, int]) -> tuple[int, int]:
        return m[0] * n[0] % p, (m[0] * n[1] + m[1]) % p

    letters = [(pow(a, t, p), 1) for t in (t1, t2)]
    letters += [(pow(x, -1, p), -pow(x, -1, p) * y % p) for x, y in letters]
    hops, queue = {(1, 0): 0}, deque([(1, 0)])
    while queue:
        at = queue.popleft()
        for letter in letters:
            if (end := times(at, letter)) not in hops:
                hops[end] = hops[at] + 1
                queue.append(end)
    return hops


def borel_nodes(p: int, a: int, t1: int, t2: int) -> float:
    """The number of matrices that the generators reach."""
    return len(_from_identity(p, a, t1, t2))


def borel_diameter(p: int, a: int, t1: int, t2: int) -> float:
    """The largest distance of two matrices (the graph is vertex-transitive)."""
    return max(_from_identity(p, a, t1, t2).values())


def borel_average(p: int, a: int, t1: int, t2: int) -> float:
    """The mean distance of two different matrices."""
    hops = _from_identity(p, a, t1, t2)
    return sum(hops.values()) / (len(hops) - 1)


def borel_phase_1(p: int, a: int, t1: int, t2: int) -> float:
    """The diameter of the graph of classes: exponents modulo the order of a, joined at distances t1 and t2."""
    k = next(e for e in range(1, p) if pow(a, e, p) == 1)
    return nx.diameter(nx.Graph((i, (i + t) % k) for i in range(k) for t in (t1, t2)))  # type: ignore[no-any-return]


def borel_phase_2(p: int, a: int, t1: int, t2: int) -> float:
    """The largest distance between two matrices of one class."""
    return max(hops for (x, _), hops in _from_identity(p, a, t1, t2).items() if x == 1)


# --- tori and CLOT --------------------------------------------------------------------


@cache
def _torus_rows(family: str, k: int, n: int, per_switch: int) -> Floats:
    """Hops from the servers of one block of k/2 servers in each dimension (all others are alike) to all; from
    all servers in CLOT with an odd k."""
    nodes = list(itertools.product(range(k), repeat=n))
    number = {node: i for i, node in enumerate(nodes)}
    edges = [
        (number[node], number[(*node[:d], (node[d] + 1) % k, *node[d + 1 :])])
        for node in nodes
        for d in range(n)
    ]
    half, size = k // 2, len(nodes)
    if family == "novacube":
        edges += [(number[node], number[tuple((x + half) % k for x in node)]) for node in nodes]
    if family == "clot":
        for base in itertools.product(range(half), repeat=n):
            members = [
                number[tuple(x + half * s for x, s in zip(base, far, strict=True))]
                for far in itertools.product((0, 1), repeat=n)
            ]
            if per_switch == 1:
                edges += itertools.combinations(members, 2)
            else:
                edges += [(member, size) for member in members]
                size += 1
    block = itertools.product(range(half if k % 2 == 0 else k), repeat=n)
    sources = [0] if family != "clot" else [number[base] for base in block]
    return _distances(size, edges, sources)[:, : len(nodes)]


def torus_mean(family: str, k: int, n: int, per_switch: int) -> float:
    """The mean distance of two different servers of a torus, NovaCube or CLOT."""
    rows = _torus_rows(family, k, n, per_switch)
    return float(rows.sum() / (len(rows) * (rows.shape[1] - 1)))


def torus_diameter(family: str, k: int, n: int, per_switch: int) -> float:
    """The largest distance of two servers of a torus, NovaCube or CLOT."""
    return float(_torus_rows(family, k, n, per_switch).max())


def torus_farthest(k: int, n: int) -> float:
    """The number of servers of a torus that are farthest from one."""
    row = _torus_rows("torus", k, n, 1)[0]
    return int((row == row.max()).sum())


def clot_bisection(k: int, n: int) -> float:
    """Twice the fewest links between halves of the servers, by trying all; switches join their larger part."""
    nodes = list(itertools.product(range(k), repeat=n))
    number = {node: i for i, node in enumerate(nodes)}
    links = [(number[x], number[(*x[:d], (x[d] + 1) % k, *x[d + 1 :])]) for x in nodes for d in range(n)]
    groups: dict[tuple[int, ...], list[int]] = {}
    for node in nodes:
        groups.setdefault(tuple(x % (k // 2) for x in node), []).append(number[node])
    least = math.inf
    for chosen in itertools.combinations(range(1, len(nodes)), len(nodes) // 2 - 1):
        side = {0, *chosen}
        cut = sum((a in side) != (b in side) for a, b in links)
        inside = [sum(member in side for member in members) for members in groups.values()]
        least = min(least, cut + sum(min(count, 2**n - count) for count in inside))
    return 2 * least


def monotone_paths(*gaps: int) -> float:
    """The number of shortest paths in a grid, by adding up those to the nodes before."""
    counts = np.zeros([gap + 1 for gap in gaps], dtype=np.int64)
    for at in np.ndindex(*counts.shape):
        before = [(*at[:d], at[d] - 1, *at[d + 1 :]) for d in range(len(gaps)) if at[d]]
        counts[at] = sum(counts[one] for one in before) if before else 1
    return int(counts.flat[-1])


# --- DCube with one sub-network and m ports -------------------------------------------


def _across(cube: str, a: int, j: int, m: int) -> int:
    """The neighbour of switch a in dimension j of a hypercube or a 1-moebius cube."""
    above = 1 if j == m - 1 else a >> (j + 1) & 1
    return a ^ ((2 << j) - 1 if cube == "mdcube" and above else 1 << j)


@cache
def _dcube_rows(cube: str, m: int) -> Floats:
    """Server hops between all servers: within a switch, or across the link of a server."""

    def server(a: int, j: int) -> int:
        return a * m + j

    edges = [(server(a, j), server(_across(cube, a, j, m), j)) for a in range(2**m) for j in range(m)]
    edges += [(server(a, i), server(a, j)) for a in range(2**m) for i, j in itertools.combinations(range(m), 2)]
    return _distances(m * 2**m, edges, range(m * 2**m))


def dcube_diameter(cube: str, m: int) -> float:
    """The largest distance of two servers, in server hops."""
    return float(_dcube_rows(cube, m).max())


def dcube_mean(cube: str, m: int) -> float:
    """The mean distance of two different servers, in server hops."""
    rows = _dcube_rows(cube, m)
    return float(rows.sum() / (len(rows) * (len(rows) - 1)))


@cache
def _cube_rows(cube: str, m: int) -> Floats:
    edges = [(a, _across(cube, a, j, m)) for a in range(2**m) for j in range(m)]
    return _distances(2**m, edges, range(2**m))


def cube_diameter(cube: str, m: int) -> float:
    """The largest distance of two switches in the cube of switches."""
    return float(_cube_rows(cube, m).max())


def cube_ratio(m: int, mean: int) -> float:
    """The diameter (mean: the expected distance) of the 1-moebius cube over that of the hypercube."""
    one, other = (_cube_rows(cube, m) for cube in ("mdcube", "hdcube"))
    return float(one.mean() / other.mean() if mean else one.max() / other.max())


# --- BCube, and words in Cayley graphs ------------------------------------------------


def bcube_diameter(n: int, k: int) -> float:
    """The largest distance of two nodes of BCube(n, k), in links, by networkx."""
    graph = nx.Graph(
        (digits, ("switch", level, *digits[:level], *digits[level + 1 :]))
        for digits in itertools.product(range(n), repeat=k + 1)
        for level in range(k + 1)
    )
    return nx.diameter(graph, usebounds=True)  # type: ignore[no-any-return]


Element = tuple[int, ...]


def _swap(i: int, j: int) -> Callable[[Element], Element]:
    def apply(x: Element) -> Element:
        y = list(x)
        y[i], y[j] = y[j], y[i]
        return tuple(y)

    return apply


def _generators(family: str, s: int) -> tuple[Element, list[Callable[[Element], Element]]]:
    """The identity and the involutions of a family, in the order of the program's letters."""
    if family == "hypercube":
        return (0,) * s, [lambda x, i=i: (*x[:i], 1 - x[i], *x[i + 1 :]) for i in range(s)]  # type: ignore[misc]
    pairs = {
        "bubblesort": [(i, i + 1) for i in range(s - 1)],
        "star": [(0, i) for i in range(1, s)],
        "transposition": [(i, j) for j in range(s) for i in range(j)],
    }[family]
    return tuple(range(s)), [_swap(i, j) for i, j in pairs]


@cache
def _words(family: str, s: int) -> dict[Element, tuple[int, ...]]:
    """The ShortLex least word of every element, by breadth-first search."""
    identity, letters = _generators(family, s)
    words: dict[Element, tuple[int, ...]] = {identity: ()}
    queue = deque([identity])
    while queue:
        at = queue.popleft()
        for number, letter in enumerate(letters):
            if (end := letter(at)) not in words:
                words[end] = (*words[at], number)
                queue.append(end)
    return words


def word_differences(family: str, s: int) -> float:
    """Definition 15: the elements w(i)^-1 v(i) for prefixes of the normal forms of neighbours w and v."""
    _, letters = _generators(family, s)
    words = _words(family, s)

    def prefixes(word: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        return (word[:i] for i in range(len(word) + 1))

    differences = set()
    element = {word: at for at, word in words.items()}
    for at, word in words.items():
        for letter in letters:
            for a, b in itertools.zip_longest(prefixes(word), prefixes(words[letter(at)])):
                one, other = element[word if a is None else a], element[words[letter(at)] if b is None else b]
                differences.add(_quotient(family, one, other))
    return len(differences)


def _quotient(family: str, one: Element, other: Element) -> Element:
    """one^-1 other."""
    if family == "hypercube":
        return tuple(a ^ b for a, b in zip(one, other, strict=True))
    place = {value: i for i, value in enumerate(one)}
    return tuple(place[value] for value in other)


def hyperbolicity(family: str, s: int) -> float:
    """Gromov's delta: half the difference of the two larger sums of opposite distances, over all quadruples."""
    _, letters = _generators(family, s)
    whole = nx.Graph((at, letter(at)) for at in _words(family, s) for letter in letters)
    d = dict(nx.all_pairs_shortest_path_length(whole))
    quadruples = itertools.combinations(whole, 4)
    sums = (sorted((d[a][b] + d[c][e], d[a][c] + d[b][e], d[a][e] + d[b][c])) for a, b, c, e in quadruples)
    return float(max(large - middle for _, middle, large in sums)) / 2


def ball(family: str, s: int, radius: int) -> float:
    """The number of elements whose words have at most ``radius`` letters."""
    return sum(len(word) <= radius for word in _words(family, s).values())
