"""The optimum of traffic: its time beside HiGHS, and the share of it that schemes reach.

    python -m benchmarks optimum [--shares | --large | --published] [--only TEXT]

The first table solves small networks by the edge formulation too, with scipy's HiGHS, as anybody would.
The second one solves about 1000 servers to a gap of 1 % (``--large``: about 4000); it has the processor
seconds over all cores.  ``--shares`` prints instead the optimum of ten families of about 1000 servers, and what
share of it (of its upper bound) each scheme reaches.  ``--published`` prints the mean over five random graphs
beside what topobench's repository publishes for such graphs.  ``--only`` picks lines that contain a text.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from addressing.registry import bind
from dcnlab.evaluator.graph.failures import draw
from dcnlab.evaluator.optimum.beside import normalised, optimum_of, scheme_theta
from dcnlab.evaluator.optimum.exact import exact
from dcnlab.evaluator.optimum.problem import Demands, network_of
from dcnlab.evaluator.optimum.restricted import read_limit
from dcnlab.traffic.patterns import traffic
from topos.registry import fabric

T = TypeVar("T")

#: Student's t for a 95 % interval of the mean of five values.
_T_OF_FOUR = 2.776

PATTERNS = ("all-to-all", "permutation", "longest-matching")
SMALL = (
    "bcube:4,1",
    "dcell:3,1",
    "torus:5x5",
    "fattree:4",
    "jellyfish:6,12,4",
    "jellyfish:8,24,5",
    "hdcube:4,1",
)
MIDDLE = (
    "fattree:16", "bcube:32,1", "torus:32x32", "dcell:5,2", "jellyfish:16,128,8", "xpander:8,32",
    "dragonfly:8,4,4", "fattree:16 links=5%", "bcube:32,1 links=5%", "dcell:5,2 links=5%",
)  # fmt: skip
LARGE = ("torus:16x16x16", "bcube:64,1", "bcube:8,3", "hdcube:16,2", "dcell:7,2", "xpander:16,32,hosts=8")
#: Random graphs of which topobench publishes theta (github.com/ndal-eth/topobench, folder results): network,
#: traffic, limit of paths, theta, and the line.  It solves linear programs with Gurobi.  With a limit its lines
#: state ten times theta: there are ten servers per switch.
PUBLISHED = (
    ("xpander:10,21,hosts=10", "max-weight", "", 0.252238, "XP 231 20 10 10 MAWP 1.0"),
    ("jellyfish:12,120,6", "max-weight", "", 0.232907, "JF 120 12 6 6 MAWP 1.0"),
    ("xpander:10,21,hosts=10", "max-weight", "k=8", 0.168465, "KSHRT K=8 XP 231 20 10 10 MAWP 1.0"),
    ("jellyfish:20,231,10", "max-weight", "k=8", 0.17445, "KSHRT K=8 JF 231 20 10 10 MAWP 1.0"),
)
#: Ten families, and schemes made for each.
SHARES = {
    "fattree:16": "twolevel,ecmp",
    "bcube:32,1": "brp,brp:multipath=yes,ecmp",
    "dcell:5,2": "dfr,ecmp",
    "hdcube:7,1": "dcube,dcube-shortest,ecmp",
    "torus:32x32": "dor,ecmp",
    "clot:32x32": "pow,dor,ecmp",
    "jellyfish:16,128,8": "ecmp,updown",
    "xpander:8,32": "ecmp,updown",
    "dragonfly:8,4,4": "dor,valiant,ecmp",
    "slimfly:9": "ecmp,updown",
}


def processor() -> float:
    """Processor seconds of this process over all cores."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def timed(function: Callable[[], T]) -> tuple[T, float]:
    """The result, and the processor seconds that it took."""
    begin = processor()
    return function(), processor() - begin


def beside_highs(only: str) -> None:
    """Small networks, by linear programming and by the search."""
    print(f"{'network':<20}{'traffic':<18}{'HiGHS':>8}{'s':>8}{'lower':>9}{'upper':>9}{'s':>8}")
    for spec, pattern in _cases(SMALL, only):
        network = fabric(spec)
        wanted = traffic(network, pattern)
        demands = Demands.of(network.size, wanted.sources, wanted.destinations, normalised(wanted))
        known, slow = timed(lambda n=network, d=demands: exact(network_of(n), d))  # type: ignore[misc]
        optimum, fast = timed(lambda n=network, w=wanted: optimum_of(n, w).optimum)  # type: ignore[misc]
        print(
            f"{spec:<20}{pattern:<18}{known:>8.4f}{slow:>8.2f}{optimum.lower:>9.4f}{optimum.upper:>9.4f}{fast:>8.2f}"
        )


def to_one_percent(specs: tuple[str, ...], only: str) -> None:
    """The processor time to a gap of 1 %."""
    print(
        f"{'network':<24}{'traffic':<18}{'pairs':>9}{'lower':>9}{'upper':>9}{'gap':>8}{'rounds':>8}"
        f"{'s':>8}  method"
    )
    for spec, pattern in _cases(specs, only):
        topology, _, failures = spec.partition(" ")
        network = fabric(topology)
        failed = draw(network, failures, 1)
        wanted = traffic(network, pattern, 1, failed.nodes)
        optimum, seconds = timed(lambda n=network, w=wanted, f=failed: optimum_of(n, w, f.links).optimum)  # type: ignore[misc]
        print(
            f"{spec:<24}{pattern:<18}{len(optimum.problem.demands):>9}{optimum.lower:>9.4f}{optimum.upper:>9.4f}"
            f"{optimum.gap:>8.2%}{optimum.rounds:>8}{seconds:>8.2f}  {optimum.method}",
            flush=True,
        )


def shares(only: str) -> None:
    """The optimum of ten families, and the share of it that schemes reach."""
    print(f"{'network':<20}{'servers':>8}  " + "".join(f"{pattern:<36}" for pattern in PATTERNS))
    for spec, schemes in SHARES.items():
        if only not in spec:
            continue
        network = fabric(spec)
        cells = []
        for pattern in PATTERNS:
            wanted = traffic(network, pattern).by_destination()
            upper = optimum_of(network, wanted).optimum.upper
            reached = [
                f"{name.replace('multipath=yes', 'multi')}"
                f" {scheme_theta(bind(name, network), wanted) / upper:.0%}"
                for name in schemes.split(",")
            ]
            cells.append(f"{upper:.3f}: {', '.join(reached)}")
        print(f"{spec:<20}{network.servers:>8}  " + "".join(f"{cell:<34}  " for cell in cells), flush=True)


def beside_published(only: str) -> None:
    """The mean optimum of five random graphs, its 95 % interval, and what topobench publishes."""
    print(f"{'network':<26}{'traffic':<18}{'paths':<8}{'lower':>9}{'upper':>9}{'+-':>9}{'published':>11}  line")
    for spec, pattern, paths, value, line in PUBLISHED:
        if only not in spec:
            continue
        bounds = []
        for seed in range(1, 6):
            network = fabric(f"{spec},seed={seed}")
            solved = optimum_of(network, traffic(network, pattern, seed), gap=0.005, limit=read_limit(paths))
            bounds.append((solved.optimum.lower, solved.optimum.upper))
        lower, upper = (statistics.mean(some) for some in zip(*bounds, strict=True))
        wide = _T_OF_FOUR * statistics.stdev(b for _, b in bounds) / len(bounds) ** 0.5
        figures = f"{lower:>9.4f}{upper:>9.4f}{wide:>9.4f}{value:>11.4f}"
        print(f"{spec:<26}{pattern:<18}{paths or 'all':<8}{figures}  {line}", flush=True)


def _cases(specs: tuple[str, ...], only: str) -> Iterator[tuple[str, str]]:
    for spec in specs:
        for pattern in PATTERNS:
            if only in f"{spec} {pattern}":
                yield spec, pattern


def main() -> None:
    """Print what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shares", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--published", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    for small, pattern in (("bcube:2,1", "all-to-all"), ("jellyfish:6,8,4", "permutation")):
        optimum_of(fabric(small), traffic(fabric(small), pattern))  # loads the compiled code
    begin = time.perf_counter()
    if options.shares:
        shares(options.only)
    elif options.large:
        to_one_percent(LARGE, options.only)
    elif options.published:
        beside_published(options.only)
    else:
        beside_highs(options.only)
        print()
        to_one_percent(MIDDLE, options.only)
    print(f"\n{time.perf_counter() - begin:.0f} s in all")


if __name__ == "__main__":
    main()
