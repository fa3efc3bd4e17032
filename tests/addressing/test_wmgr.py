"""WMGR on the free group: the scheme and its deg+1 prefix tables against the paper's Algorithms 1 and 2.

The tests implement the algorithms literally: words of links, reduced by cancelling, and a scan of all
neighbours.  The scheme uses a closed form of the word metric, and tables.  The tests compare all pairs of
nodes on hundreds of combinations of graph, root and order.
"""

from __future__ import annotations

import collections
import functools
import itertools
from pathlib import Path

import networkx as nx
import pytest

from addressing import registry
from addressing.algorithms import freegroup
from addressing.algorithms.scan.wmgr_scan_order import ORDERS
from addressing.header import Deliver, Forward, Header
from addressing.scheme import path
from addressing.schemes.wmgr import Wmgr
from addressing.table import compile_table
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.routing.path_lengths import path_lengths
from tests.addressing.cases import failures, smalls
from tests.topos.graphs import built, graph
from topos import registry as families
from topos.fabric import Fabric
from topos.graph import ALL_UP, LinkState
from topos.spec import SpecError

Word = tuple[int, ...]

#: Fabrics of each family, and roots of each.
FABRICS, ROOTS = 2, 2


def algorithm_1(fabric: Fabric, links: LinkState, root: int) -> dict[int, Word]:
    """Every node that the root reaches has its parent's word followed by the letter of the link to it."""
    words: dict[int, Word] = {root: ()}
    queue = collections.deque([root])
    while queue:
        at = queue.popleft()
        letter = 0
        for _, end in fabric.ports(at, links):
            if end.node not in words:
                letter += 1
                words[end.node] = (*words[at], letter)
                queue.append(end.node)
    return words


def reduced(word: Word) -> Word:
    """Cancel letters next to their inverses (their negatives) until there are none."""
    out: list[int] = []
    for letter in word:
        if out and out[-1] == -letter:
            out.pop()
        else:
            out.append(letter)
    return tuple(out)


def inverse(word: Word) -> Word:
    return tuple(-letter for letter in reversed(word))


def algorithm_2(
    scanned: list[tuple[int, int]], metric: dict[tuple[int, int], int], at: int, to: int
) -> int:  # fmt: skip
    """The port to the neighbour w with the least |w^-1 v|, the first of them in scan order."""
    return min(scanned, key=lambda item: metric[item[1], to])[0]


def scan(
    fabric: Fabric, links: LinkState, words: dict[int, Word], order: str, at: int
) -> list[tuple[int, int]]:
    """(port, neighbour) in the given scan order, by its definition."""
    ports = [(port, end.node) for port, end in fabric.ports(at, links)]
    if order == "built":
        return ports
    return sorted(ports, key=lambda item: (len(words[item[1]]), words[item[1]]), reverse=order == "revlex")


def combinations() -> list[tuple[str, int]]:
    """Small fabrics of every family, including ``file:``, with roots."""
    chosen = []
    for name in families.known():
        specs = smalls(name)
        for spec in dict.fromkeys(specs[:: max(1, len(specs) // FABRICS)][:FABRICS]):
            size = built(spec).size
            chosen += [(spec, root) for root in dict.fromkeys((0, size // 2))][:ROOTS]
    samples = Path(families.__file__).parent / "samples"
    files = sorted(file.name for file in samples.iterdir())
    return chosen + [(f"file:{name}", root) for name in files for root in range(3)]


@functools.lru_cache(maxsize=8)
def measured(fabric: Fabric, links: LinkState, root: int) -> tuple[dict[int, Word], dict[tuple[int, int], int]]:
    """The words of the nodes that the root reaches, and |w^-1 v| of every two of them."""
    words = algorithm_1(fabric, links, root)
    pairs = itertools.product(words, repeat=2)
    return words, {(w, v): len(reduced(inverse(words[w]) + words[v])) for w, v in pairs}


def agree(scheme: Wmgr, links: LinkState) -> None:
    """Compare scheme and tables with the algorithms, for all pairs of nodes that the root reaches."""
    fabric, root = scheme.fabric, scheme.root_node
    words, metric = measured(fabric, links, root)
    common = scheme.embedding.common
    assert {node: word[common:] for node, word in enumerate(scheme.embedding.words) if node in words} == words
    for at in words:
        table, scanned = compile_table(scheme, at, links), scan(fabric, links, words, scheme.order, at)
        if scheme.order == "searched":
            ends = dict(scanned)
            scanned = [(port, ends[port]) for port in scheme.scans[at] if port in ends]
        assert len(table.entries) <= len({node for _, node in scanned}) + 1
        for to in words:
            header = Header(scheme.label(to))
            ((action, _),) = table.lookup(header)
            if to == at:
                assert isinstance(action, Deliver)
            else:
                assert action == Forward(algorithm_2(scanned, metric, at, to))
            assert scheme.next_hops(at, header, links)[0][0] == action


@pytest.mark.parametrize(("spec", "root"), combinations())
def test_scheme_and_tables_agree_with_algorithms_1_and_2(spec: str, root: int) -> None:
    for order in ORDERS:
        scheme = registry.bind(f"wmgr:root={root},order={order}", built(spec))
        assert isinstance(scheme, Wmgr)
        agree(scheme, ALL_UP)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("spec", ["bcube:3,1", "hypercube:4", "jellyfish:4,8,3", "file:petersen.edgelist"])
@pytest.mark.parametrize("splitting", [False, True])
def test_they_agree_after_failures(spec: str, order: str, splitting: bool) -> None:
    down = failures(built(spec), 7, 0.3, splitting)
    scheme = registry.bind(f"wmgr:root=centre,order={order}", built(spec)).with_failures(down)
    assert isinstance(scheme, Wmgr)
    agree(scheme, down)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("spec", ["bubblesort:4", "bcube:3,1", "dcell:3,1"])
def test_arrays_follow_the_rule(spec: str, order: str) -> None:
    """The evaluator's kernel and the rule give the same distribution of hops, with and without failures."""
    scheme = registry.bind(f"wmgr:order={order}", built(spec))
    for down in (ALL_UP, failures(scheme.fabric, 3, 0.2)):
        pairs = choose(scheme.fabric, "all", 1)
        fast, slow = path_lengths(scheme, pairs, down), path_lengths(scheme, pairs, down, generic=True)
        assert (fast.joint == slow.joint).all()


@pytest.mark.parametrize("spec", ["bubblesort:5", "star:5", "torus:5x6", "dcell:2,2", "jellyfish:6,20,4"])
def test_searched_is_never_worse_than_its_initial_orders(spec: str) -> None:
    hops = {
        order: path_lengths(
            registry.bind(f"wmgr:order={order}", built(spec)), choose(built(spec), "all", 1)
        ).path_mean
        for order in ORDERS
    }
    assert hops["searched"] <= min(hops["built"], hops["revlex"])


@pytest.mark.parametrize("spec", ["jellyfish:6,20,4", "fattree:4", "torus:4x4"])
def test_ties_are_spread_over_equally_near_neighbours(spec: str) -> None:
    """Each hop comes nearer by the word metric, as far as the first neighbour would; several ports are used."""
    first, spread = (registry.bind(f"wmgr:ties={ties}", built(spec)) for ties in ("first", "spread"))
    assert isinstance(first, Wmgr)
    used = set()
    for at, to in itertools.permutations(range(first.fabric.size), 2):
        one, other = (s.next_hops(at, Header(s.label(to)))[0][0] for s in (first, spread))
        assert isinstance(one, Forward)
        assert isinstance(other, Forward)
        ends = [first.fabric.peer(at, action.port) for action in (one, other)]
        distances = [first.distance(end.node, to) for end in ends if end]
        assert distances[0] == distances[-1] < first.distance(at, to)
        used.add(one == other)
    assert used == {True, False}


def test_port_order_is_perfect_on_hypercubes() -> None:
    """With neighbours scanned by port, all pairs have stretch 1; with ShortLex they do not."""
    ported, shortlex = (registry.bind(f"wmgr:order={order}", built("hypercube:5")) for order in ORDERS[:2])
    pairs = choose(ported.fabric, "all", 1)
    assert path_lengths(ported, pairs).stretch_max == 1
    assert path_lengths(shortlex, pairs).stretch_max > 1


def test_orders_do_not_change_labels() -> None:
    labels = {
        tuple(map(registry.bind(f"wmgr:order={order}", built("bcube:3,1")).label, range(15)))
        for order in ORDERS
    }
    assert len(labels) == 1


@pytest.mark.parametrize("spec", ["file:petersen.edgelist", "torus:3x9", "bcube:3,1", "fattree:4"])
def test_the_centre_lies_in_the_middle(spec: str) -> None:
    """On these graphs its eccentricity is the radius."""
    centre = freegroup.centre(built(spec))
    assert nx.eccentricity(graph(built(spec)), centre) == nx.radius(graph(built(spec)))


def test_the_centre_of_a_tree_is_exact(tmp_path: Path) -> None:
    for seed in range(10):
        tree = nx.random_labeled_tree(30, seed=seed)
        nx.write_edgelist(tree, tmp_path / f"{seed}.edgelist", data=False)
        fabric = families.fabric(f"file:{tmp_path}/{seed}.edgelist")
        whole = graph(fabric)
        assert freegroup.centre(fabric) in nx.center(whole)


def test_roots_by_name() -> None:
    fabric = built("bcube:3,1")
    roots = [registry.bind(f"wmgr:root={root}", fabric) for root in ("h3", "3", "s0", "9")]
    assert [scheme.root_node for scheme in roots if isinstance(scheme, Wmgr)] == [3, 3, 9, 9]
    assert path(roots[2], 0, 8) is not None


@pytest.mark.parametrize(("text", "message"), [("root=h99", "no node"), ("order=best", "must be one of")])
def test_invalid_parameters_are_refused(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        registry.bind(f"wmgr:{text}", built("bcube:3,1"))
