"""CLOT (Wang et al.): sentences: farthest servers, credits, AACM, balance, failures of nodes."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from addressing.registry import bind
from dcnlab.evaluator.graph.distances import distance_rows
from dcnlab.evaluator.graph.hop_graph import hop_graph
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.graph.paths.path_diversity import path_diversity
from dcnlab.evaluator.graph.sweeps import Levels
from dcnlab.evaluator.traffic.latency import Settings, simulate
from dcnlab.evaluator.traffic.loads import link_loads
from dcnlab.papers import oracles
from dcnlab.papers.claim import Claim, Experiment, Independent, Reading, Row
from dcnlab.papers.clot.distances import COUNTED, saving
from dcnlab.papers.clot.failures import average_over_ratios
from hostagent.protocols.aacm import frames
from hostagent.protocols.aacm.ports import Coordinates
from hostagent.protocols.aacm.simulation import AacmSimulation
from topos.fabric import Fabric
from topos.families.torus import Torus
from topos.graph import Port
from topos.registry import fabric

_PAPER = "Wang et al., CLOT"
_claim = partial(Claim.of, _PAPER)


# --- farthest servers -------------------------------------------------------------------


def _farthest() -> Iterator[Row]:
    how = "exact from every server of the torus"
    for k, n in ((4, 2), (6, 2), (8, 2), (4, 3), (6, 3)):
        rows = _distances(k, n)
        farthest = rows == rows.max()
        unique, mutual = (farthest.sum(axis=1) == 1).all(), (farthest == farthest.T).all()
        claim = _claim(
            f"farthest-{k}-{n}", "Theorem 3.1", f"servers farthest from a server, k = {k}, n = {n}", how, 1
        )
        known = Independent.by(oracles.torus_farthest, k, n)
        yield Row(claim, float(farthest.sum(axis=1).mean()), independent=known)
        claim = _claim(
            f"mutual-{k}-{n}", "Theorem 3.1",
            f"servers, %, that are farthest from their only farthest server, k = {k}, n = {n}", how, 100,
        )  # fmt: skip
        yield Row(claim, 100 * float((farthest & farthest.T).any(axis=1).mean()) if unique and mutual else 0)
    for k, n in ((4, 2), (5, 2), (6, 3), (7, 3)):
        rows = _distances(k, n)
        place = int(np.ravel_multi_index([k // 2] * n, [k] * n))
        claim = _claim(
            f"lemma-{k}-{n}", "Lemma 3.1.1",
            f"distance to (a_i + floor(k/2)) mod k over the largest, k = {k}, n = {n}", how, 1,
        )  # fmt: skip
        yield Row(claim, float(rows[0, place] / rows[0].max()))


def _distances(k: int, n: int) -> Levels:
    network = fabric(f"torus:{'x'.join([str(k)] * n)}")
    return distance_rows(hop_graph(network), np.arange(network.size, dtype=np.int32))


# --- credits, and the balance of loads ----------------------------------------------------


def _lossless() -> Iterator[Row]:
    for spec in ("clot:4x4", "clot:4x4x4"):
        for load in (1.0, 4.0):
            settings = replace(Settings(until=3_000_000), flow_control="credits", buffer=2)
            latency = simulate(bind("pow", fabric(spec)), load, settings=settings)
            claim = _claim(
                f"lossless-{spec}-{load:g}", 'section 7.2: "a packet lossless fabric"',
                f"packets that entered the network and did not arrive, {spec}, load {load:g}",
                "simulated packet by packet: all-to-all, credits, buffers of two packets, an escape channel by"
                " up*/down* paths; sources refuse what does not fit; 2 ms after 1 ms", 0,
            )  # fmt: skip
            yield Row(claim, latency.no_route)


def _balance() -> Iterator[Row]:
    for spec in ("clot:4x4", "clot:8x8", "clot:4x4x4", "clot:6x6x6"):
        network = fabric(spec)
        ours, theirs = (
            float(link_loads(bind(name, network), choose(network, "servers", 1)).max())
            for name in ("pow", "dor")
        )
        claim = _claim(
            f"balance-{spec}", 'section 9: "a better load balancing than the deterministic routing algorithms"',
            f"largest link load of POW over that of dimension order, {spec}",
            "all-to-all traffic, exact expectation", 1, "<",
        )  # fmt: skip
        yield Row(claim, ours / theirs)


def _node_failures() -> Iterator[Row]:
    for radix in (6, 8):
        claim = _claim(
            f"nodes-{radix}", 'section 8.5: "the node failure has a slightly higher impact"',
            f"average path of CLOT when nodes fail over that when links fail, k = {radix}, n = 3",
            "as Figure 18: mean over 5, 10, 15, 20 % and three seeds", 1, ">",
        )  # fmt: skip
        readings = []
        for counted in COUNTED:
            nodes, links = (average_over_ratios("clot", radix, counted, kind) for kind in ("nodes", "links"))
            readings.append(Reading(counted, round(nodes / links, 4)))
        yield Row.by_reading(claim, *readings)


def _size() -> Iterator[Row]:
    """Latency without load is that of the hops, all of which take as long."""
    radices = (4, 6, 8, 10, 12, 16)
    for smaller, larger in itertools.pairwise(radices):
        claim = _claim(
            f"more-{larger}", 'section 8.4: "more latency reduction as the network size increases"',
            f"percentage points that CLOT saves of CamCube's average path, k = {larger} less k = {smaller}",
            "exact over all pairs of servers: the latency without load", 0, ">",
        )  # fmt: skip
        savings = {
            name: [saving(k, hops, "mean", "torus") for k in (smaller, larger)]
            for name, hops in COUNTED.items()
        }
        yield Row.by_reading(claim, *(Reading(name, two[1] - two[0]) for name, two in savings.items()))
    for spec in ("4x4", "8x8", "4x4x4"):
        ours, theirs = (
            float(path_diversity(fabric(f"{family}:{spec}"), 100, 1).mean()) for family in ("clot", "torus")
        )
        claim = _claim(
            f"diversity-{spec}", "section 9: 'a much better path diversity'",
            f"edge-disjoint paths of clot:{spec} over those of the torus",
            "100 pairs of servers, by max-flow", 1, ">",
        )  # fmt: skip
        yield Row(claim, ours / theirs)


# --- AACM ---------------------------------------------------------------------------------


_SIDE = 4
_AACM = f"the agents' state machine on clot:{_SIDE}x{_SIDE}, with a virtual clock"


def configured(change: Callable[[AacmSimulation, Fabric], object] = lambda _s, _f: None) -> AacmSimulation:
    """A configuration of the network of Figure 9, after a change of its links or servers."""
    network = fabric(f"clot:{_SIDE}x{_SIDE}")
    assert isinstance(network.family, Torus)
    simulation = AacmSimulation(network.family)
    change(simulation, network)
    simulation.configure()
    return simulation


def _port(network: Fabric, at: Coordinates, towards: Coordinates) -> Port:
    """The port of a server towards a neighbour on the torus."""
    assert isinstance(network.family, Torus)
    here, there = network.family.server(at), network.family.server(towards)
    return next(Port(here, port) for port, end in network.ports(here) if end.node == there)


def _aacm() -> Iterator[Row]:
    for words, place, printed, measured in (
        ("the EtherType of AACM", "Fig. 7", 0xA800, frames.ETHERTYPE),
        ("bits of the flags", "Fig. 8", 8, 8 * struct.calcsize(frames.HEADER.format[:2])),
    ):
        claim = _claim(f"frame-{words}", f"section 6.2.1, {place}", words, "the codec of frames", printed)
        yield Row(claim, measured)
    yield from _fig_9()
    source = (
        'section 6.2.2, Fig. 10: "an error report containing the coordinates of node (1, 1) and node (1, 2)"'
    )
    for what in ("link", "node"):
        outcome = configured(lambda s, f, what=what: _break(s, f, what))  # type: ignore[misc]
        named = sum("(1,2)" in str(finding) for finding in outcome.outcomes[-1].findings)
        statement = f"errors that name (1, 2) at the origin after the {what} failed, at least 1"
        yield Row(_claim(f"fig10-{what}", source, statement, _AACM, 1, ">="), named)
    outcome = configured(lambda s, f: s.swap(_port(f, (1, 2), (2, 2)), _port(f, (1, 1), (2, 1))))
    named = sum("(2,1)" in str(finding) for finding in outcome.outcomes[-1].findings)
    source = 'section 6.2.2, Fig. 11: "AACM can efficiently detect this error"'
    statement = "errors that name (2, 1) at the origin after (1, 2) was wired to it, at least 1"
    yield Row(_claim("fig11", source, statement, _AACM, 1, ">="), named)


def _break(simulation: AacmSimulation, network: Fabric, what: str) -> None:
    """The link from (1, 1) to (1, 2) fails, or the server (1, 2)."""
    end = _port(network, (1, 1), (1, 2))
    if what == "link":
        simulation.cut(end)
    else:
        simulation.stop_node(simulation.peers[end].node)


def _fig_9() -> Iterator[Row]:
    outcome, torus = configured(), fabric(f"clot:{_SIDE}x{_SIDE}").family
    assert isinstance(torus, Torus)
    addresses = dict(outcome.taken)
    right = sum(address == torus.coordinates(server) for server, address in addresses.items())
    source = "section 6.2.2, Fig. 9"
    yield Row(_claim("fig9-all", source, "servers that have their coordinates", _AACM, _SIDE**2), right)
    order = [address for _, address in outcome.taken if any(address)]
    statement = "servers that take their address after the one with the largest coordinates"
    late = len(order) - 1 - order.index((_SIDE - 1, _SIDE - 1))
    yield Row(_claim("fig9-last", f'{source}: "the last node"', statement, _AACM, 0), late)


def _rows() -> Iterator[Row]:
    for part in (_farthest, _lossless, _balance, _node_failures, _size, _aacm):
        yield from part()


EXPERIMENTS = (
    Experiment("clot-statements", _PAPER, "farthest servers, credits, AACM, balance, node failures", _rows),
)
