"""Agents without sockets: packets between them follow the scheme's walk."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import ICMP
from scipy import stats

from addressing.fields import ipv4, mac
from addressing.header import Field, Forward, Header
from addressing.scheme import Scheme, walk
from hostagent.forwarding import icmp, packet
from hostagent.forwarding.agent import Agent
from hostagent.forwarding.decisions import CACHE_SIZE, CONSUMED, TO_HOST
from hostagent.forwarding.framing import UNASSIGNED_MAC
from hostagent.runtime import processes
from tests.hostagent.frames import agent, frame, from_host, from_nic, parsed, scheme, udp, with_fresh_checksums
from topos.graph import ALL_UP, LinkState

CASES = [
    ("bcube:4,1", "brp"),
    ("bcube:3,1", "brp:multipath=yes"),
    ("bcube:3,1", "wmgr"),
    ("clot:4x4", "pow"),
    ("clot:2x2x4", "pow"),
    ("dcell:3,1", "dfr"),
    ("torus:3x3", "ecmp"),
    ("mdcube:3,1", "dcube-shortest"),
]


def through_switch(bound: Scheme, node: int, port: int, slot: memoryview, links: LinkState) -> int:
    """The switch in the test: read the header of the frame, return the port by which it leaves."""
    address = int.from_bytes(slot[10:16], "big")
    if bound.label_field is Field.IPV4_DST:
        label = int.from_bytes(slot[40:44], "big")
    else:
        label = mac.decode(address, bound.label_bits)
    tag = mac.decode(int.from_bytes(slot[16:22], "big"), bound.tag_bits) if bound.tag_bits else 0
    ((action, _),) = bound.next_hops(node, Header(label, tag, port), links)
    assert isinstance(action, Forward)
    return action.port


def carry(
    agents: list[Agent], bound: Scheme, data: bytes, source: int, links: LinkState
) -> tuple[list[int], bytes]:
    """The nodes that a packet visits from the host at ``source``, and the packet as it arrives."""
    slot, end = from_host(data)
    visited, at = [source], source
    out = agents[source].receive_packet(slot, end, now=0.0)
    while out > 0:
        peer = bound.fabric.peer(at, out)
        assert peer is not None
        at = peer.node
        visited.append(at)
        if bound.fabric.is_server(at):
            out = agents[at].receive_frame(slot, end, peer.number, now=0.0)
        else:
            out = through_switch(bound, at, peer.number, slot, links)
    return visited, bytes(slot[packet.IP_OFFSET : end]) if out == TO_HOST else b""


@pytest.mark.parametrize(("topology", "name"), CASES)
@pytest.mark.parametrize("failures", [0, 3])
def test_packets_follow_the_walk_between_all_pairs(topology: str, name: str, failures: int) -> None:
    intact = scheme(topology, name)
    total = len(intact.fabric.link_ends)
    links = LinkState(frozenset(random.Random(5).sample(range(total), failures)))
    bound = intact.with_failures(links) if links else intact
    ours, theirs = random.Random(7), random.Random(7)
    agents = [agent(intact, node, "packet", ours) for node in range(bound.fabric.servers)]
    if links:
        for relay in agents:
            relay.apply_link_state(links)
    for source, destination in itertools.permutations(range(bound.fabric.servers), 2):
        expected = list(walk(bound, source, destination, links, theirs))
        data = udp(bound, source, destination)
        visited, arrived = carry(agents, bound, data, source, links)
        assert visited == [hop.node for hop in expected]
        if not arrived:
            assert visited[-1] != destination
            continue
        relays = sum(bound.fabric.is_server(node) for node in visited[1:-1])
        assert visited[-1] == destination
        assert arrived == udp(bound, source, destination, ttl=64 - relays)


def origin_and_relay() -> tuple[Scheme, Agent, Agent, memoryview, int, int]:
    """On a 2x2 torus, a packet from h0 to h3 at the relay: slot, end and arrival port."""
    bound = scheme("torus:2x2", "wmgr")
    first = agent(bound, 0)
    slot, end = from_host(udp(bound, 0, 3, ttl=1))
    peer = bound.fabric.peer(0, first.receive_packet(slot, end, now=0.0))
    assert peer is not None
    return bound, first, agent(bound, peer.node), slot, end, peer.number


def test_a_relay_answers_an_expired_ttl_from_its_own_address() -> None:
    bound, _, relay, slot, end, port = origin_and_relay()
    assert relay.receive_frame(slot, end, port, now=0.0) == CONSUMED
    ((out, answer),) = relay.outbox
    assert out == port
    shown = parsed(answer[packet.IP_OFFSET :])
    assert (shown.src, shown.dst) == (f"10.0.0.{relay.node + 1}", "10.0.0.1")
    assert (shown[ICMP].type, shown[ICMP].code) == icmp.TIME_EXCEEDED
    assert answer[packet.IP_OFFSET :] == with_fresh_checksums(answer[packet.IP_OFFSET :])
    assert mac.decode(int.from_bytes(answer[10:16], "big"), bound.label_bits) == bound.label(0)
    assert relay.counts()["dropped: TTL expired"] == 1


def test_icmp_errors_are_rate_limited() -> None:
    _, _, relay, slot, end, port = origin_and_relay()
    for _ in range(150):
        assert relay.receive_frame(slot, end, port, now=1.0) == CONSUMED
    assert len(relay.outbox) == 100
    assert relay.counts()["ICMP errors suppressed"] == 50
    relay.receive_frame(slot, end, port, now=2.0)
    assert len(relay.outbox) == 101


def test_a_host_gets_an_icmp_error_for_an_unknown_address() -> None:
    bound = scheme("torus:2x2", "wmgr")
    first = agent(bound, 0)
    slot, end = from_host(with_fresh_checksums(udp(bound, 0, 3)[:16] + bytes([10, 9, 9, 9]) + bytes(26)))
    assert first.receive_packet(slot, end, now=0.0) == CONSUMED
    ((out, answer),) = first.outbox
    shown = parsed(answer[packet.VNET_SIZE :])
    assert (out, shown.src, shown.dst) == (TO_HOST, "10.0.0.1", "10.0.0.1")
    assert (shown[ICMP].type, shown[ICMP].code) == icmp.HOST_UNREACHABLE


def test_a_lost_carrier_takes_effect_at_once_and_until_it_is_back() -> None:
    bound = scheme("clot:4x4", "pow")
    first = agent(bound, 0)

    def leaves() -> set[int]:
        ports = set()
        for number in range(40):
            slot, end = from_host(udp(bound, 0, 5, port=number))
            ports.add(first.receive_packet(slot, end, now=0.0))
        return ports

    before = leaves()
    lost = min(before)
    assert len(before) > 1
    assert first.handle_link_change(lost, False)
    assert not first.handle_link_change(lost, False)
    assert leaves() == before - {lost}
    first.apply_link_state(ALL_UP)
    assert leaves() == before - {lost}
    assert first.handle_link_change(lost, True)
    assert leaves() == before


def test_the_labs_link_state_changes_labels_and_routes() -> None:
    bound = scheme("torus:2x2", "wmgr")
    first = agent(bound, 0)
    slot, end = from_host(udp(bound, 0, 3))
    port = first.receive_packet(slot, end, now=0.0)
    first.apply_link_state(LinkState(frozenset({bound.fabric.link_at(0, port)})))
    slot, end = from_host(udp(bound, 0, 3))
    assert first.receive_packet(slot, end, now=0.0) not in (port, CONSUMED)
    first.apply_link_state(ALL_UP)
    slot, end = from_host(udp(bound, 0, 3))
    assert first.receive_packet(slot, end, now=0.0) == port


def test_packets_are_balanced_by_weight_and_flows_stay_together() -> None:
    bound = scheme("clot:8x8", "pow")
    target = 8 * 3 + 4
    weights = {
        action.port: weight
        for action, weight in bound.next_hops(0, Header(bound.label(target)))
        if isinstance(action, Forward)
    }
    by_packet, by_flow = agent(bound, 0, "packet"), agent(bound, 0, "flow")
    whole, at = udp(bound, 0, target, port=9), 22  # where the destination's port is
    assert whole[at : at + 2] == (9).to_bytes(2, "big")

    def sent(relay: Agent, port: int) -> int:
        slot, end = from_host(whole[:at] + port.to_bytes(2, "big") + whole[at + 2 :])
        return relay.receive_packet(slot, end, now=0.0)

    for relay, port in ((by_packet, lambda number: 1), (by_flow, lambda number: number)):
        ports = [sent(relay, port(number)) for number in range(4000)]
        seen = [ports.count(one) for one in weights]
        assert stats.chisquare(seen, [weight * 4000 for weight in weights.values()]).pvalue > 1e-4
    assert len({sent(by_flow, 9) for _ in range(100)}) == 1


def test_labels_in_ip_addresses_go_with_an_unassigned_mac() -> None:
    bound = scheme("clot:4x4", "pow")
    slot, end = from_host(udp(bound, 0, 1))
    port = agent(bound, 0).receive_packet(slot, end, now=0.0)
    assert slot[10:16] == UNASSIGNED_MAC
    assert slot[16:22] == mac.hardware(0, port).to_bytes(6, "big")


def test_the_cache_is_bounded() -> None:
    bound = scheme("torus:2x2", "wmgr")
    relay = agent(bound, 0)
    data = udp(bound, 3, 1)
    for number in range(2 * CACHE_SIZE + 5):
        slot, end = from_nic(frame(b"\x02" + number.to_bytes(5, "big") + bytes(6), data))
        relay.receive_frame(slot, end, 1, now=0.0)
    assert all(len(decisions) <= CACHE_SIZE for decisions in relay._frame_decisions)


def test_control_frames_go_to_their_protocol() -> None:
    class Echo:
        """A control protocol that sends back the header and the time."""

        def __init__(self) -> None:
            self.outgoing: list[tuple[int, bytes]] = []

        def receive_frame(self, data: bytes, port: int, now: float) -> None:
            self.outgoing.append((port, data[:14] + str(now).encode()))

        def frames_to_send(self) -> list[tuple[int, bytes]]:
            outgoing, self.outgoing = self.outgoing, []
            return outgoing

        def next_timer(self) -> float | None:
            return None

        def handle_timer(self, now: float) -> None:
            pass

    bound = scheme("torus:2x2", "wmgr")
    relay = replace(agent(bound, 0), protocols={0xA800: Echo()})
    slot, end = from_nic(frame(b"\xff" * 12, b"hello", 0xA800))
    assert relay.receive_frame(slot, end, 3, now=2.5) == CONSUMED
    assert relay.outbox == [(3, bytes(10) + b"\xff" * 12 + b"\xa8\x002.5")]
    other, end = from_nic(frame(b"\xff" * 12, b"hello", 0x88CC))
    assert relay.receive_frame(other, end, 3, now=2.5) == CONSUMED
    assert relay.counts()["ignored: not IP"] == 1


@pytest.mark.parametrize(("topology", "name"), CASES)
def test_any_bytes_are_counted_and_nothing_is_raised(topology: str, name: str) -> None:
    bound = scheme(topology, name)
    relay = agent(bound, bound.fabric.servers // 2)
    ports = st.sampled_from([port for port, _ in bound.fabric.ports(relay.node)])
    sensible = st.builds(
        lambda to, by, rest: b"\x02" + to + by + b"\x08\x00\x45" + rest,
        st.binary(min_size=5, max_size=5),
        st.binary(min_size=6, max_size=6),
        st.binary(min_size=19, max_size=60),
    )

    @settings(max_examples=150)
    @given(
        st.one_of(st.binary(max_size=120), sensible), ports, st.binary(min_size=10, max_size=10), st.booleans()
    )
    def check(data: bytes, port: int, offload: bytes, at_nic: bool) -> None:
        before = sum(relay.counts().values())
        slot, end = from_nic(data, offload) if at_nic else from_host(data, offload)
        if at_nic:
            relay.receive_frame(slot, end, port, now=0.0)
        else:
            relay.receive_packet(slot, end, now=0.0)
        assert sum(relay.counts().values()) > before
        relay.outbox.clear()

    check()


def test_a_pinned_path_is_taken_while_its_links_are_up() -> None:
    bound = scheme("bcube:3,1", "brp")
    agents = [agent(bound, node) for node in range(9)]
    data = udp(bound, 0, 4)
    usual, _ = carry(agents, bound, data, 0, ALL_UP)
    longer = (0, 2, 8, 7, 4)
    agents[0].pin([longer])
    visited, arrived = carry(agents, bound, data, 0, ALL_UP)
    assert tuple(node for node in visited if node < 9) == longer
    assert arrived
    agents[0].handle_link_change(1, False)  # the first link of the pinned path
    visited, arrived = carry(agents, bound, data, 0, ALL_UP)
    assert visited[1] == 9 + 3
    assert arrived
    agents[0].handle_link_change(1, True)
    agents[0].pin([])
    assert carry(agents, bound, data, 0, ALL_UP)[0] == usual


def test_aliases_take_one_path_each_in_both_directions() -> None:
    bound = scheme("bcube:3,1", "brp:multipath=yes")
    agents = [agent(bound, node) for node in range(9)]

    def first_hop(source: int, target: int, numbers: tuple[int, int]) -> int:
        addresses = [
            ipv4.alias(node, number) if number else ipv4.host_address(node)
            for node, number in zip((source, target), numbers, strict=True)
        ]
        plain = udp(bound, source, target)
        data = plain[:12] + b"".join(address.to_bytes(4, "big") for address in addresses) + plain[20:]
        visited, arrived = carry(agents, bound, with_fresh_checksums(data), source, ALL_UP)
        assert arrived
        return visited[1]

    hops = {number: first_hop(0, 8, (number, 1)) for number in (1, 2)}
    assert len(set(hops.values())) == 2
    assert first_hop(0, 8, (3, 1)) == hops[1]  # there are two paths only
    assert first_hop(0, 8, (0, 2)) == hops[2]
    assert first_hop(8, 0, (1, 1)) != first_hop(8, 0, (2, 1))


def test_aliases_are_mapped_back() -> None:
    for node in (0, 7, 2**21 - 2):
        assert ipv4.without_alias(ipv4.host_address(node)) == (ipv4.host_address(node), 0)
        for number in range(1, 8):
            assert ipv4.without_alias(ipv4.alias(node, number)) == (ipv4.host_address(node), number)
    for node, number in ((0, 0), (0, 8), (2**21 - 1, 1)):
        with pytest.raises(ipv4.AddressError):
            ipv4.alias(node, number)


def test_workers_have_few_packet_sockets_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process with thousands takes the kernel half a minute to end."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    assert [processes.worker_count(agents, 2 * agents) for agents in (1, 64, 1024)] == [1, 2, 16]
