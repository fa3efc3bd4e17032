"""The measurement of flows in a lab: first the idle lab, for the ideal; then the flows themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from addressing.fields import ipv4
from addressing.scheme import Scheme
from dcnlab.lab.errors import LabError
from dcnlab.lab.instruments.flows.probe import FlowProbe
from dcnlab.lab.instruments.flows.run import Generator
from dcnlab.lab.network import endpoint
from dcnlab.lab.network.measured_lab import MeasuredLab
from dcnlab.lab.options.link_shape import bits_per_second
from dcnlab.traffic.completion import wire_bits
from dcnlab.traffic.workload import Workload
from topos.arrays import Floats

#: The idle lab: so many pairs, flows of one packet between each, and seconds from one to the next.
_PAIRS, _TIMES, _GAP = 64, 3, 0.01
_ONE_PACKET = 1000
#: Bytes of the flow alone that shows the rate of links without one.
_ALONE = 4_000_000
#: The rate of UDP flows before one is known.
_FIRST_RATE = 1e9
#: By how much slower UDP is sent where it is lost at that rate, until one is found.
_SLOWER = (1, 4, 16, 64)


@dataclass(frozen=True, eq=False)
class Idle:
    """The idle lab: bits per second of a flow alone, and the base of each flow in seconds."""

    rate: float
    base: Floats


def link_rate(lab: MeasuredLab) -> float | None:
    """The bandwidth in bits per second that most links have; None where most have no bandwidth."""
    impairments = lab.impairments
    rates = Counter(shape.rate for shape in impairments.values())
    rates[""] += 2 * len(lab.fabric.link_ends) - len(impairments)
    [(rate, _)] = rates.most_common(1)
    return bits_per_second(rate) if rate else None


def generator(scheme: Scheme, probes: Sequence[FlowProbe], wanted: Any, workload: Workload) -> Generator:
    """What sends the flows; with Multipath TCP servers have additional addresses meanwhile."""
    servers = np.union1d(workload.source, workload.destination).tolist()
    pair = int(workload.source[0]), int(workload.destination[0])
    for probe in probes:
        probe.prepare(wanted.transport, wanted.cc, servers, pair)
    ends = {server: endpoint.of(scheme, server) for server in servers}
    if wanted.transport == "mptcp":
        ends = {s: replace(end, address=ipv4.text(ipv4.alias(s, 1))) for s, end in ends.items()}
    return Generator(ends, probes, wanted.transport, wanted.cc, wanted.timeout, _FIRST_RATE)


def idle(send: Generator, workload: Workload, rate: float | None, seed: int) -> Idle:
    """Measure the idle lab; LabError when no flow of one packet arrives."""
    ends = np.stack([workload.source, workload.destination], axis=1)
    pairs, which = np.unique(ends, axis=0, return_inverse=True)
    some = np.random.default_rng([seed, 12]).permutation(len(pairs))[:_PAIRS]
    probes = _one_after_the_other(pairs[np.tile(some, _TIMES)], _ONE_PACKET)
    sent = replace(send, rate=rate or _FIRST_RATE).run(probes)
    if np.isnan(sent.seconds).all():
        reason = next(iter(sent.errors), "no packet arrived")
        raise LabError(f"traffic: no flow of one packet was complete in the idle lab: {reason}")
    shortest = np.nanmin(
        np.where(np.isnan(sent.seconds), np.inf, sent.seconds).reshape(_TIMES, len(some)), axis=0
    )
    base = np.full(len(pairs), np.median(shortest[np.isfinite(shortest)]))
    base[some] = np.where(np.isfinite(shortest), shortest, base[some])
    if rate is None:
        rate = _rate_alone(send, pairs[some[:1]], float(base[some[0]]))
    return Idle(rate, base[which.reshape(-1)])


def _rate_alone(send: Generator, pair: Any, base: float) -> float:
    """Bits per second of a flow alone; UDP is sent more slowly until all of it arrives."""
    alone = _one_after_the_other(pair, _ALONE)
    for slower in _SLOWER if send.transport == "udp" else _SLOWER[:1]:
        seconds = float(replace(send, rate=_FIRST_RATE / slower).run(alone).seconds[0])
        if not np.isnan(seconds):
            return float(wire_bits(alone.size)[0]) / max(seconds - base, 1e-6)
    raise LabError("traffic: a flow alone was not complete in time, so that there is no ideal")


def _one_after_the_other(pairs: Any, size: int) -> Workload:
    begin = np.arange(len(pairs), dtype=np.float64) * _GAP
    return Workload(begin, pairs[:, 0], pairs[:, 1], np.full(len(pairs), size))
