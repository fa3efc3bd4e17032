"""AACM on whole tori with a virtual clock: correct and wrong cables, noise, forged frames, changes."""

from __future__ import annotations

import itertools
import os
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from addressing.fields import ipv4
from hostagent.protocols.aacm import frames
from hostagent.protocols.aacm.frames import Flag
from hostagent.protocols.aacm.simulation import AacmSimulation, Noise, hardware
from hostagent.protocols.aacm.swap_trials import swaps
from topos import registry
from topos.families.torus import Torus
from topos.graph import Port

KEY = b"a shared key"
TORI = ["2", "5", "2x2", "4x4", "3x5", "3x3x3", "3x2x4", "4x2x3x2", "2x2x2x3x2", "2x3x2x2x2x3"]


def torus(sizes: str) -> Torus:
    family = registry.parse(f"torus:{sizes}")
    assert isinstance(family, Torus)
    return family


def right(simulation: AacmSimulation) -> bool:
    """Whether every running server has its own coordinates."""
    return all(s.address == simulation.torus.coordinates(node) for node, s in simulation.machines.items())


def none_wrong(simulation: AacmSimulation) -> bool:
    return all(
        s.address in (None, simulation.torus.coordinates(node)) for node, s in simulation.machines.items()
    )


def findings(simulation: AacmSimulation) -> list[str]:
    outcome = simulation.configure()
    assert outcome is not None
    assert not outcome.success
    return [str(finding) for finding in outcome.findings]


@pytest.mark.parametrize("sizes", TORI)
def test_one_config_and_one_ack_per_link(sizes: str) -> None:
    simulation = AacmSimulation(torus(sizes), key=KEY)
    outcome = simulation.configure()
    assert outcome is not None
    assert outcome.success
    assert right(simulation)
    counts = simulation.counts()
    links = len(simulation.torus.link_ends())
    assert counts["sent config"] == counts["sent config ack"] == links
    assert counts["sent success"] == counts["sent success ack"]
    assert counts.keys() == {"sent config", "sent config ack", "sent success", "sent success ack"}


def test_the_last_server_is_configured_after_the_sum_of_all_maximal_coordinates() -> None:
    simulation = AacmSimulation(torus("4x5x3"))
    simulation.configure()
    last, place = simulation.taken[-1]
    assert last == 4 * 5 * 3 - 1
    assert place == (3, 4, 2)
    assert [sum(place) for _, place in simulation.taken] == sorted(sum(place) for _, place in simulation.taken)


def test_4096_servers_with_noise() -> None:
    simulation = AacmSimulation(torus("16x16x16"), noise=Noise(0.02, 0.02, 30e-6), key=KEY)
    outcome = simulation.configure()
    assert outcome is not None
    assert outcome.success
    assert right(simulation)


@settings(max_examples=40)
@given(
    st.sampled_from(TORI[:7]),
    st.integers(0, 2**32),
    st.floats(0, 0.2),
    st.floats(0, 0.5),
    st.sampled_from([0, 1e-5, 1e-4]),
)
def test_lost_duplicated_and_reordered_frames(
    sizes: str, seed: int, loss: float, duplicate: float, jitter: float
) -> None:
    simulation = AacmSimulation(torus(sizes), seed=seed, noise=Noise(loss, duplicate, jitter), key=KEY)
    for _ in range(2):  # the second configuration has the other Alt bit
        outcome = simulation.configure()
        assert none_wrong(simulation)
        assert outcome is not None
        assert outcome.success
        assert right(simulation)


def test_addresses_are_kept_during_the_next_configuration() -> None:
    simulation = AacmSimulation(torus("4x4"))
    simulation.configure()
    simulation.stop_node(5)
    assert findings(simulation) == ["(1,1) does not answer on any cable"]
    assert right(simulation)  # servers that the second configuration does not reach keep their addresses


@pytest.mark.parametrize(("sizes", "number", "every"), [("3x4", 552, 5), ("3x3x3", 6480, 97)])
def test_swaps_are_detected_and_identified(sizes: str, number: int, every: int) -> None:
    """A sample with swapped links at every server and at every port; all swaps with DCNLAB_CATALOGUE=all."""
    every = 1 if os.environ.get("DCNLAB_CATALOGUE") == "all" else every
    trials = list(swaps(torus(sizes), 0, every))
    assert len(trials) == -(-number // every)
    assert [trial.swapped for trial in trials if not (trial.found and trial.named)] == []
    ends = set().union(*(trial.ends for trial in trials))
    assert {end.node for end in ends} == set(range(torus(sizes).counts()[0]))
    assert {end.number for end in ends} == set(range(1, 1 + 2 * len(torus(sizes).sizes)))


def test_failed_servers_failed_links_and_swaps_at_once() -> None:
    simulation = AacmSimulation(torus("4x4x4"), key=KEY)
    simulation.cut(Port(5, 1))
    simulation.stop_node(20)
    simulation.swap(Port(7, 1), Port(40, 3))
    assert findings(simulation) == [
        "the cable from (0,1,1) port 1 to (1,1,1) port 2 does not answer",
        "(0,1,3) port 1 is connected to (2,3,0) port 4, not (1,1,3) port 2",
        "(1,1,0) does not answer on any cable",
        "(1,1,3) port 2 is connected to (2,2,0) port 3, not (0,1,3) port 1",
        "(2,2,0) port 3 is connected to (1,1,3) port 2, not (2,3,0) port 4",
        "(2,3,0) port 4 is connected to (0,1,3) port 1, not (2,2,0) port 3",
    ]
    assert none_wrong(simulation)


def test_servers_that_only_wait_are_no_causes() -> None:
    """(1,1) has failed: both servers that should configure it report it; all others only wait."""
    simulation = AacmSimulation(torus("4x4"))
    simulation.stop_node(5)
    outcome = simulation.configure()
    assert outcome is not None
    assert {cause.address for cause in outcome.causes} == {(0, 1), (1, 0)}
    assert all(seen.address == (1, 1) for cause in outcome.causes for seen in cause.sightings)
    assert outcome.secondary
    assert all(alarm.address is None for alarm in outcome.secondary)


def test_after_the_errors_are_corrected_the_configuration_succeeds() -> None:
    simulation = AacmSimulation(torus("3x4"), key=KEY)
    simulation.swap(Port(3, 1), Port(7, 3))
    assert len(findings(simulation)) == 4
    simulation.swap(Port(3, 1), Port(7, 3))
    outcome = simulation.configure()
    assert outcome is not None
    assert outcome.success
    assert right(simulation)


# --- forged frames ----------------------------------------------------------------


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(1, 2))
def test_replayed_changed_and_forged_frames_change_no_address(seed: int, configurations: int) -> None:
    """An attacker on a link without the key replays frames at any port, whole or in part."""
    rng = random.Random(seed)
    recorded: list[bytes] = []
    simulation = AacmSimulation(torus("3x4"), key=KEY)
    simulation.tap = lambda end, data: recorded.append(data)
    for _ in range(configurations):
        simulation.configure()
    forged = frames.Frame(Flag.CONFIG, 1, simulation.epoch + 1, 1, 7, (2, 2), (3, 4))
    attacks = [*recorded, frames.encode(forged), frames.encode(forged, b"a guess")]
    for _ in range(150):
        data = bytearray(rng.choice(attacks))
        if rng.random() < 0.3:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        if rng.random() < 0.3:
            del data[rng.randrange(len(data)) :]
        simulation.inject(rng.choice(sorted(simulation.peers)), bytes(data))
        assert right(simulation)
    assert any(name.startswith("rejected") for name in simulation.counts())
    outcome = simulation.configure()
    assert outcome is not None
    assert outcome.success


def test_without_a_key_one_forged_link_cannot_move_a_server_that_has_two() -> None:
    simulation = AacmSimulation(torus("4x4"))
    simulation.configure()
    forged = frames.Frame(Flag.CONFIG, 1, simulation.epoch + 1, 1, 7, (3, 2), (4, 4))
    simulation.inject(Port(5, 2), frames.encode(forged))
    assert simulation.machines[5].address == (1, 1)


def test_radices_with_addresses_that_no_host_can_use_are_rejected() -> None:
    simulation = AacmSimulation(torus("29x2"))
    with pytest.raises(ipv4.AddressError, match="29x2"):
        simulation.configure()


@settings(max_examples=30)
@given(st.lists(st.integers(2, 32), min_size=1, max_size=2).map(tuple))
def test_usable_radices_are_those_whose_addresses_are_all_legal(sizes: tuple[int, ...]) -> None:
    def legal(place: tuple[int, ...]) -> bool:
        try:
            return ipv4.from_coordinates(place) >> 24 < 224
        except ipv4.AddressError:
            return False

    assert ipv4.usable_radices(sizes) == all(map(legal, itertools.product(*map(range, sizes))))


# --- any history ------------------------------------------------------------------


class History(RuleBasedStateMachine):
    """Servers fail and restart, links are cut, restored and swapped, frames are lost; configurations run in
    between.  The origin's outcome must be correct."""

    def __init__(self) -> None:
        super().__init__()
        self.simulation = AacmSimulation(torus("3x4"), noise=Noise(0.05, 0.1, 3e-5), key=KEY)
        self.proper = dict(self.simulation.peers)
        self.ends = sorted(self.proper)

    @rule(node=st.integers(1, 11))
    def stop_node(self, node: int) -> None:
        self.simulation.stop_node(node)

    @rule(node=st.integers(1, 11))
    def restart_node(self, node: int) -> None:
        self.simulation.stop_node(node)
        self.simulation.restart_node(node)

    @rule(number=st.integers(0, 47))
    def cut(self, number: int) -> None:
        self.simulation.cut(self.ends[number])

    @rule(a=st.integers(0, 47), b=st.integers(0, 47))
    def swap(self, a: int, b: int) -> None:
        near, far = self.ends[a], self.ends[b]
        if near != far and {near, far} <= self.simulation.peers.keys():
            self.simulation.swap(near, far)

    @rule()
    def restore_all(self) -> None:
        self.simulation.peers = dict(self.proper)
        for node in range(12):
            if node not in self.simulation.machines:
                self.simulation.restart_node(node)

    @rule()
    def configure(self) -> None:
        simulation = self.simulation
        outcome = simulation.configure()
        assert outcome is not None
        correct = simulation.peers == self.proper and len(simulation.machines) == 12
        assert outcome.success == correct
        assert bool(outcome.findings) == (not correct)
        if correct:
            assert right(simulation)

    @invariant()
    def hardware_addresses_differ(self) -> None:
        assert len({hardware(node) for node in self.simulation.machines}) == len(self.simulation.machines)


History.TestCase.settings = settings(max_examples=40, stateful_step_count=12)
test_any_history = History.TestCase
