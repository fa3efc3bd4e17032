"""The controller's processor time after links fail, compared with the time after they are restored.

Only the controller's own work is timed: the new tables and the changes, at 992 to 4096 servers, without
switches.  Each figure is the best of several rounds.

    1 link      one link fails
    1 %, 5 %    so many links fail at once
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterable

from addressing import registry as schemes
from controller.core import Core
from controller.effects import Effect, Send
from topos import registry as topologies

CASES = (
    "bcube:32,1 brp",
    "bcube:8,3 brp",
    "bcube:32,1 wmgr",
    "bcube:32,1 shortest",
    "dcell:31,1 shortest",
    "fattree:16 twolevel",
)
SHARES = {"1 link": 0.0, "1 %": 0.01, "5 %": 0.05}


def main() -> None:
    """Print milliseconds after the failure and after the restoration, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=CASES, help="'TOPOLOGY SCHEME', quoted")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{'':24}{'failed':>8}{'fail ms':>10}{'restore ms':>12}{'ratio':>8}")
    for case in options.cases:
        core = _filled(*case.split())
        for name, share in SHARES.items():
            links = range(len(core.fabric.link_ends))
            down = random.Random(1).sample(links, max(1, round(share * len(links))))
            rounds = [(_timed(core, down), _timed(core, ())) for _ in range(options.rounds)]
            fail, restore = (min(column) * 1000 for column in zip(*rounds, strict=True))
            print(f"{case:24}{name:>8}{fail:10.1f}{restore:12.1f}{fail / restore:8.2f}", flush=True)


def _filled(topology: str, scheme: str) -> Core:
    """A controller whose switches have their tables."""
    core = Core(schemes.bind(scheme, topologies.fabric(topology)), 0.0)
    for switch in range(core.fabric.servers, core.fabric.size):
        _acknowledge(core, core.connected(switch))
    return core


def _timed(core: Core, down: Iterable[int]) -> float:
    begun = time.process_time()
    _acknowledge(core, core.links(down, 0.0))
    return time.process_time() - begun


def _acknowledge(core: Core, effects: Iterable[Effect]) -> None:
    """Answer every barrier, as the switches do."""
    for barrier in [effect.barrier_id for effect in effects if isinstance(effect, Send)]:
        _acknowledge(core, core.barrier(barrier, 0.0))


if __name__ == "__main__":
    main()
