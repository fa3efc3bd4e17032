"""Time of offline evaluations: every scheme, over all pairs of 8192 nodes and over samples of a million.

    python -m benchmarks.evaluate [--only TEXT] [--schemes]

Each line of the first table is one call of ``evaluate`` (the network, paths, distances and tables) in a
process of its own, after a call on a small network that loads the compiled code.  It has the elapsed
seconds and the processor seconds over all cores; compare the latter on a busy machine.  Below stand the
libraries that a user would take for the same figures, where there is one and it is installed, then other
figures.  ``--only`` picks lines that contain a text, ``--schemes`` stops after the table of schemes.  All of it
takes some ten minutes of processor time; a line appears when its process ends.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from addressing.registry import bind
from benchmarks.distances import SAMPLED, TOOLS
from benchmarks.distances import measure as measure_library
from dcnlab.evaluator.evaluate import evaluate
from dcnlab.evaluator.graph.bisection import bisection
from dcnlab.evaluator.graph.distances import distances, sampled_distances
from dcnlab.evaluator.graph.hop_graph import hop_graph
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.traffic.flows import flows
from dcnlab.evaluator.traffic.latency import simulate
from dcnlab.evaluator.traffic.loads import link_loads
from dcnlab.evaluator.traffic.throughput import throughput
from dcnlab.traffic.patterns import traffic
from topos.registry import fabric, parse

SAMPLE = "sample:2000"
#: By scheme: a fabric of about 8192 nodes, all pairs of whose servers are evaluated, and one of about a
#: million, of which a sample is.  ``ksp`` searches every pair for itself, so it is sampled on both, and a
#: million nodes are too many.  CLOT's and Borel graphs' schemes end before a million: see the catalogue.
SCHEMES: dict[str, tuple[str, str | None]] = {
    "brp": ("bcube:20,2", "bcube:32,3"),
    "cr": ("borel:131,4,1,4", None),
    "cr-bfs": ("borel:131,4,1,4", None),
    "dcube": ("mdcube:32,4", None),
    "dcube-shortest": ("hdcube:32,4", None),
    "dfr": ("dcell:9,2", "dcell:32,2"),
    "dor": ("torus:16x16x32", "torus:100x100x100"),
    "ecmp": ("torus:16x16x32", "torus:100x100x100"),
    "greedy": ("torus:16x16x32", "torus:100x100x100"),
    "hier": ("torus:16x16x32", "torus:100x100x100"),
    "hrsw": ("smallworld:64x128,clusters=4x4", "smallworld:1024x1024,clusters=32x32"),
    "hrsw-set": ("smallworld:64x128,clusters=4x4", "smallworld:1024x1024,clusters=32x32"),
    "ksp": ("random:8192,8,hosts=0", None),
    "min-ad": ("torus:16x16x32", "torus:32x32x32x32"),
    "permsort": ("hypercube:13", "hypercube:20"),
    "pow": ("clot:16x16x32", "torus:32x32x32x32"),
    "shortest": ("torus:16x16x32", "torus:100x100x100"),
    "twolevel": ("fattree:32", "fattree:160"),
    "twophase": ("borel:131,4,1,4", None),
    "tz": ("random:8192,8,hosts=0", "random:1000000,8,hosts=0"),
    "updown": ("torus:16x16x32", "torus:100x100x100"),
    "valiant": ("torus:16x16x32", "torus:100x100x100"),
    "wmgr": ("torus:16x16x32", "hypercube:20"),
    "wmgr-cayley": ("hypercube:13", "hypercube:20"),
}
_SAMPLED = {"ksp"}
#: Further evaluations of samples, where paths are long, and of the pairs of one source.
FURTHER = (
    ("pow", "clot:1000x1000", SAMPLE),
    ("shortest", "torus:100x100x100", "from:h0"),
    ("wmgr", "hypercube:20", "from:h0"),
)


@dataclass(frozen=True)
class Timed:
    """Elapsed and processor seconds, peak memory, and the result as text."""

    seconds: float
    cpu: float
    megabytes: float
    result: str


def timed(run: Callable[[], str]) -> Timed:
    """One call."""
    begun, used = time.perf_counter(), time.process_time()
    result = run()
    seconds, used = time.perf_counter() - begun, time.process_time() - used
    return Timed(seconds, used, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, result)


def evaluated(spec: str, scheme: str, pairs: str) -> Timed:
    """A whole evaluation, after a small one."""
    small = parse(spec).example
    for some in ("servers", "sample:5"):
        evaluate(small, [scheme], pairs=some)

    def run() -> str:
        report = evaluate(spec, [scheme], pairs=pairs)
        [figures] = report.schemes
        paths, tables = figures.path_lengths, figures.table
        return (
            f"{report.servers + report.switches:>9,} nodes  path {paths.path_mean:.4f}, "
            f"stretch {paths.stretch_mean:.4f}, entries at most {tables.entries_max}"
        )

    return timed(run)


def all_distances(spec: str) -> str:
    """Diameter and mean distance over all pairs of nodes."""
    sweep = distances(hop_graph(fabric(spec)))
    return f"diameter {sweep.diameter}, mean {sweep.mean:.4f}"


def sampled_search(spec: str, count: int) -> str:
    """The mean distance with its confidence interval, from a sample of sources."""
    network = fabric(spec)
    sweep = sampled_distances(hop_graph(network), np.arange(network.size, dtype=np.int32), count, seed=1)
    return f"mean {sweep.mean:.4f} +- {sweep.confidence():.4f}, largest distance {sweep.diameter}"


def loaded(spec: str, name: str) -> str:
    """The maximum link load under all-to-all traffic."""
    scheme = bind(name, fabric(spec))
    return f"maximum link load {link_loads(scheme, choose(scheme.fabric, 'servers', 1)).max():.0f}"


def fair(spec: str, name: str) -> str:
    """Max-min fair rates of all-to-all traffic."""
    scheme = bind(name, fabric(spec))
    carried = throughput(scheme.fabric, flows(scheme, traffic(scheme.fabric, "all-to-all")))
    return f"aggregate {carried.aggregate:.1f}, ABT {carried.abt:.1f}"


def queued(spec: str, name: str, load: float) -> str:
    """A packet simulation of 5 ms, including the drawing of the paths."""
    simulated = simulate(bind(name, fabric(spec)), load)
    return f"{simulated.sent} packets, mean {simulated.mean:.1f} us, loss {simulated.loss:.4f}"


def halved(spec: str) -> str:
    """The best cut found, and the lower bound."""
    halves = bisection(fabric(spec))
    return f"at most {halves.cut}, at least {halves.bound}"


#: Other figures: the title, the function and its arguments, and small arguments that load compiled code.
FIGURES: tuple[tuple[str, Callable[..., str], tuple[Any, ...], tuple[Any, ...]], ...] = (
    ("distances random:65536,8,hosts=0", all_distances, ("random:65536,8,hosts=0",), ("torus:3x3",)),
    (
        "distances torus:100x100x100, 256 sources", sampled_search,
        ("torus:100x100x100", 256), ("torus:8x8", 9),
    ),
    ("loads bcube:8,3 wmgr", loaded, ("bcube:8,3", "wmgr"), ("bcube:2,1", "wmgr")),
    ("loads random:8192,8,hosts=0 ecmp", loaded, ("random:8192,8,hosts=0", "ecmp"), ("torus:3x3", "ecmp")),
    ("packets clot:8x8x8 pow, load 1", queued, ("clot:8x8x8", "pow", 1.0), ("clot:4x4", "pow", 0.1)),
    ("bisection clot:8x8x8", halved, ("clot:8x8x8",), ("clot:4x4",)),
    ("fair rates mdcube:8,1 wmgr, 4.2 million flows", fair, ("mdcube:8,1", "wmgr"), ("bcube:2,1", "wmgr")),
    ("fair rates bcube:8,3 wmgr, 16.8 million flows", fair, ("bcube:8,3", "wmgr"), ("bcube:2,1", "wmgr")),
)  # fmt: skip


def figure(run: Callable[..., str], arguments: tuple[Any, ...], small: tuple[Any, ...]) -> Timed:
    """One of the other figures, after a small one."""
    run(*small)
    return timed(lambda: run(*arguments))


def shown(title: str, function: Callable[..., Timed], *arguments: Any) -> Timed:
    """Measure in a process of its own, and print a line."""
    spawn: Any = multiprocessing.get_context("spawn")
    with spawn.Pool(1) as pool:
        timed: Timed = pool.apply(function, arguments)
    print(
        f"{title:62} {timed.seconds:8.2f} s {timed.cpu:8.2f} cpu {timed.megabytes:6.0f} MB  {timed.result}",
        flush=True,
    )
    return timed


def schemes(only: str) -> None:
    """The table of schemes: first about 8192 nodes, then about a million."""
    rows = [(name, full, SAMPLE if name in _SAMPLED else "servers") for name, (full, _) in SCHEMES.items()]
    rows += [(name, large, SAMPLE) for name, (_, large) in SCHEMES.items() if large]
    rows += FURTHER
    for name, spec, pairs in rows:
        title = f"{name} {spec} {pairs}"
        if only in title:
            shown(title, evaluated, spec, name, pairs)


def libraries(spec: str) -> None:
    """All distances of a graph of 8192 nodes, which is what other libraries compute of an evaluation of
    ``shortest``; ``python -m benchmarks distances`` has the details."""
    ours = shown(f"shortest {spec} servers", evaluated, spec, "shortest", "servers")
    spawn: Any = multiprocessing.get_context("spawn")
    for name in ("igraph", "networkit", "networkx"):
        if importlib.util.find_spec(name) is None:
            print(f"    distances alone by {name}: not installed (pip install 'dcnlab[bench]')")
            continue
        with spawn.Pool(1) as pool:
            theirs = pool.apply(measure_library, (name, spec))
        scaled = f" (from 1 source in {SAMPLED})" if name == "networkx" else ""
        ratio = theirs.seconds / ours.seconds
        print(
            f"    distances alone by {TOOLS[name][0]}: {theirs.seconds:.2f} s, {ratio:.1f} x{scaled}",
            flush=True,
        )


def main() -> None:
    """Print every line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.evaluate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="the lines that contain this text")
    parser.add_argument("--schemes", action="store_true", help="stop after the table of schemes")
    options = parser.parse_args()
    schemes(options.only)
    if options.schemes:
        return
    if options.only in "libraries":
        libraries("random:8192,8,hosts=0")
    for title, run, arguments, small in FIGURES:
        if options.only in title:
            shown(title, figure, run, arguments, small)


if __name__ == "__main__":
    main()
