"""Packets built by scapy and put into slots, as the kernel would do."""

from __future__ import annotations

import functools
import random

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.packet import Packet, Raw

from addressing import registry as schemes
from addressing.fields.ipv4 import text
from addressing.scheme import Scheme
from hostagent.forwarding import packet
from hostagent.forwarding.agent import Agent, addresses_of
from hostagent.options import LoadBalance
from hostagent.runtime.mmsg import BUFFER_SIZE
from topos import registry as topologies

NO_OFFLOAD = bytes(packet.VNET_SIZE)


@functools.cache
def scheme(topology: str, name: str) -> Scheme:
    """A scheme bound to a topology, once."""
    return schemes.bind(name, topologies.fabric(topology))


def agent(
    bound: Scheme, node: int, load_balance: LoadBalance = "flow", draw: random.Random | None = None
) -> Agent:
    """The agent of one server."""
    return Agent(bound, node, addresses_of(bound), draw or random.Random(1), load_balance)


def udp(bound: Scheme, source: int, destination: int, *, ttl: int = 64, port: int = 5000) -> bytes:
    """A small UDP packet between two servers."""
    return _udp(text(bound.ipv4(source)), text(bound.ipv4(destination)), ttl, port)


@functools.cache
def _udp(source: str, destination: str, ttl: int, port: int) -> bytes:
    return bytes(IP(src=source, dst=destination, ttl=ttl) / UDP(sport=4000, dport=port) / Raw(b"x" * 18))


def from_host(data: bytes, offload: bytes = NO_OFFLOAD) -> tuple[memoryview, int]:
    """A slot with a packet as read from the TUN device, and its end."""
    return _slot(bytes(packet.HOST_OFFSET) + offload + data)


def from_nic(frame: bytes, offload: bytes = NO_OFFLOAD) -> tuple[memoryview, int]:
    """A slot with a frame as read from a packet socket, and its end."""
    return _slot(offload + frame)


def frame(addresses: bytes, data: bytes, kind: int = packet.IPV4) -> bytes:
    """An Ethernet frame around a packet; ``addresses`` are destination and source."""
    return addresses + kind.to_bytes(2, "big") + data


def parsed(data: bytes) -> Packet:
    """The packet as scapy parses it, with its checksums unchanged."""
    return IP(data)


def with_fresh_checksums(data: bytes) -> bytes:
    """The same packet with all checksums recomputed by scapy."""
    again = IP(data)
    for layer in (IP, ICMP, UDP, TCP):
        if layer in again:
            del again[layer].chksum
    return bytes(again)


def _slot(data: bytes) -> tuple[memoryview, int]:
    slot = memoryview(bytearray(BUFFER_SIZE))
    slot[: len(data)] = data
    return slot, len(data)
