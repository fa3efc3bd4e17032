"""Isolation (``--isolate``): what it adds to a launch and to the start of programs in hosts.

    python -m benchmarks.isolate [bcube:4,1 bcube:8,1] [--scheme brp]

Rounds with and without take turns.  The best of each counts: it depends least on what else runs.

    launch_s     from Lab(...) until the lab is ready
    network_s    the namespaces of the hosts only: the stage to which isolation adds
    first_ms     until the first program of a host has ended: with isolation its file system is built then
    next_ms      the same for the second one
"""

from __future__ import annotations

import argparse
import time

from dcnlab.lab.client import Lab

ROUNDS = 5


def measure(topology: str, scheme: str, isolate: bool) -> dict[str, float]:
    """One launch and two programs in each of a few hosts; the best of the programs."""
    with Lab(topology, scheme, isolate=isolate) as lab:
        seconds: tuple[list[float], list[float]] = ([], [])
        for host in ("h0", "h1", "h2", "h3"):
            for times in seconds:
                begun = time.perf_counter()
                assert lab.run(host, ["true"]).returncode == 0
                times.append(1000 * (time.perf_counter() - begun))
        first, following = map(min, seconds)
        launched = {"launch_s": lab.launch_s or 0.0, "network_s": lab.stages["namespaces"]}
        return launched | {"first_ms": first, "next_ms": following}


def best(rounds: list[dict[str, float]]) -> dict[str, float]:
    """The least of each figure."""
    return {name: round(min(row[name] for row in rounds), 3) for name in rounds[0]}


def main() -> None:
    """Print both rows and their ratio per topology."""
    parser = argparse.ArgumentParser()
    parser.add_argument("topologies", nargs="*", default=["bcube:4,1", "bcube:8,1"])
    parser.add_argument("--scheme", default="brp")
    options = parser.parse_args()
    for topology in options.topologies:
        taken: dict[bool, list[dict[str, float]]] = {False: [], True: []}
        for _ in range(ROUNDS):
            for isolate, rounds in taken.items():
                rounds.append(measure(topology, options.scheme, isolate))
        plain, isolated = best(taken[False]), best(taken[True])
        print(topology)
        for name, row in (("plain", plain), ("isolated", isolated)):
            print(f"  {name:9}", "  ".join(f"{key} {value:g}" for key, value in row.items()))
        print("  ratio    ", "  ".join(f"{key} {isolated[key] / plain[key]:.2f}" for key in plain))


if __name__ == "__main__":
    main()
