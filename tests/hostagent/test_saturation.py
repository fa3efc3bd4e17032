"""Whole fabrics under overload, offline: with credits no packet is lost and nothing deadlocks."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from addressing import registry as schemes
from hostagent.flowcontrol.relay import Relay, VirtualChannelHop
from hostagent.flowcontrol.simulation import Host, SaturationSimulation
from hostagent.virtual import Noise
from tests.addressing.cases import bound, failures
from tests.hostagent.frames import scheme
from topos import registry as topologies
from topos.graph import ALL_UP

FABRICS = [
    ("clot:2x4", "pow"),
    ("clot:4x4", "pow"),
    ("torus:3x3", "pow"),
    ("torus:5", "dor"),
    ("bcube:3,1", "wmgr"),
]


def checked(network: SaturationSimulation) -> None:
    """Run to the end.  At every step no buffer exceeds its limit, and each frame that has arrived is either in
    its buffer or freed."""
    relays = {node: host.relay for node, host in network.hosts.items()}
    while network.busy:
        network.step()
        for relay in relays.values():
            for queue in relay.credit_state.queues.values():
                buffer = queue.buffer
                assert len(buffer.queue) <= buffer.limit <= network.buffers
                arrived = buffer.arrived + len(buffer.out_of_order)
                assert (arrived - buffer.freed) % 256 == len(buffer.queue)
    for relay in relays.values():
        assert not any(relay.credit_state.outstanding().values()), "a credit is missing"
    assert all(switch.fullest <= 2 * network.buffers for switch in network.switches)


@pytest.mark.parametrize(("spec", "name"), FABRICS)
def test_any_traffic_arrives_completely_and_only_once(spec: str, name: str) -> None:
    servers = range(topologies.fabric(spec).servers)
    pair = st.tuples(st.sampled_from(servers), st.sampled_from(servers)).filter(lambda p: p[0] != p[1])

    @settings(max_examples=8, deadline=None)
    @given(
        st.lists(pair, min_size=1, max_size=40), st.integers(1, 12), st.integers(3, 10), st.integers(0, 99),
        st.sampled_from(["packet", "flow"]),
    )  # fmt: skip
    def arrives(pairs: list[tuple[int, int]], frames: int, buffers: int, seed: int, load_balance: str) -> None:
        network = SaturationSimulation(bound(spec, name), buffers, load_balance=load_balance, seed=seed)
        network.send(pairs, frames)
        checked(network)
        assert network.received == sum(network.sent.values())
        for node, host in network.hosts.items():
            expected = sum(count for (_, to), count in network.sent.items() if to == node)
            assert len(host.arrived) == expected

    arrives()


@pytest.mark.parametrize("spec", ["clot:4x4", "torus:3x3"])
def test_lost_frames_and_lost_credits_are_recovered(spec: str) -> None:
    """Links lose one frame in fifty, control frames as well: only these frames are missing, and every credit
    comes back."""
    network = SaturationSimulation(bound(spec, "pow"), 4, noise=Noise(loss=0.02), seed=3)
    network.send(itertools.permutations(range(network.scheme.fabric.servers), 2), 4)
    assert network.run()
    counts = network.counts()
    assert counts["lost on links"] == sum(network.sent.values()) - network.received > 0
    assert counts["dropped: no buffer"] == 0
    assert not any(any(host.relay.credit_state.outstanding().values()) for host in network.hosts.values())


@pytest.mark.parametrize(
    ("spec", "seed"), [("clot:4x4", 1), ("clot:4x4", 2), ("torus:3x5", 3), ("clot:2x4", 4)]
)
def test_nothing_is_lost_between_servers_that_stay_connected(spec: str, seed: int) -> None:
    intact = bound(spec, "pow")
    links = failures(intact.fabric, seed, 0.25)
    network = SaturationSimulation(intact, 5, links=links, seed=seed)
    network.send(itertools.permutations(range(intact.fabric.servers), 2), 2)
    assert network.run()
    assert network.received == sum(network.sent.values())


@pytest.mark.parametrize(
    ("spec", "name", "seed"),
    [(spec, name, seed) for spec, name in FABRICS for seed in range(2 if spec == "clot:4x4" else 4)],
)
def test_no_packet_waits_for_good_when_servers_learn_of_failures_one_by_one(
    spec: str, name: str, seed: int
) -> None:
    """A switch that knows of other failures than the sender forwards frames, and reports, to other servers than
    those they are counted for.  Once all know, every packet moves on and every credit comes back."""
    intact = bound(spec, name)
    fabric, draw = intact.fabric, random.Random(seed)
    network = SaturationSimulation(intact, 3, seed=seed)
    pairs = list(itertools.permutations(range(fabric.servers), 2))
    network.send(pairs, 6)
    for links in (failures(fabric, seed, 0.1), ALL_UP):
        learners = [*range(fabric.servers), None]
        draw.shuffle(learners)
        network.set_links(links)
        for learner in learners:
            for _ in range(draw.randrange(200)):
                if network.busy:
                    network.step()
            if learner is None:
                network.inform_switches(links)
            else:
                network.inform_server(learner, links)
    assert network.run()
    assert not any(any(host.relay.credit_state.outstanding().values()) for host in network.hosts.values())
    received = network.received
    network.send(pairs, 1)
    assert network.run()
    assert network.received == received + len(pairs)


#: Servers 0 to 3 are a ring: each sends to the one after the next, as those of the other rows do through them.
AROUND = [(row + at, (at + 2) % 4) for row in range(0, 16, 4) for at in range(4)]


@pytest.mark.parametrize(
    ("spec", "name", "buffers", "ends"),
    [
        ("torus:4x4", "dor", 1, "datelines"),
        ("torus:4x4", "dor", 2, "escape"),
        ("torus:4x4", "dor", 2, "0,0,0,1,0,0,0,1,0,0,0,1,0,0,0,1"),
        ("clot:4x4", "pow", 3, ",".join(map(str, range(16)))),
    ],
)
def test_packets_wait_for_ever_with_one_virtual_channel_and_not_with_those_that_end_a_cycle(
    spec: str, name: str, buffers: int, ends: str
) -> None:
    for virtual_channels in ("one", ends):
        network = SaturationSimulation(bound(spec, name), buffers, virtual_channels=virtual_channels, seed=1)
        network.send(AROUND, 20)
        assert network.run() is (virtual_channels == ends)
        assert (network.received == 20 * len(AROUND)) is (virtual_channels == ends)
        assert network.counts()["dropped: no buffer"] == 0
        assert (network.counts()["escaped"] > 0) <= (virtual_channels == "escape")


@pytest.mark.parametrize("pattern", ["incast", "all"])
def test_the_same_load_without_credits_is_dropped(pattern: str) -> None:
    servers = range(12)
    pairs = (
        [(a, 0) for a in servers[1:]]
        if pattern == "incast"
        else [(a, b) for b in servers for a in servers if a != b]
    )
    lost: Counter[bool] = Counter()
    for credits in (True, False):
        network = SaturationSimulation(bound("torus:3x4", "pow"), 4, credits, seed=1)
        network.send(pairs, 60 if pattern == "incast" else 14)
        assert network.run()
        lost[credits] = sum(network.sent.values()) - network.received
        assert network.counts()["dropped: no buffer"] == lost[credits]
    assert lost[True] == 0
    assert lost[False] > 20


def test_without_the_escape_channel_a_ring_deadlocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """All servers of a ring send over two hops: with one virtual channel they wait for each other."""
    ring = scheme("torus:5", "dor")
    pairs = [(at, (at + 2) % 5) for at in range(5)]

    def moves() -> bool:
        network = SaturationSimulation(ring, 2)
        network.send(pairs, 40)
        return network.run() and network.received == 200

    assert moves()

    def no_escape(self: Relay, *_: object) -> VirtualChannelHop | None:
        return None

    monkeypatch.setattr(Relay, "_escape_hop", no_escape)
    assert not moves()


@pytest.mark.parametrize(("spec", "frames"), [("clot:4x4", 8), ("clot:4x4x4", 1)])
def test_saturated_fabrics_do_not_deadlock(spec: str, frames: int) -> None:
    """Every buffer is in demand: all servers send to all others in the same order."""
    bound_scheme = schemes.bind("pow", topologies.fabric(spec))
    servers = range(bound_scheme.fabric.servers)
    network = SaturationSimulation(bound_scheme, 7 if spec == "clot:4x4x4" else 3)
    network.send([(a, b) for b in servers[:10] for a in servers if a != b], frames)
    assert network.run()
    assert network.received == sum(network.sent.values())
    assert network.counts()["escaped"] > 0


def test_unloaded_relays_choose_by_the_weights_of_eq_12() -> None:
    """One packet at a time: displacement (3, 4) on 8 x 8 gives 1/12 three times and 3/4 to the switch."""
    pow_ = bound("clot:8x8", "pow")
    source, target = pow_.torus.server((0, 0)), pow_.torus.server((3, 4))
    network = SaturationSimulation(pow_, 10, seed=5)
    leaves: Counter[int] = Counter()
    network.tap = lambda end, data: leaves.update([end.number] * (end.node == source and len(data) > 80))
    for _ in range(400):
        network.send([(source, target)], 1)
        while network.busy:
            network.step()
    switch = 2 * len(pow_.torus.sizes) + 1
    assert leaves.total() == 400
    assert leaves[switch] == pytest.approx(300, abs=40)
    assert len(leaves) == 4


@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 8),
    st.integers(20, 400),
    st.integers(0, 3000),
    st.sampled_from([0.0, 0.02]),
    st.integers(0, 99),
)
def test_a_server_that_starts_again_agrees_with_its_neighbours_on_credits(
    node: int, frames: int, steps: int, loss: float, seed: int
) -> None:
    """It has forgotten all numbers; what it held is lost, and no packet after that."""
    network = SaturationSimulation(bound("torus:3x3", "pow"), 4, seed=seed, noise=Noise(loss=loss))
    pairs = [(a, b) for a in range(9) for b in range(9) if a != b]
    network.send([pair for pair in pairs if node in pair], frames // 8)
    for _ in range(steps):
        if network.busy:
            network.step()
    before = network.hosts[node].relay
    after = Relay(before.agent, 4, credits=True, generation=1)
    network.machines[node] = Host(after)
    network._armed.pop(node, None)
    network.flush(node)
    network.run()
    fabric = network.scheme.fabric
    for port, _ in fabric.ports(node):
        end = fabric.peer(node, port)
        assert end is not None
        assert after.credit_state.agreed(port, end.node)
    network.noise = Noise()
    received = network.received
    network.send(pairs, 3)
    assert network.run()
    assert network.received == received + 3 * len(pairs)


@pytest.mark.parametrize("seed", range(4))
def test_frames_that_interfaces_have_held_during_a_restart_stop_nothing(seed: int) -> None:
    """They are numbered as before.  Every packet still moves on, and every credit comes back."""
    network, draw, held = SaturationSimulation(bound("torus:3x3", "pow"), 3, seed=seed), random.Random(seed), []
    fabric, node = network.scheme.fabric, 4
    near = {node, *fabric.neighbours(node)}
    network.tap = lambda end, data: held.append((network.peers[end], data)) if end.node in near else None
    pairs = list(itertools.permutations(range(9), 2))
    network.send(pairs, 6)
    for _ in range(400):
        network.step()
    network.tap = None
    network.machines[node] = Host(Relay(network.hosts[node].relay.agent, 3, credits=True, generation=1))
    network._armed.pop(node, None)
    network.flush(node)
    for end, data in draw.sample(
        [one for one in held if node in (one[0].node, network.peers[one[0]].node)], 12
    ):
        network.inject(end, data)
        for _ in range(draw.randrange(200)):
            if network.busy:
                network.step()
    for _ in range(20):
        network.send(pairs, 1)
        assert network.run()
        assert not any(any(host.relay.credit_state.outstanding().values()) for host in network.hosts.values())
    received = network.received
    network.send(pairs, 3)
    assert network.run()
    assert network.received == received + 3 * len(pairs)
