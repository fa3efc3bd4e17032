"""DCube (Guo et al.), sections 1 to 4 and 6: what is built, and the sequences of the proofs."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from addressing.algorithms.dcube_paths import disjoint_switch_paths
from addressing.algorithms.mobius import Symbol
from addressing.multipath.complete_graphs import complete_graph
from addressing.registry import bind
from dcnlab.evaluator.graph.distances import distance_rows, distances
from dcnlab.evaluator.graph.hop_graph import hop_graph
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.traffic.loads import link_loads
from dcnlab.papers import oracles
from dcnlab.papers.claim import Claim, Experiment, Independent, Relation, Row
from dcnlab.papers.dcube.statements import applicable, switches_along
from topos.fabric import Fabric
from topos.families.dcube import CubeOfSwitches
from topos.registry import fabric, parse

_PAPER = "Guo et al., DCube"
_COUNTED = "counted in the topology"
_BUILT = (("hdcube", 6, 2), ("mdcube", 6, 2), ("hdcube", 8, 1), ("mdcube", 8, 1), ("hdcube", 16, 2))
_FROM = 8


def _row(
    name: str, source: str, statement: str, how: str, printed: float, measured: float,
    relation: Relation = "=",
) -> Row:  # fmt: skip
    return Row(Claim(name, _PAPER, statement, printed, how, relation, source=source), measured)


def _cube(spec: str) -> CubeOfSwitches:
    family = fabric(spec).family
    assert isinstance(family, CubeOfSwitches)
    return family


# --- what is built --------------------------------------------------------------------


def joined(spec: str) -> Counter[frozenset[int]]:
    """The links between servers of each two switches."""
    cube, ends = _cube(spec), parse(spec).link_ends()
    servers = cube.counts()[0]
    across = ends[(ends[:, 0] < servers) & (ends[:, 2] < servers)]
    return Counter(frozenset((cube.address(int(a)), cube.address(int(b)))) for a, _, b, _ in across)


def _built() -> Iterator[Row]:
    for family, n, k in _BUILT:
        spec, m = f"{family}:{n},{k}", n // k
        servers, switches = parse(spec).counts()
        source = "section 3, 'DCube has 2^m x m x k = 2^m x n servers and 2^m switches'"
        yield _row(f"built-servers-{spec}", source, f"servers of {spec}", _COUNTED, 2**m * n, servers)
        yield _row(f"built-switches-{spec}", source, f"switches of {spec}", _COUNTED, 2**m, switches)
        pairs = joined(spec)
        yield _row(
            f"pairs-{spec}", "section 4, 'two neighboring switches have k pairs of such connecting servers'",
            f"neighbouring switches of {spec} that other than {k} links of servers join", _COUNTED, 0,
            sum(links != k for links in pairs.values()),
        )  # fmt: skip
        near = Counter(end for ends in pairs for end in ends)
        yield _row(
            f"degree-{spec}", "section 3, 'The node degree and network diameter'",
            f"switches of {spec} that do not have {m} neighbouring switches", _COUNTED, 0,
            sum(near[at] != m for at in range(switches)),
        )  # fmt: skip
        links = np.bincount(parse(spec).link_ends()[:, [0, 2]].ravel())[:servers]
        yield _row(
            f"two-links-{spec}", "section 1, 'only two links being associated with each server'",
            f"servers of {spec} with other than two links", _COUNTED, 0, int((links != 2).sum()),
        )  # fmt: skip
    for m in (3, 5, 8):
        network = fabric(f"hdcube:{m},1")
        measured = distances(hop_graph(network), *[range(network.servers, network.size)] * 2).diameter // 3
        row = _row(
            f"hypercube-{m}", "section 3, 'well known to be m'", f"diameter of the hypercube, m = {m}",
            "exact over all pairs of switches; a switch hop is three links", m, measured,
        )  # fmt: skip
        yield replace(row, independent=Independent.by(oracles.cube_diameter, "hdcube", m))


def kinds(network: Fabric) -> int:
    """The number of different distributions of distances that servers see."""
    rows = distance_rows(hop_graph(network), np.arange(network.servers, dtype=np.int32))
    return len({tuple(np.bincount(row[: network.servers])) for row in rows})


def _symmetric() -> Iterator[Row]:
    source = "section 1; conclusion: 'high degrees of regularity and symmetry'"
    for spec in ("hdcube:5,1", "hdcube:6,2", "mdcube:5,1", "mdcube:6,2"):
        network = fabric(spec)
        ports = {network.port_count(at) for at in range(network.servers, network.size)}
        yield _row(
            f"regular-{spec}", source, f"numbers of ports of a switch of {spec}", _COUNTED, 1, len(ports)
        )
        yield _row(
            f"symmetric-{spec}", source, f"different distributions of distances from a server of {spec}",
            "exact from every server to all others", 1, kinds(network),
        )  # fmt: skip


def _extended() -> Iterator[Row]:
    for n, k, q in ((4, 2, 3), (3, 1, 4)):
        spec = f"xdcube:{n},{k},ports={q}"
        network = fabric(spec)
        links = {network.port_count(server) for server in range(network.servers)}
        yield _row(
            f"ports-{spec}", "section 6, 'a server with q ports can be treated as a set of q - 1'",
            f"links of a server of {spec}", _COUNTED, q, max(links) if len(links) == 1 else 0,
        )  # fmt: skip
        yield _row(
            f"ports-switches-{spec}", "section 6, 'any constant number of server ports'",
            f"switches of {spec}, 2^(n (q - 1)/k)", _COUNTED, 2 ** (n * (q - 1) // k),
            network.size - network.servers,
        )  # fmt: skip
    for spec in ("xdcube:6,2,cubes=hyper+mobius1", "xdcube:6,2,cubes=mobius0+twisted"):
        network = fabric(spec)
        lengths = distances(hop_graph(network), range(network.servers), range(network.servers))
        yield _row(
            f"mixed-{spec}", "section 3, 'each DCube_i may use different hypercube-like graphs'",
            f"pairs of servers of {spec} without a path", "exact over all pairs", 0, lengths.unreachable,
        )  # fmt: skip
    for cube, m in (("mobius0", 5), ("mobius0", 8), ("twisted", 5), ("twisted", 7)):
        network = fabric(f"xdcube:{m},1,cubes={cube}")
        switches = range(network.servers, network.size)
        hops = distances(hop_graph(network), switches, switches).diameter // 3
        row = _row(
            f"similar-{cube}-{m}", "section 3, 'other hypercube-like graphs with a similar diameter'",
            f"diameter of the {cube} cube in switch hops, about ceil((m+1)/2), m = {m}",
            "exact over all pairs of switches; similar read as within one hop; Flip MCube and Fastcube are not"
            " built here", math.ceil((m + 1) / 2), hops,
        )  # fmt: skip
        yield replace(row, claim=replace(row.claim, tolerance=1))


def _sixteen() -> Iterator[Row]:
    """DCube(16,1) beside DCube(16,2); its 2^20 servers are searched from some."""
    source = "section 3, 'the network diameter and expected routing path length are also relatively higher'"
    for family in ("hdcube", "mdcube"):
        one, two = (fabric(f"{family}:16,{k}") for k in (1, 2))
        draw = np.random.default_rng(1).choice(one.servers, _FROM, replace=False).astype(np.int32)
        many = distances(hop_graph(one, hops="servers"), draw, range(one.servers))
        few = distances(hop_graph(two, hops="servers"), range(two.servers), range(two.servers))
        for words, ratio in (("diameter", many.diameter / few.diameter), ("mean", many.mean / few.mean)):
            yield _row(
                f"sixteen-{family}-{words}", source, f"{words} of {family}:16,1 over that of {family}:16,2",
                f"from {_FROM} servers, seed 1, to all; of (16,2) exact over all pairs", 1, ratio, ">",
            )  # fmt: skip


# --- the sequences of the proofs ------------------------------------------------------


def walk(cube: CubeOfSwitches, at: int, dimensions: Sequence[int]) -> list[int]:
    """The switches from one along dimensions."""
    return list(itertools.accumulate(dimensions, cube.neighbour, initial=at))


def _hypercube_paths() -> Iterator[Row]:
    how = "all ordered pairs of switches"
    for m in (3, 4, 5):
        cube, wrong, lengths = _cube(f"hdcube:{m},1"), {"5": 0, "4": 0}, 0
        for a, b in itertools.permutations(range(2**m), 2):
            paths, weight = disjoint_switch_paths(cube, a, b), (a ^ b).bit_count()
            inner = [set(walk(cube, a, path)[1:-1]) for path in paths]
            met = [bool(one & other) for one, other in itertools.combinations(inner, 2)]
            shortest = [path for path in paths if len(path) == weight]
            wrong["5"] += len(shortest) != weight or any(met)
            wrong["4"] += len(paths) != m or any(met) or any(walk(cube, a, p)[-1] != b for p in paths)
            lengths += any(len(path) not in (weight, weight + 2) for path in paths)
        yield _row(
            f"theorem-5-{m}", "section 4, Theorem 5",
            f"pairs of switches without W(A + B) parallel paths by rotations, m = {m}", how, 0, wrong["5"],
        )  # fmt: skip
        yield _row(
            f"proof-4-{m}", "section 4, proof of Theorem 4",
            f"pairs of switches whose rotations and t' ... t' are not m parallel paths, m = {m}", how, 0,
            wrong["4"],
        )  # fmt: skip
        yield _row(
            f"proof-4-lengths-{m}", "section 4, 'parallel switch paths with lengths of W(A + B) + 2'",
            f"pairs of switches with a path of another length, m = {m}", how, 0, lengths,
        )  # fmt: skip


def between_neighbours(m: int) -> int:
    """The most switch hops of t_j t_i between neighbours of a switch of M-DCube, by Theorem 2."""
    most = 0
    for here in range(2**m):
        steps = [applicable(here, index, m) for index in range(m)]
        for one, other in itertools.permutations(steps, 2):
            path = switches_along(here ^ one.bits, (other, one), m)
            assert path[-1] == here ^ other.bits
            most = max(most, len(path) - 1)
    return most


def _complements() -> Iterator[Row]:
    """On Algorithm 3: what an E_j does to the symbols of lower index."""
    for m in (3, 5, 8):
        kept = 0
        for at, index in itertools.product(range(2**m), range(1, m)):
            wide = Symbol(index, True)
            if wide.applies(at, m):
                lower = [Symbol(i, flag) for i in range(1, index) for flag in (False, True)]
                kept += sum(one.applies(at, m) and one.applies(at ^ wide.bits, m) for one in lower)
        yield _row(
            f"complements-{m}", "section 4, 'If the leftmost applicable term is E_j'",
            f"applicable terms e_i, E_i, 0 < i < j, that stay applicable after E_j, m = {m}",
            "all switches and terms; e_0 = E_0 is always applicable", 0, kept,
        )  # fmt: skip


def _complete_graphs() -> Iterator[Row]:
    for m in (3, 4, 6, 8):
        graph, network = complete_graph(fabric(f"hdcube:{m},1"), 0), fabric(f"hdcube:{m},1")
        crossed = [
            sum(network.is_server(a) and network.is_server(b) for a, b in itertools.pairwise(path))
            for path in graph.paths.values()
        ]
        source = "section 4, 'only two switch hops and is, at most, four switch-hops'"
        yield _row(
            f"hops-hdcube-{m}", source, f"most switch hops in the complete graph of hdcube:{m},1, at most 2",
            "the family's own construction", 2, max(crossed), "<=",
        )  # fmt: skip
        yield _row(
            f"hops-mdcube-{m}", source, f"most switch hops of t_j t_i in mdcube:{m},1, at most 4",
            "all switches; inapplicable symbols replaced by Theorem 2", 4, between_neighbours(m), "<=",
        )  # fmt: skip


def _balanced() -> Iterator[Row]:
    for spec in ("hdcube:4,1", "hdcube:6,2", "hdcube:6,1"):
        network = fabric(spec)
        loads = link_loads(bind("dcube", network), choose(network, "servers", 1))
        second = loads[network.adjacency.start[: network.servers] + 1]
        yield _row(
            f"balanced-{spec}", "section 4, 'the load balance of each server'",
            f"largest over smallest load of a server's second port, {spec}", "all-to-all, Algorithm 1", 1,
            round(float(second.max() / second.min()), 9),
        )  # fmt: skip


def _rows() -> Iterator[Row]:
    for part in (
        _built, _symmetric, _extended, _complements, _sixteen, _hypercube_paths, _complete_graphs, _balanced,
    ):  # fmt: skip
        yield from part()


EXPERIMENTS = (Experiment("dcube-structure", _PAPER, "what is built, and the sequences of the proofs", _rows),)
