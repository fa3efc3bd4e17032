"""Time of offline evaluations: distances, routed paths, whole evaluations, link loads, max-min fair rates.

Each line is one call, after a first call that compiles (for networks of a million nodes,
the lines before compile).  It has the elapsed seconds and the processor seconds over all cores;
compare the latter on a busy machine.  No other program computes the routed lines;
benchmarks/distances.py compares the distances.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

import numpy as np

from addressing.registry import bind
from dcnlab.evaluator.evaluate import evaluate
from dcnlab.evaluator.graph.bisection import bisection
from dcnlab.evaluator.graph.distances import distances, sampled_distances
from dcnlab.evaluator.graph.hop_graph import hop_graph
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.routing.path_lengths import path_lengths
from dcnlab.evaluator.traffic.flows import flows
from dcnlab.evaluator.traffic.latency import simulate
from dcnlab.evaluator.traffic.loads import link_loads
from dcnlab.evaluator.traffic.throughput import throughput
from dcnlab.evaluator.traffic.traffic import traffic
from topos.registry import fabric

#: At least 8192 nodes each.
ROUTED = (
    ("torus:16x16x32", "wmgr"),
    ("torus:16x16x32", "dor"),
    ("torus:16x16x32", "shortest"),
    ("torus:16x16x32", "ecmp"),
    ("smallworld:64x64,clusters=4x4", "hrsw"),
    ("smallworld:64x64,clusters=4x4", "hrsw-set"),
    ("smallworld:64x128,clusters=4x4", "hrsw"),
    ("hdcube:32,4", "dcube"),
    ("mdcube:32,4", "dcube"),
    ("borel:131,4,1,4", "twophase"),
)
#: Whole evaluations of sampled pairs.
EVALUATED = (
    ("smallworld:64x128,clusters=4x4", "hrsw"),
    ("smallworld:64x128,clusters=4x4", "hrsw-set"),
    ("hypercube:13", "wmgr"),
    ("hypercube:13", "shortest"),
    ("hypercube:13", "permsort"),
    ("torus:16x16x32", "dor"),
    ("bcube:8,3", "brp"),
    ("bcube:32,3", "brp"),
    ("hypercube:20", "wmgr"),
)
#: A million nodes: run once.
_LARGE = ("bcube:32,3", "hypercube:20")
#: Smaller networks for the other figures.
MORE = (("clot:8x8x8", "pow"), ("bcube:8,3", "wmgr"))


def timed(words: str, run: Callable[[], str], warm: bool = True) -> None:
    """Print the time of one call, and its result."""
    if warm:
        run()
    begun, used = time.perf_counter(), time.process_time()
    result = run()
    seconds, used = time.perf_counter() - begun, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{words:58} {seconds:8.3f} s {used:8.3f} cpu   {result}   (peak so far {peak:.0f} MB)", flush=True)


def all_distances(spec: str) -> str:
    """Diameter and mean distance over all pairs of nodes."""
    found = distances(hop_graph(fabric(spec)))
    return f"diameter {found.diameter}, mean {found.mean:.4f}"


def sampled_search(spec: str, count: int) -> str:
    """The mean distance with its confidence interval, from a sample of sources."""
    network = fabric(spec)
    found = sampled_distances(hop_graph(network), np.arange(network.size, dtype=np.int32), count, seed=1)
    return f"mean {found.mean:.4f} +- {found.confidence():.4f}, largest distance {found.diameter}"


def routed(spec: str, name: str) -> Callable[[], str]:
    """Path lengths over all pairs of servers; the construction of the scheme is not timed."""
    scheme = bind(name, fabric(spec))
    pairs = choose(scheme.fabric, "servers", 1)

    def run() -> str:
        found = path_lengths(scheme, pairs)
        return f"path {found.path_mean:.4f}, stretch {found.stretch_mean:.4f}"

    return run


def evaluated(spec: str, name: str) -> Callable[[], str]:
    """``evaluate`` over 2000 random pairs: the network, its paths, distances and tables."""

    def run() -> str:
        [scheme] = evaluate(spec, [name], pairs="sample:2000").schemes
        return f"path {scheme.path_lengths.path_mean:.4f}, entries at most {scheme.table.entries_max}"

    return run


def loaded(spec: str, name: str) -> Callable[[], str]:
    """The maximum link load under all-to-all traffic."""
    scheme = bind(name, fabric(spec))
    pairs = choose(scheme.fabric, "servers", 1)
    return lambda: f"maximum link load {link_loads(scheme, pairs).max():.0f}"


def fair(spec: str, name: str) -> Callable[[], str]:
    """Max-min fair rates of all-to-all traffic."""
    scheme = bind(name, fabric(spec))

    def run() -> str:
        found = throughput(scheme.fabric, flows(scheme, traffic(scheme.fabric, "all-to-all")))
        return f"aggregate {found.aggregate:.1f}, ABT {found.abt:.1f}"

    return run


def queued(spec: str, name: str, load: float) -> Callable[[], str]:
    """A packet simulation of 5 ms, including the drawing of the paths."""
    scheme = bind(name, fabric(spec))

    def run() -> str:
        found = simulate(scheme, load)
        return f"{found.sent} packets, mean {found.mean:.1f} us, loss {found.loss:.4f}"

    return run


def halved(spec: str) -> str:
    """The best cut found, and the lower bound."""
    found = bisection(fabric(spec))
    return f"at most {found.found}, at least {found.bound}"


def main() -> None:
    """Print every line."""
    for spec in ("random:8192,8,hosts=0", "random:65536,8,hosts=0", "torus:32x32x64"):
        timed(f"distances {spec}", lambda spec=spec: all_distances(spec), warm=spec.startswith("random:8192"))
    timed("distances torus:100x100x100, 1024 sources", lambda: sampled_search("torus:100x100x100", 1024), False)
    for spec, name in (*ROUTED, *MORE):
        timed(f"routed {spec} {name}", routed(spec, name))
    for spec, name in EVALUATED:
        timed(f"evaluated {spec} {name}, sample:2000", evaluated(spec, name), warm=spec not in _LARGE)
    timed("loads bcube:8,3 wmgr", loaded("bcube:8,3", "wmgr"))
    timed("packets clot:8x8x8 pow, load 1", queued("clot:8x8x8", "pow", 1.0))
    timed("bisection clot:8x8x8", lambda: halved("clot:8x8x8"))
    timed("fair rates mdcube:8,1 wmgr, 4.2 million flows", fair("mdcube:8,1", "wmgr"))
    timed("fair rates bcube:8,3 wmgr, 16.8 million flows", fair("bcube:8,3", "wmgr"), warm=False)


if __name__ == "__main__":
    main()
