"""Packets for groups reach every other server once where servers relay, by the scheme's rule."""

from __future__ import annotations

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet, Raw

from addressing.fields import ipv6, mac
from addressing.fields.ipv4 import text
from addressing.header import Forward, Header
from addressing.scheme import Scheme, path
from hostagent.forwarding import packet
from hostagent.forwarding.agent import Agent
from hostagent.forwarding.decisions import CONSUMED, TO_HOST
from tests.hostagent.frames import agent, from_host, scheme
from topos.graph import LinkState

CASES = [("bcube:4,1", "brp"), ("bcube:3,1", "wmgr"), ("dcell:3,1", "dfr"), ("torus:3x3", "ecmp")]


def carry(agents: list[Agent], bound: Scheme, data: bytes, source: int) -> list[tuple[int, bytes]]:
    """The servers that hear a packet of the host at ``source``, and what each hears."""
    slot, end = from_host(data)
    assert agents[source].receive_packet(slot, end, now=0.0) == CONSUMED
    heard = []
    for port, copy in agents[source].outbox:
        at, out, frame = source, port, memoryview(bytearray(copy))
        while out > 0:
            peer = bound.fabric.peer(at, out)
            assert peer is not None
            at = peer.node
            if bound.fabric.is_server(at):
                out = agents[at].receive_frame(frame, len(copy), peer.number, now=0.0)
            else:
                label = mac.decode(int.from_bytes(frame[10:16], "big"), bound.label_bits)
                tag = mac.decode(int.from_bytes(frame[16:22], "big"), bound.tag_bits) if bound.tag_bits else 0
                ((action, _),) = bound.next_hops(at, Header(label, tag, peer.number), bound.known)
                assert isinstance(action, Forward)
                out = action.port
        if out == TO_HOST:
            heard.append((at, bytes(frame[packet.IP_OFFSET : len(copy)])))
    agents[source].outbox.clear()
    return heard


def groups(source: int) -> list[Packet]:
    own, end = text(source), UDP(sport=9, dport=9) / Raw(b"x" * 20)
    wide = ipv6.text(ipv6.embed(source))
    return [
        IP(src=own, dst="224.0.0.251", ttl=1) / end,
        IP(src="0.0.0.0", dst="255.255.255.255", ttl=64, options=b"\x94\x04\x00\x00") / end,
        IPv6(src=wide, dst="ff02::fb", hlim=1) / end,
    ]


@pytest.mark.parametrize(("topology", "name"), CASES)
@pytest.mark.parametrize("failed", [0, 2])
def test_whom_the_rule_reaches_hears_a_group_once(topology: str, name: str, failed: int) -> None:
    bound = scheme(topology, name)
    servers, links = range(bound.fabric.servers), LinkState(frozenset(range(0, 3 * failed, 3)))
    agents = [agent(bound, node) for node in servers]
    for one in agents:
        one.broadcast = True
        if links:
            one.apply_link_state(links)
    source, now = servers[-1], bound.with_failures(links) if links else bound
    reached = [node for node in servers if node != source and path(now, source, node, links) is not None]
    assert failed or len(reached) == len(servers) - 1
    for sent in groups(bound.ipv4(source)):
        heard = carry(agents, now, bytes(sent), source)
        assert sorted(node for node, _ in heard) == reached
        for _, data in heard:
            got = type(sent)(data)
            assert (got.src, got.dst, bytes(got[UDP].payload)) == (sent.src, sent.dst, b"x" * 20)
            if isinstance(got, IP):
                fresh = got.copy()
                del fresh.chksum
                assert IP(bytes(fresh)).chksum == got.chksum


@pytest.mark.parametrize("broadcast", [False, True])
def test_without_the_option_and_for_other_addresses_nothing_is_copied(broadcast: bool) -> None:
    bound = scheme("bcube:4,1", "brp")
    one = agent(bound, 0)
    one.broadcast = broadcast
    own = text(bound.ipv4(0))
    others = [IP(src=own, dst="10.99.0.1"), IP(src=own, dst="240.0.0.1")]
    for sent in others if broadcast else [*others, *groups(bound.ipv4(0))]:
        slot, end = from_host(bytes(sent / Raw(b"x" * 20)))
        one.receive_packet(slot, end, now=0.0)
        assert all(port == TO_HOST for port, _ in one.outbox)
