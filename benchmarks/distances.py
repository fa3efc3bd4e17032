"""All-pairs distances: the evaluator compared with common libraries, on one graph in one run.

Every tool gets the same random regular graph in its fastest input format, and must give the same
sum of distances.  Each runs in its own process, so that its peak memory is measured separately.
Libraries that are not installed are listed and skipped (``pip install 'dcnlab[bench]'``).  The
Graph Golf community's C program (M. Nakao's APSP: https://github.com/mnakao/APSP) runs if
``apsp_openmp`` or ``apsp`` is on the PATH; its time is the one that it prints.  networkx searches
from a sample of the sources in Python; its time is scaled up, as the table says.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from dcnlab.evaluator.graph.hop_graph import HopGraph, hop_graph
from topos.registry import fabric

SPEC = "random:8192,8,hosts=0"
#: networkx runs one source in this many.
SAMPLED = 32
#: Graph Golf's C program for all processors and for one, and its number of iterations.
GOLF = ("apsp_openmp", "apsp")
GOLF_ROUNDS = 10

#: A prepared measurement: call it to get the sum of the distances.
Prepared = Callable[[], float]


@dataclass(frozen=True)
class Measured:
    """Seconds (best of the rounds), megabytes beyond the input, and the sum of distances."""

    seconds: float
    megabytes: float
    total: float


def ours(graph: HopGraph) -> Prepared:
    """The evaluator's histogram; the first call compiles."""
    from dcnlab.evaluator.graph.distances import distances

    def run() -> float:
        sweep = distances(graph)
        return sweep.mean * sweep.reached

    return run


def ours_rows(graph: HopGraph) -> Prepared:
    """The evaluator's distance matrix of 16-bit elements."""
    from dcnlab.evaluator.graph.distances import distance_rows

    everything = np.arange(graph.size, dtype=np.int32)
    return lambda: float(distance_rows(graph, everything).sum(dtype=np.int64))


def by_scipy(graph: HopGraph) -> Prepared:
    """scipy.sparse.csgraph.shortest_path, unweighted."""
    from scipy.sparse.csgraph import shortest_path

    matrix = csr_array((np.ones(len(graph.peer)), graph.peer, graph.start), shape=(graph.size, graph.size))
    return lambda: float(shortest_path(matrix, method="D", unweighted=True).sum())


def by_networkx(graph: HopGraph) -> Prepared:
    """One search per source, for one source in SAMPLED, scaled to all."""
    import networkx as nx

    made = nx.Graph(_edges(graph))

    def run() -> float:
        sources = range(0, graph.size, SAMPLED)
        return SAMPLED * sum(sum(nx.single_source_shortest_path_length(made, s).values()) for s in sources)

    return run


def by_igraph(graph: HopGraph) -> Prepared:
    """igraph's histogram of path lengths, its fastest function."""
    import igraph

    made = igraph.Graph(n=graph.size, edges=_edges(graph))

    def run() -> float:
        bins = made.path_length_hist(directed=False).bins()
        return float(2 * sum(first * count for first, _, count in bins))

    return run


def by_networkit(graph: HopGraph) -> Prepared:
    """networkit's all-pairs shortest paths."""
    import networkit

    made = networkit.Graph(graph.size)
    for a, b in _edges(graph):
        made.addEdge(a, b)

    def run() -> float:
        algorithm = networkit.distance.APSP(made)
        algorithm.run()
        return float(np.sum(algorithm.getDistances()))

    return run


def by_rustworkx(graph: HopGraph) -> Prepared:
    """rustworkx's distance matrix."""
    import rustworkx

    made = rustworkx.PyGraph()
    made.add_nodes_from(range(graph.size))
    made.add_edges_from_no_data(_edges(graph))
    return lambda: float(np.sum(rustworkx.distance_matrix(made)))


TOOLS: dict[str, tuple[str, Callable[[HopGraph], Prepared], int]] = {
    "evaluator, histogram": ("numba", ours, 5),
    "evaluator, matrix": ("numba", ours_rows, 3),
    "igraph": ("igraph", by_igraph, 1),
    "networkit": ("networkit", by_networkit, 1),
    "scipy": ("scipy", by_scipy, 1),
    "rustworkx": ("rustworkx", by_rustworkx, 1),
    "networkx": ("networkx", by_networkx, 1),
}


def _edges(graph: HopGraph) -> list[tuple[int, int]]:
    tail = np.repeat(np.arange(graph.size), np.diff(graph.start))
    once = tail < graph.peer
    return list(zip(tail[once].tolist(), graph.peer[once].tolist(), strict=True))


def measure(name: str, spec: str = SPEC) -> Measured:
    """Run one tool, after a warm-up call if there are several rounds."""
    _, prepare, rounds = TOOLS[name]
    run = prepare(hop_graph(fabric(spec)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times, total = [], 0.0
    for _ in range(rounds + (rounds > 1)):
        begun = time.perf_counter()
        total = run()
        times.append(time.perf_counter() - begun)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    scale = SAMPLED if name == "networkx" else 1
    return Measured(scale * min(times), (after - before) / 1024, total)


def golf(program: str, spec: str) -> Measured:
    """Run the C program on the graph as a file; it prints its seconds per iteration."""
    with tempfile.TemporaryDirectory() as folder:
        edges = Path(folder, "graph.edges")
        edges.write_text("".join(f"{a} {b}\n" for a, b in _edges(hop_graph(fabric(spec)))))
        argv = [program, "-f", str(edges), "-P", "-n", str(GOLF_ROUNDS)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            said = process.stdout.read()
            _, _, used = os.wait4(process.pid, 0)
    match = re.search(r"\((\d+)/\d+\).*Elapsed Time\s*=\s*([\d.]+)", said, re.DOTALL)
    assert match is not None, said
    return Measured(float(match[2]) / GOLF_ROUNDS, used.ru_maxrss / 1024, 2.0 * int(match[1]))


def show(name: str, measured: Measured, baseline: Measured, note: str = "") -> None:
    """Print a line; raises SystemExit if the tools disagree."""
    if not note and measured.total != baseline.total:
        raise SystemExit(f"{name}: sum of distances {measured.total}, not {baseline.total}")
    ratio = measured.seconds / baseline.seconds
    print(f"{name:28} {measured.seconds:9.3f} s {ratio:8.1f} x {measured.megabytes:8.0f} MB{note}", flush=True)


def main() -> None:
    """Print seconds, ratios and memory; an argument names another graph than ``SPEC``."""
    spec = sys.argv[1] if len(sys.argv) > 1 else SPEC
    spawn: Any = multiprocessing.get_context("spawn")
    print(f"all pairs of {spec}; best of several rounds; memory beyond the input")
    baseline: Measured | None = None
    for name, (module, _, _) in TOOLS.items():
        if importlib.util.find_spec(module) is None:
            print(f"{name:28} not installed (pip install 'dcnlab[bench]')")
            continue
        with spawn.Pool(1) as pool:
            measured: Measured = pool.apply(measure, (name, spec))
        baseline = baseline or measured
        show(name, measured, baseline, f" (from 1 source in {SAMPLED})" if name == "networkx" else "")
    assert baseline is not None
    programs = [program for program in GOLF if shutil.which(program)]
    for program in programs:
        show(f"Graph Golf's {program}", golf(program, spec), baseline)
    if not programs:
        print("Graph Golf's C program       not compared: apsp is not on the PATH")


if __name__ == "__main__":
    main()
