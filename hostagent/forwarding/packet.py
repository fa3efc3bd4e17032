"""What agents read and write in packets: slots, fields of IPv4 and IPv6, sizes, flow hashes.

A *slot* is a writable buffer in which IP always begins at the same place, whether the packet came from an
interface or from the host's own stack.  So the payload is never moved:

    nic    | virtio-net header | Ethernet ................. | IP ...
    host   | (unused)              | virtio-net header ...  | IP ...
           0                   10  14                       24

The virtio-net header tells the kernel which checksum is still to be computed, and how a packet of up to 64 KB
is to be segmented.  Its offsets count from the Ethernet header at interfaces, from the IP header at the host.

The IPv6 address of a server contains its IPv4 address (:mod:`addressing.fields.ipv6`).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from addressing.fields import ipv6
from addressing.fields.checksum import checksum

VNET_SIZE = 10
ETHERNET_SIZE = 14
#: Where the Ethernet header begins, where a host packet's virtio-net header does, and IP.
FRAME_OFFSET = VNET_SIZE
HOST_OFFSET = ETHERNET_SIZE
IP_OFFSET = VNET_SIZE + ETHERNET_SIZE
#: The end of the shortest IPv4 and IPv6 packet in a slot, and of the longest.
MIN_END, MIN_END6 = IP_OFFSET + 20, IP_OFFSET + 40
MAX_END = IP_OFFSET + 0xFFFF

IPV4, IPV6 = 0x0800, 0x86DD
_BROADCAST = b"\xff" * 4
#: The highest number of hops that may be left.
MOST_HOPS = 255

#: Protocols whose first four bytes are a source and a destination port: TCP, UDP, DCCP, SCTP, UDP-Lite.
_PROTOCOLS_WITH_PORTS = frozenset({6, 17, 33, 132, 136})
_DONT_FRAGMENT, _MORE, _OFFSET_OR_MORE, _OFFSET = 0x4000, 0x2000, 0x3FFF, 0x1FFF
_NEEDS_CHECKSUM = 1
#: What the kernel is to segment: TCP over IPv4 and IPv6; and a mark beside (ECN).
_TCP_SEGMENTS, _SEGMENTS = (1, 4), 0x7F
_NO_OPTIONS = 0x45
_NO_OFFLOAD = bytes(VNET_SIZE)

#: Of a frame in a slot: destination and source MAC, EtherType; of IPv4 the first byte, TTL, protocol, header
#: checksum, source and destination.
FRAME = struct.Struct(f">{FRAME_OFFSET}x6s6sHB7xBBH4s4s")
#: From the TTL on: TTL, protocol, header checksum.
TTL = struct.Struct(">BBH")
TTL_OFFSET = IP_OFFSET + 8
ETHERNET = struct.Struct(">12sH")
_OFFLOAD = struct.Struct("=BBHHHH")
#: Of IPv6, in a frame: next header, hop limit, and the IPv4 addresses in source and destination.
_PREFIX6 = ipv6.NETWORK.network_address.packed[:12]
NEXT_HEADER6, HOP_LIMIT6 = IP_OFFSET + 6, IP_OFFSET + 7
_SOURCE6, _TARGET6 = IP_OFFSET + 8, IP_OFFSET + 24


def ttl_decremented_checksum(header_checksum: int) -> int:
    """The checksum of an IPv4 header after its TTL is decremented (RFC 1624)."""
    total = header_checksum + 0x0100
    return total + (total >= 0xFFFF) & 0xFFFF


def to_host(slot: memoryview) -> None:
    """Move the virtio-net header from its place for interfaces to that for the host."""
    slot[HOST_OFFSET:IP_OFFSET] = _shifted(slot[:VNET_SIZE], -ETHERNET_SIZE)


def to_nic(slot: memoryview) -> None:
    """Move the virtio-net header from its place for the host to that for interfaces."""
    slot[:VNET_SIZE] = _shifted(slot[HOST_OFFSET:IP_OFFSET], ETHERNET_SIZE)


def _shifted(header: memoryview, by: int) -> bytes:
    """The virtio-net header with its offsets counted from ``by`` bytes earlier."""
    if header == _NO_OFFLOAD:
        return _NO_OFFLOAD
    flags, kind, length, size, start, offset = _OFFLOAD.unpack(header)
    if kind:
        length = length + by & 0xFFFF
    if flags & _NEEDS_CHECKSUM:
        start = start + by & 0xFFFF
    return _OFFLOAD.pack(flags, kind, length, size, start, offset)


def is_group(slot: memoryview, end: int) -> bool:
    """Whether the packet in ``slot[:end]`` is for a group: multicast, or IPv4's limited broadcast."""
    if end >= MIN_END and 0x45 <= slot[IP_OFFSET] <= 0x4F:
        target = slot[IP_OFFSET + 16 : MIN_END]
        return target[0] & 0xF0 == 0xE0 or target == _BROADCAST
    return end >= MIN_END6 and is_ipv6(slot) and slot[_TARGET6] == 0xFF


def set_hops(slot: memoryview, hops: int) -> None:
    """Have so many hops left."""
    if is_ipv6(slot):
        slot[HOP_LIMIT6] = hops
        return
    end = IP_OFFSET + 4 * (slot[IP_OFFSET] & 0x0F)
    slot[TTL_OFFSET] = hops
    slot[TTL_OFFSET + 2 : TTL_OFFSET + 4] = bytes(2)
    slot[TTL_OFFSET + 2 : TTL_OFFSET + 4] = checksum(bytes(slot[IP_OFFSET:end])).to_bytes(2, "big")


def is_ipv6(slot: memoryview) -> bool:
    """Whether the packet in a slot, which is of IP, is of version 6."""
    return slot[IP_OFFSET] >> 4 == 6


def addressed(slot: memoryview, end: int) -> bytes | None:
    """The IPv4 address to which a packet goes, or which its IPv6 destination contains; None for packets that
    are malformed, and for IPv6 addresses that are no server's."""
    if end >= MIN_END and 0x45 <= slot[IP_OFFSET] <= 0x4F:
        return bytes(slot[IP_OFFSET + 16 : MIN_END])
    if end >= MIN_END6 and is_ipv6(slot) and slot[_TARGET6 : _TARGET6 + 12] == _PREFIX6:
        return bytes(slot[_TARGET6 + 12 : MIN_END6])
    return None


def alias(slot: memoryview) -> int:
    """The number of the further address that a packet comes from, or goes to; 0 for none: the upper three bits
    of the second byte of an IPv4 address."""
    source, target = (_SOURCE6 + 13, _TARGET6 + 13) if is_ipv6(slot) else (IP_OFFSET + 13, IP_OFFSET + 17)
    return slot[source] >> 5 or slot[target] >> 5


def ethertype(slot: memoryview) -> int:
    """The EtherType of the packet in a slot."""
    return IPV6 if is_ipv6(slot) else IPV4


def hops_left(slot: memoryview) -> int:
    """The TTL of IPv4, the hop limit of IPv6."""
    return slot[HOP_LIMIT6] if is_ipv6(slot) else slot[TTL_OFFSET]


def count_hop(slot: memoryview) -> None:
    """One hop less is left."""
    if is_ipv6(slot):
        slot[HOP_LIMIT6] -= 1
        return
    ttl, protocol, total = TTL.unpack_from(slot, TTL_OFFSET)
    TTL.pack_into(slot, TTL_OFFSET, ttl - 1, protocol, ttl_decremented_checksum(total))


def fits(slot: memoryview, end: int, mtu: int) -> bool:
    """Whether the packet in ``slot[:end]``, or each segment that the kernel makes of it, fits into an MTU."""
    if end - IP_OFFSET <= mtu:
        return True
    _, kind, _, size, _, _ = _OFFLOAD.unpack_from(slot)
    if not kind:
        return False
    transport = IP_OFFSET + (40 if is_ipv6(slot) else (slot[IP_OFFSET] & 0x0F) * 4)
    headers = (slot[transport + 12] >> 4) * 4 if kind & _SEGMENTS in _TCP_SEGMENTS else 8
    return bool(transport - IP_OFFSET + headers + size <= mtu)


def fragments(slot: memoryview, end: int, mtu: int) -> Iterator[bytes]:
    """The fragments of an IPv4 packet for an MTU; none where it must not be fragmented, is segmented by the
    kernel, has options, or is IPv6."""
    flags, kind, _, _, start, offset = _OFFLOAD.unpack_from(slot)
    marks = int.from_bytes(slot[IP_OFFSET + 6 : IP_OFFSET + 8], "big")
    if slot[IP_OFFSET] != _NO_OPTIONS or marks & _DONT_FRAGMENT or kind:
        return
    whole = bytearray(slot[IP_OFFSET : IP_OFFSET + int.from_bytes(slot[IP_OFFSET + 2 : IP_OFFSET + 4], "big")])
    if flags & _NEEDS_CHECKSUM:
        at = start - ETHERNET_SIZE
        whole[at + offset : at + offset + 2] = checksum(bytes(whole[at:])).to_bytes(2, "big")
    step = (mtu - 20) // 8 * 8
    for begin in range(20, len(whole), step):
        last = begin + step >= len(whole)
        more = marks & _MORE if last else _MORE
        part = whole[:20] + whole[begin : begin + step]
        part[2:4] = len(part).to_bytes(2, "big")
        part[6:8] = ((marks & _OFFSET) + (begin - 20) // 8 | more).to_bytes(2, "big")
        part[10:12] = bytes(2)
        part[10:12] = checksum(bytes(part[:20])).to_bytes(2, "big")
        yield bytes(part)


def flow_hash(slot: memoryview, end: int, salt: int) -> float:
    """A number in [0, 1) that all packets of one flow share.

    A flow is source, destination, protocol and ports; fragments are hashed without ports, which only the
    first fragment has.  Different salts give independent numbers, so that successive nodes do not all decide
    alike.
    """
    if is_ipv6(slot):
        return _mixed(_flow6(slot, end), salt)
    protocol = slot[IP_OFFSET + 9]
    key = bytes(slot[IP_OFFSET + 12 : IP_OFFSET + 20]) + bytes((protocol,))
    fragment = (slot[IP_OFFSET + 6] << 8 | slot[IP_OFFSET + 7]) & _OFFSET_OR_MORE
    ports_at = IP_OFFSET + (slot[IP_OFFSET] & 0x0F) * 4
    if protocol in _PROTOCOLS_WITH_PORTS and not fragment and ports_at + 4 <= end:
        key += slot[ports_at : ports_at + 4]
    return _mixed(key, salt)


def _flow6(slot: memoryview, end: int) -> bytes:
    """What all packets of one flow of IPv6 share; extension headers hide the ports."""
    protocol = slot[NEXT_HEADER6]
    has_ports = protocol in _PROTOCOLS_WITH_PORTS and end >= MIN_END6 + 4
    ports = bytes(slot[MIN_END6 : MIN_END6 + 4]) if has_ports else b""
    return bytes(slot[_SOURCE6:MIN_END6]) + bytes((protocol,)) + ports


def _mixed(key: bytes, salt: int) -> float:
    mixed = ((zlib.crc32(key) + (salt + 1) * 0x9E3779B1) * 0xD6E8FEB86659FD93) & 0xFFFFFFFFFFFFFFFF
    mixed = ((mixed ^ mixed >> 32) * 0xD6E8FEB86659FD93) & 0xFFFFFFFFFFFFFFFF
    return (mixed >> 32) / 0x100000000
