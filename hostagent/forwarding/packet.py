"""What agents read and write in packets: slots, IPv4 fields, checksums, ICMP errors, flow hashes.

A *slot* is a writable buffer in which IPv4 always begins at the same place, whether the packet came from an
interface or from the host's own stack.  So the payload is never moved:

    nic    | virtio-net header | Ethernet ................. | IPv4 ...
    host   | (unused)              | virtio-net header ...  | IPv4 ...
           0                   10  14                       24

The virtio-net header tells the kernel which checksum is still to be computed, and how a packet of up to 64 KB
is to be segmented.  Its offsets count from the Ethernet header at interfaces, from the IPv4 header at the host.
"""

from __future__ import annotations

import struct
import zlib

VNET_SIZE = 10
ETHERNET_SIZE = 14
#: Where the Ethernet header begins, where a host packet's virtio-net header does, and IPv4.
FRAME_OFFSET = VNET_SIZE
HOST_OFFSET = ETHERNET_SIZE
IP_OFFSET = VNET_SIZE + ETHERNET_SIZE
#: The end of the shortest IPv4 packet in a slot, and of the longest.
MIN_END = IP_OFFSET + 20
MAX_END = IP_OFFSET + 0xFFFF

IPV4 = 0x0800
ICMP_PROTOCOL = 1
DEFAULT_TTL = 64
HOST_UNREACHABLE = (3, 1)
TIME_EXCEEDED = (11, 0)

#: Protocols whose first four bytes are a source and a destination port: TCP, UDP, DCCP, SCTP, UDP-Lite.
_PROTOCOLS_WITH_PORTS = frozenset({6, 17, 33, 132, 136})
_ICMP_ERRORS = frozenset({3, 4, 5, 11, 12})
#: An ICMP error quotes so much of the packet that it has at most 576 bytes (RFC 1812, 4.3.2.3).
_QUOTED = 576 - 28
_CONTROL_PRECEDENCE = 0xC0
_DONT_FRAGMENT = 0x4000
_OFFSET_OR_MORE, _OFFSET = 0x3FFF, 0x1FFF
_NEEDS_CHECKSUM = 1
_NO_OFFLOAD = bytes(VNET_SIZE)

#: Of a frame in a slot: destination and source MAC, EtherType; of IPv4 the first byte, TTL, protocol, header
#: checksum, source and destination.
FRAME = struct.Struct(f">{FRAME_OFFSET}x6s6sHB7xBBH4s4s")
#: From the TTL on: TTL, protocol, header checksum.
TTL = struct.Struct(">BBH")
TTL_OFFSET = IP_OFFSET + 8
ETHERNET = struct.Struct(">12sH")
_OFFLOAD = struct.Struct("=BBHHHH")
_HEADER = struct.Struct(">BBHHHBBH4s4s")
_ICMP = struct.Struct(">BBHI")


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071); 0 over data that contains its own correct checksum."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


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


def flow_hash(slot: memoryview, end: int, salt: int) -> float:
    """A number in [0, 1) that all packets of one flow share.

    A flow is source, destination, protocol and ports; fragments are hashed without ports, which only the
    first fragment has.  Different salts give independent numbers, so that successive nodes do not all decide
    alike.
    """
    protocol = slot[IP_OFFSET + 9]
    key = bytes(slot[IP_OFFSET + 12 : IP_OFFSET + 20]) + bytes((protocol,))
    fragment = (slot[IP_OFFSET + 6] << 8 | slot[IP_OFFSET + 7]) & _OFFSET_OR_MORE
    ports_at = IP_OFFSET + (slot[IP_OFFSET] & 0x0F) * 4
    if protocol in _PROTOCOLS_WITH_PORTS and not fragment and ports_at + 4 <= end:
        key += slot[ports_at : ports_at + 4]
    mixed = ((zlib.crc32(key) + (salt + 1) * 0x9E3779B1) * 0xD6E8FEB86659FD93) & 0xFFFFFFFFFFFFFFFF
    mixed = ((mixed ^ mixed >> 32) * 0xD6E8FEB86659FD93) & 0xFFFFFFFFFFFFFFFF
    return (mixed >> 32) / 0x100000000


def icmp_error(code: tuple[int, int], own: bytes, packet: bytes) -> bytes | None:
    """The ICMP error of (type, code) from address ``own`` about ``packet``.

    None where RFC 1122 (3.2.2) forbids an answer: to ICMP errors, to fragments other than the first, and to or
    about addresses that are not those of a single host.
    """
    protocol, source, target = packet[9], packet[12:16], packet[16:20]
    header_size = (packet[0] & 0x0F) * 4
    if len(packet) < header_size or (packet[6] << 8 | packet[7]) & _OFFSET:
        return None
    if protocol == ICMP_PROTOCOL and (packet[header_size : header_size + 1] or b"\3")[0] in _ICMP_ERRORS:
        return None
    if source == bytes(4) or _is_multicast(source) or _is_multicast(target):
        return None
    quoted = packet[:_QUOTED]
    body = _ICMP.pack(*code, 0, 0) + quoted
    body = _ICMP.pack(*code, checksum(body), 0) + quoted
    size = _HEADER.size + len(body)
    fields = (0x45, _CONTROL_PRECEDENCE, size, 0, _DONT_FRAGMENT, DEFAULT_TTL, ICMP_PROTOCOL)
    header = checksum(_HEADER.pack(*fields, 0, own, source))
    return _HEADER.pack(*fields, header, own, source) + body


def _is_multicast(address: bytes) -> bool:
    """True for multicast and the limited broadcast."""
    return 224 <= address[0] < 240 or address == b"\xff\xff\xff\xff"
