"""Sweeps of failures on all processors."""

import multiprocessing

from addressing.registry import bind
from dcnlab.verifier.sweep import Question, sweep
from topos.registry import fabric


def test_a_sweep_that_is_complete_leaves_no_process() -> None:
    """What ends by itself need not be collected: a program that forked the sweep waited for its processes."""
    network = fabric("fattree:4")
    known = set(multiprocessing.active_children())
    shares: list[float | None] = []
    outcomes = sweep(
        bind("ecmp", network), Question("links"), "ecmp", lambda stage, share: shares.append(share)
    )
    held = [one.held for one in outcomes]
    left = set(multiprocessing.active_children()) - known
    assert (held, left, shares[-1]) == ([True] * len(network.link_ends), set(), 1.0)
