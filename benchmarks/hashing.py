"""Flows that are hashed to paths: completion times in a lab beside those offline.

    python -m benchmarks hashing [--topology fattree:4] [--rounds N]

Every server sends one TCP flow to another (a random permutation, another in each round), all at once.  Printed
is the mean slowdown: in the lab, whose switches hash each connection; offline with one drawn path per flow, in
the mean over 200 draws with its standard deviation; and offline with flows split over all shortest paths.
"""

from __future__ import annotations

import argparse
from statistics import fmean, stdev

from addressing.registry import bind
from addressing.scheme import Scheme
from dcnlab import Lab
from dcnlab.evaluator.traffic.completion import completion_times
from dcnlab.evaluator.traffic.flow_model import HASHED, SPLIT, FlowModel
from dcnlab.traffic.completion import ideal
from dcnlab.traffic.workload import Demand, Workload, draw
from topos.registry import fabric

_SIZE, _RATE, _DRAWS = "fixed:500K", 4e6, 200


def slowdown(scheme: Scheme, flows: Workload, model: FlowModel, seed: int, base: float) -> float:
    """The mean slowdown offline, with ``base`` seconds added to each time."""
    seconds = completion_times(scheme, flows, _RATE, seed, model=model).seconds + base
    return float((seconds / ideal(flows.size, _RATE, base)).mean())


def main() -> None:
    """Print a line per round, and the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topology", default="fattree:4")
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    print(f"{'round':<8}{'lab':>8}{'hashed':>8}{'+-':>8}{'split':>8}")
    rows = []
    with Lab(options.topology, "ecmp", rate=f"{_RATE / 1e6:g}Mbit") as lab:
        network = fabric(options.topology)
        scheme = bind("ecmp", network)
        for seed in range(1, options.rounds + 1):
            measured = lab.traffic("permutation", sizes=_SIZE, count=1, seed=seed, timeout=120)
            flows, base = draw(network, Demand(sizes=_SIZE, rate=_RATE, seed=seed)), measured.base_ms / 1e3
            drawn = [slowdown(scheme, flows, HASHED, one, base) for one in range(_DRAWS)]
            split = slowdown(scheme, flows, SPLIT, 1, base)
            rows.append((measured.slowdown_mean or 0.0, fmean(drawn), stdev(drawn), split))
            print(f"{seed:<8}" + "".join(f"{value:>8.3f}" for value in rows[-1]), flush=True)
    print(f"{'mean':<8}" + "".join(f"{fmean(column):>8.3f}" for column in zip(*rows, strict=True)))


if __name__ == "__main__":
    main()
