"""On/off traces: phases have the requested means, and rates are max-min fair at every sample."""

from __future__ import annotations

import numpy as np
import pytest

from addressing.registry import bind
from dcnlab.evaluator.traffic.flows import flows
from dcnlab.evaluator.traffic.onoff import Phases, active, on_off_rates, parse
from dcnlab.evaluator.traffic.throughput import max_min
from dcnlab.traffic.patterns import traffic
from topos.registry import fabric
from topos.spec import SpecError


def test_on_phases_have_the_requested_length_and_frequency() -> None:
    phases = Phases(on=2.0, off=3.0, sigma=1.2, length=400.0, samples=8000)
    on = active(phases, 300, np.random.default_rng(5))
    assert on.mean() == pytest.approx(2.0 / (2.0 + 3.0), rel=0.03)
    step = phases.length / phases.samples
    starts = on[1:] & ~on[:-1]
    assert starts.sum() / (300 * phases.length) == pytest.approx(1 / (phases.on + phases.off), rel=0.05)
    # On phases are exponential: mean and standard deviation of their lengths are equal.
    lengths = []
    for flow in on.T:
        edges = np.flatnonzero(np.diff(np.concatenate([[0], flow.astype(int), [0]])))
        lengths += [end - begin for begin, end in edges.reshape(-1, 2) if begin > 0 and end < len(flow)]
    seconds = np.array(lengths) * step
    assert seconds.mean() == pytest.approx(2.0, rel=0.08)
    assert seconds.std() == pytest.approx(2.0, rel=0.1)


def test_every_instant_is_max_min_fair_among_the_flows_that_are_on() -> None:
    network = fabric("bcube:4,1")
    some = flows(bind("ecmp", network), traffic(network, "permutation"))
    phases = Phases(on=1, off=1, length=10, samples=20)
    played = on_off_rates(network, some, phases, seed=2)
    on = active(phases, len(some), np.random.default_rng([2, 4]))
    capacities = np.ones(len(network.adjacency.peer))
    total = np.zeros(len(some))
    for i, mask in enumerate(on):
        links, shares = some.links, some.shares
        dense = np.zeros((len(capacities), len(some)))
        np.add.at(dense, (links, np.repeat(np.arange(len(some)), np.diff(some.start))), shares)
        alone = flows(bind("ecmp", network), traffic(network, "permutation")).select(mask)
        rates = np.zeros(len(some))
        rates[mask] = max_min(alone, capacities)
        load = dense @ rates
        assert (load <= 1 + 1e-9).all()
        full = load >= 1 - 1e-9
        for flow in np.flatnonzero(mask):
            assert any(
                full[s] and rates[flow] >= rates[dense[s] > 0].max() - 1e-9
                for s in np.flatnonzero(dense[:, flow])
            )
        assert played.aggregate[i] == pytest.approx(rates.sum())
        assert played.on[i] == mask.sum()
        total += rates
    seen = on.any(axis=0)
    assert played.while_on[seen] == pytest.approx((total / np.maximum(on.sum(axis=0), 1))[seen])
    assert np.isnan(played.while_on[~seen]).all()


def test_phases_are_parsed_or_refused() -> None:
    assert parse("on=2,samples=10") == Phases(on=2.0, samples=10)
    for text in ("on=0", "up=1", "off=x", "sigma=-1"):
        with pytest.raises(SpecError, match=r"write on=1\.0,off=1\.0"):
            parse(text)
