"""Path probing: sources detect failed servers that no carrier shows, and find the best path."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addressing.scheme import path
from addressing.source import SourceRouted
from hostagent.control.authentication import Rejection
from hostagent.protocols.probing import ARRIVED, PROBE, PROBE_INTERVAL, PROBE_TIMEOUT, Probe, Prober, decode
from tests.hostagent.frames import agent, from_host, scheme, udp
from topos.graph import ALL_UP, LinkState

KEY = bytes(range(16))
paths = st.lists(st.integers(0, 2**32 - 1), min_size=2, max_size=20).map(tuple)


@given(paths, st.integers(0, 2**32 - 1), st.integers(0, 255), st.binary(max_size=20), st.data())
def test_probes_are_decoded_as_they_were(
    route: tuple[int, ...], serial: int, reached: int, rest: bytes, data: st.DataObject
) -> None:
    probe = Probe(PROBE, serial, route, data.draw(st.integers(1, len(route) - 1)), reached)
    encoded = probe.encode()
    assert decode(encoded + rest) == decode(probe.encode(KEY) + rest, KEY) == probe
    damaged = bytearray(encoded)
    damaged[data.draw(st.integers(0, len(encoded) - 1))] ^= data.draw(st.integers(1, 255))
    assert decode(bytes(damaged)) != probe


@given(st.binary(max_size=80))
def test_any_bytes_are_rejected_and_nothing_is_raised(data: bytes) -> None:
    bound = scheme("bcube:3,1", "brp:multipath=yes")
    assert isinstance(bound, SourceRouted)
    prober = Prober(bound, 0)
    prober.receive_frame(data, 1, 0.0)
    assert [name.split(":")[0] for name in prober.counts] == ["rejected"]
    assert not prober.frames_to_send()


@given(
    st.permutations(range(9)).map(tuple),
    st.integers(1, 8),
    st.integers(0, 8),
    st.sampled_from([None, b"other"]),
)
def test_forged_probes_and_answers_are_only_counted(
    route: tuple[int, ...], serial: int, reached: int, key: bytes | None
) -> None:
    bound = scheme("bcube:3,1", "brp:multipath=yes")
    assert isinstance(bound, SourceRouted)
    prober = Prober(bound, route[-1], KEY)
    for kind in (PROBE, ARRIVED):
        prober.receive_frame(Probe(kind, serial, route, len(route) - 1, reached).encode(key), 1, 0.0)
    assert prober.counts == {"rejected: not authentic": 2}
    assert not prober.frames_to_send()


def test_a_replayed_answer_clears_no_suspicion() -> None:
    net = Net("bcube:3,1", "brp:multipath=yes")
    net.recorded = []
    net.settle(0, 8, seconds=3 * PROBE_INTERVAL)
    assert len(net.recorded) > 10
    route = next(iter(net.bound.candidate_paths(0, 8)))
    net.down = set(net.fabric.links_of(route[1]))
    old, net.recorded = net.recorded, None
    net.settle(0, 8)
    prober, suspected = net.probers[0], net.probers[0].suspected
    assert suspected.down
    trips = dict(prober.round_trips)
    for data in old:
        prober.receive_frame(data, 1, net.now)
    assert (prober.suspected, prober.round_trips) == (suspected, trips)
    assert prober.counts["known already"] >= len(old)


class Net:
    """Probers whose frames take a millisecond between servers that are one working hop apart."""

    def __init__(self, topology: str, name: str) -> None:
        bound = scheme(topology, name)
        assert isinstance(bound, SourceRouted)
        self.bound, self.fabric = bound, bound.fabric
        self.probers = [Prober(bound, node, KEY) for node in range(self.fabric.servers)]
        self.down: set[int] = set()
        self.slow: dict[tuple[int, int], float] = {}
        self.now = 0.0
        #: The frames that servers receive, if they are recorded.
        self.recorded: list[bytes] | None = None

    def settle(self, source: int, target: int, seconds: float = 4 * PROBE_TIMEOUT) -> None:
        """Let one server probe its paths to another for some time."""
        prober, end = self.probers[source], self.now + seconds
        pending: list[tuple[float, int, bytes]] = []
        while self.now < end:
            prober.destinations.add(target)
            due = prober.next_timer()
            if due is not None and due <= self.now:
                prober.handle_timer(self.now)
            for node, one in enumerate(self.probers):
                for to, data in one.frames_to_send():
                    if self.joined(node, to):
                        pending.append((self.now + 0.001 + self.slow.get((node, to), 0.0), to, data))
            pending.sort()
            times = [item[0] for item in pending[:1]] + (
                [due] if (due := prober.next_timer()) is not None else []
            )
            self.now = max(self.now, min(times))
            while pending and pending[0][0] <= self.now:
                _, to, data = pending.pop(0)
                if self.recorded is not None and to == source:
                    self.recorded.append(data)
                self.probers[to].receive_frame(data, 1, self.now)

    def joined(self, a: int, b: int) -> bool:
        return self.bound.alive((a, b), LinkState(frozenset(self.down)))


@pytest.mark.parametrize(("topology", "target"), [("bcube:3,1", 8), ("bcube:2,2", 7), ("hdcube:3,1", 23)])
@pytest.mark.parametrize("seed", range(6))
def test_connected_servers_are_reached_though_only_probes_detect_failures(
    topology: str, target: int, seed: int
) -> None:
    name = "dcube-shortest" if "dcube" in topology else "brp"
    net = Net(topology, f"{name}:multipath=yes")
    draw = random.Random(seed)
    dead = draw.sample([v for v in range(1, net.fabric.servers) if v != target], 2)
    net.down = {link for server in dead for link in net.fabric.links_of(server)}
    assert path(net.bound.with_failures(LinkState(frozenset(net.down))), 0, target) is not None, (
        "take another seed"
    )
    net.settle(0, target, seconds=12 * PROBE_TIMEOUT)
    ((header, _), *_) = net.bound.headers(0, target, net.probers[0].suspected)
    taken = [route for route in net.probers[0].round_trips if net.bound.tag_of(route) == header.tag]
    assert taken
    assert all(net.joined(a, b) for a, b in itertools.pairwise(taken[0]))


def test_the_suspected_link_is_the_one_beyond_the_last_answer() -> None:
    net = Net("bcube:3,1", "brp:multipath=yes")
    route = next(iter(net.bound.candidate_paths(0, 8)))
    net.down = set(net.fabric.links_of(route[1]))
    net.settle(0, 8)
    switch = next(s for s in net.fabric.neighbours(0) if s in set(net.fabric.neighbours(route[1])))
    assert net.probers[0].suspected.down == set(net.fabric.links_between(route[1], switch))


def test_a_server_that_was_down_is_probed_again() -> None:
    net = Net("bcube:2,1", "brp:multipath=yes")
    net.down = set(net.fabric.links_of(3))
    net.settle(0, 3)
    net.down.clear()
    net.settle(0, 3, seconds=PROBE_TIMEOUT + 3 * PROBE_INTERVAL)
    assert any(route[-1] == 3 for route in net.probers[0].round_trips)


def test_new_flows_take_the_fastest_path_and_old_ones_stay() -> None:
    net = Net("bcube:3,1", "brp:multipath=yes")
    first, second = net.bound.candidate_paths(0, 8)
    one = agent(net.bound, 0, "probe")

    def leaves(port: int) -> int:
        slot, end = from_host(udp(net.bound, 0, 8, port=port))
        return one.receive_packet(slot, end, now=0.0)

    def follow(trips: dict[tuple[int, ...], float]) -> None:
        tags = {(8, net.bound.tag_of(route)): trip for route, trip in trips.items()}
        one.apply_probe_results(
            ALL_UP, {(to, tag): trip for (to, tag), trip in tags.items() if tag is not None}
        )

    follow({first: 0.001, second: 0.002})
    old = leaves(1)
    follow({first: 0.003, second: 0.002})
    new = leaves(2)
    assert one.probe_destinations == {8}
    assert old != new
    assert [leaves(1), leaves(2)] == [old, new]
    one.apply_probe_results(LinkState(frozenset({net.fabric.link_at(0, old)})), {})
    assert leaves(1) == new  # its path is suspected


def test_round_trips_include_queueing_delay() -> None:
    net = Net("bcube:3,1", "brp:multipath=yes")
    first, second = net.bound.candidate_paths(0, 8)
    net.slow[first[0], first[1]] = 0.01
    net.settle(0, 8)
    assert net.probers[0].round_trips[first] > 2 * net.probers[0].round_trips[second]
    assert not isinstance(decode(Probe(ARRIVED, 1, (0, 1), 1).encode()), Rejection)
