"""Agents do with IPv6 what they do with IPv4; errors and fragments compared with scapy."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP, UDP, defragment
from scapy.layers.inet6 import (
    ICMPv6DestUnreach,
    ICMPv6EchoReply,
    ICMPv6EchoRequest,
    ICMPv6ND_Redirect,
    ICMPv6PacketTooBig,
    ICMPv6TimeExceeded,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
)
from scapy.packet import Packet, Raw

from addressing.fields import ipv6
from addressing.fields.checksum import checksum
from addressing.fields.ipv4 import text
from addressing.header import Forward
from addressing.scheme import Scheme
from hostagent.forwarding import icmp, packet
from hostagent.forwarding.agent import Agent
from hostagent.forwarding.decisions import CONSUMED, TO_HOST
from tests.hostagent.frames import agent, from_host, from_nic, parsed, scheme, udp

CASES = (("torus:3x4", "shortest"), ("bcube:4,1", "wmgr"), ("bcube:4,1", "brp"), ("torus:3x4", "pow"))
OWN = bytes([10, 0, 0, 9])
A, B = "fd00::a00:1", "fd00::a00:2"


def wide(bound: Scheme, server: int) -> str:
    return ipv6.text(ipv6.embed(bound.ipv4(server)))


def udp6(bound: Scheme, source: int, destination: int, *, hops: int = 64, size: int = 18) -> bytes:
    header = IPv6(src=wide(bound, source), dst=wide(bound, destination), hlim=hops)
    return bytes(header / UDP(sport=4000, dport=5000) / Raw(b"x" * size))


def followed(bound: Scheme, agents: list[Agent], source: int, data: bytes) -> tuple[list[bytes], int, bytes]:
    """The Ethernet addresses of each frame from server to server, the last server, and what its host gets."""
    slot, end = from_host(data)
    at, frames, port = source, [], agents[source].receive_packet(slot, end, 0.0)
    while port > 0:
        frames.append(bytes(slot[10:22]))
        assert int.from_bytes(slot[22:24], "big") == packet.ethertype(slot)
        peer = dict(bound.fabric.ports(at))[port]
        while not bound.fabric.is_server(peer.node):  # a switch, which matches labels and tags alone
            header = agents[at].framing.header(bytes(slot[10 : 22 if bound.tag_bits else 16]), 0)
            (action, _), *_ = bound.next_hops(peer.node, header)
            assert isinstance(action, Forward)
            peer = dict(bound.fabric.ports(peer.node))[action.port]
        at, port = peer.node, agents[peer.node].receive_frame(slot, end, peer.number, 0.0)
    assert port == TO_HOST
    return frames, at, bytes(slot[packet.IP_OFFSET : end])


@pytest.mark.parametrize(("topology", "name"), CASES)
def test_ipv6_takes_the_path_of_ipv4_between_all_servers(topology: str, name: str) -> None:
    """With pow the hash of the flow chooses, which differs."""
    bound = scheme(topology, name)
    agents = [agent(bound, node) for node in range(bound.fabric.servers)]
    for source, target in ((a, b) for a in range(0, len(agents), 3) for b in range(len(agents)) if a != b):
        narrow, at, _ = followed(bound, agents, source, udp(bound, source, target))
        frames, there, data = followed(bound, agents, source, udp6(bound, source, target))
        assert at == there == target
        assert frames == narrow or name == "pow"
        assert (data[7], data[8:]) == (64 - (len(frames) - 1), udp6(bound, source, target)[8:])


def test_a_relay_answers_an_expired_hop_limit_and_an_unknown_address() -> None:
    bound = scheme("torus:3x4", "shortest")
    first = agent(bound, 0)
    slot, end = from_host(udp6(bound, 0, 6, hops=1))
    port = first.receive_packet(slot, end, 0.0)
    peer = dict(bound.fabric.ports(0))[port]
    relay = agent(bound, peer.node)
    assert relay.receive_frame(slot, end, peer.number, 0.0) == CONSUMED
    ((out, answer),) = relay.outbox
    shown = IPv6(answer[packet.IP_OFFSET :])
    assert (out, shown.src, shown.dst) == (peer.number, wide(bound, peer.node), wide(bound, 0))
    assert ICMPv6TimeExceeded in shown
    to_nobody = bytes(IPv6(src=wide(bound, 0), dst="fd00::a63:0") / ICMPv6EchoRequest())
    assert first.receive_packet(*from_host(to_nobody), 0.0) == CONSUMED
    ((out, answer),) = first.outbox
    shown = IPv6(answer[packet.VNET_SIZE :])
    assert (out, shown.dst, shown[ICMPv6DestUnreach].code) == (TO_HOST, wide(bound, 0), 0)


@given(
    st.binary(max_size=2000),
    st.sampled_from([icmp.TIME_EXCEEDED, icmp.HOST_UNREACHABLE, icmp.TOO_BIG]),
    st.integers(1280, 9000),
)
def test_icmpv6_errors_equal_those_of_scapy(data: bytes, code: tuple[int, int], mtu: int) -> None:
    original = bytes(IPv6(src=A, dst=B) / UDP() / Raw(data))
    error = icmp.error(code, OWN, original, mtu if code == icmp.TOO_BIG else 0)
    assert error is not None
    layers: dict[tuple[int, int], Packet] = {
        icmp.TIME_EXCEEDED: ICMPv6TimeExceeded(code=0),
        icmp.HOST_UNREACHABLE: ICMPv6DestUnreach(code=0),
        icmp.TOO_BIG: ICMPv6PacketTooBig(mtu=mtu),
    }
    wanted = IPv6(src="fd00::a00:9", dst=A, hlim=64) / layers[code] / Raw(original[: 1280 - 48])
    assert error == bytes(wanted)
    assert len(error) <= 1280


@pytest.mark.parametrize(
    "forbidden",
    [
        IPv6(src=A, dst=B) / ICMPv6TimeExceeded() / Raw(bytes(48)),
        IPv6(src=A, dst=B) / ICMPv6ND_Redirect(),
        IPv6(src=A, dst=B) / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt() / ICMPv6DestUnreach(),
        IPv6(src=A, dst=B) / IPv6ExtHdrFragment(offset=3, nh=17) / Raw(bytes(28)),
        IPv6(src=A, dst="ff02::1") / UDP(),
        IPv6(src="::", dst=B) / UDP(),
        IPv6(src="ff02::1", dst=B) / UDP(),
    ],
    ids=lambda value: value.summary(),
)
def test_no_icmpv6_error_where_rfc_4443_forbids_it(forbidden: Packet) -> None:
    assert icmp.error(icmp.TIME_EXCEEDED, OWN, bytes(forbidden)) is None


def test_what_asks_and_first_fragments_are_answered() -> None:
    for asked in (
        IPv6(src=A, dst=B) / IPv6ExtHdrHopByHop() / ICMPv6EchoRequest(),
        IPv6(src=A, dst=B) / ICMPv6EchoReply(),
        IPv6(src=A, dst=B) / IPv6ExtHdrFragment(offset=0, nh=17) / Raw(bytes(28)),
    ):
        assert icmp.error(icmp.TIME_EXCEEDED, OWN, bytes(asked)) is not None


@given(st.integers(0, 8000), st.integers(576, 3000), st.integers(0, 300), st.booleans())
def test_fragments_are_the_packet_again_and_fit(size: int, mtu: int, at: int, more: bool) -> None:
    header = IP(src="10.0.0.1", dst="10.0.0.2", id=7, flags="MF" if more else 0, frag=at, proto=17)
    slot, end = from_host(bytes(header / Raw(bytes(byte % 251 for byte in range(size)))))
    parts = list(packet.fragments(slot, end, mtu))
    assert all(len(part) <= mtu for part in parts)
    assert all(checksum(part[:20]) == 0 for part in parts)
    data = b"".join(part[20:] for part in parts)
    assert data == bytes(slot[packet.MIN_END : end])
    shown = [parsed(part) for part in parts]
    before = [sum(len(part) - 20 for part in parts[:number]) // 8 for number in range(len(parts))]
    assert [one.frag for one in shown] == [at + blocks for blocks in before]
    assert [bool(one.flags.MF) for one in shown] == [True] * (len(shown) - 1) + [more] * bool(shown)
    if not at and not more and shown:
        (whole,) = defragment(shown)
        assert bytes(whole[IP].payload) == data


def test_a_fragmented_datagram_gets_the_checksum_that_the_kernel_left_out() -> None:
    datagram = bytes(IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1, dport=2) / Raw(b"y" * 1400))
    pseudo = checksum(datagram[12:20] + struct.pack(">HH", 17, len(datagram) - 20)) ^ 0xFFFF
    partial = datagram[:26] + pseudo.to_bytes(2, "big") + datagram[28:]
    slot, end = from_nic(bytes(14) + partial, struct.pack("=BBHHHH", 1, 0, 0, 0, 34, 6))
    assert b"".join(part[20:] for part in packet.fragments(slot, end, 700)) == datagram[20:]


def segments(gso: int, kind: int, header: Packet, payload: int) -> tuple[memoryview, int]:
    data = bytes(14) + bytes(header / TCP() / Raw(bytes(payload)))
    return from_nic(data, struct.pack("=BBHHHH", 0, kind, 54, gso, 0, 0))


@pytest.mark.parametrize(("kind", "header", "room"), [(1, IP(), 40), (4, IPv6(), 60), (1 | 0x80, IP(), 40)])
def test_a_large_packet_fits_where_its_segments_do(kind: int, header: Packet, room: int) -> None:
    for gso, fits in ((1500 - room, True), (1501 - room, False)):
        assert packet.fits(*segments(gso, kind, header, 20000), 1500) is fits
    assert not packet.fits(*segments(0, 0, header, 20000), 1500)
    assert packet.fits(*segments(0, 0, header, 1500 - room), 1500)


@pytest.mark.parametrize("versions", [4, 6])
def test_a_relay_says_which_size_fits_the_next_link(versions: int) -> None:
    bound = scheme("torus:3x4", "shortest")
    first = agent(bound, 0)
    header = {
        4: IP(src=text(bound.ipv4(0)), dst=text(bound.ipv4(6)), flags="DF"),
        6: IPv6(src=wide(bound, 0), dst=wide(bound, 6)),
    }[versions]
    data = bytes(header / UDP(sport=4000, dport=5000) / Raw(bytes(3000)))
    slot, end = from_host(data)
    out = first.receive_packet(slot, end, 0.0)
    peer = dict(bound.fabric.ports(0))[out]
    relay = agent(bound, peer.node)
    for port, _ in bound.fabric.ports(peer.node):
        relay.set_mtu(port, 9000 if port == peer.number else 2000)
    assert relay.receive_frame(slot, end, peer.number, 0.0) == CONSUMED
    ((port, answer),) = relay.outbox
    assert port == peer.number
    if versions == 4:
        assert parsed(answer[packet.IP_OFFSET :]).payload.fields["nexthopmtu"] == 2000
    else:
        assert IPv6(answer[packet.IP_OFFSET :])[ICMPv6PacketTooBig].mtu == 2000
    assert relay.counts()["dropped: larger than the MTU"] == 1
