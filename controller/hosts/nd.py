"""Neighbour discovery, read from and written to whole Ethernet frames (RFC 4861, sections 4.3 and 4.4)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_ETHERNET, _IPV6, _MESSAGE = struct.Struct("!6s6sH"), struct.Struct("!IHBB16s16s"), struct.Struct("!BBHI16s")
_ETHERTYPE, _ICMPV6, _HOP_LIMIT = 0x86DD, 58, 255
_VERSION = 6 << 28
_SOLICITATION, _ADVERTISEMENT = 135, 136
#: The flags Solicited and Override.
_SOLICITED_OVERRIDE = 0x6000_0000
#: Option 2, one unit of eight bytes: the target's hardware address.
_TARGET_ADDRESS = b"\x02\x01"
_START = _ETHERNET.size + _IPV6.size


@dataclass(frozen=True, slots=True)
class Solicitation:
    """The sender of a request, and the IPv6 address that it wants to resolve; addresses are numbers."""

    sender_mac: int
    sender_ip: int
    target_ip: int


def parse_solicitation(frame: bytes) -> Solicitation | None:
    """The solicitation in a frame; None for anything else.

    That includes malformed or forged frames (RFC 4861, section 7.1.1) and hosts without an address.
    """
    if len(frame) < _START + _MESSAGE.size:
        return None
    _, mac, ethertype = _ETHERNET.unpack_from(frame)
    version, length, protocol, hops, source, destination = _IPV6.unpack_from(frame, _ETHERNET.size)
    message = frame[_START : _START + length]
    if (ethertype, version >> 28, protocol, hops) != (_ETHERTYPE, 6, _ICMPV6, _HOP_LIMIT):
        return None
    if len(message) != length or length < _MESSAGE.size or _checksum(source, destination, message):
        return None
    kind, code, _, _, target = _MESSAGE.unpack_from(message)
    if (kind, code) != (_SOLICITATION, 0) or not any(source) or target[0] == 0xFF:
        return None
    return Solicitation(
        int.from_bytes(mac, "big"), int.from_bytes(source, "big"), int.from_bytes(target, "big")
    )


def advertisement(mac: int, ip: int, to_mac: int, to_ip: int) -> bytes:
    """The advertisement for ``to_mac`` and ``to_ip``: ``ip`` is at ``mac``."""
    source, destination, hardware = ip.to_bytes(16, "big"), to_ip.to_bytes(16, "big"), mac.to_bytes(6, "big")

    def message(checksum: int) -> bytes:
        head = _MESSAGE.pack(_ADVERTISEMENT, 0, checksum, _SOLICITED_OVERRIDE, source)
        return head + _TARGET_ADDRESS + hardware

    body = message(_checksum(source, destination, message(0)))
    head = _IPV6.pack(_VERSION, len(body), _ICMPV6, _HOP_LIMIT, source, destination)
    return _ETHERNET.pack(to_mac.to_bytes(6, "big"), hardware, _ETHERTYPE) + head + body


def _checksum(source: bytes, destination: bytes, message: bytes) -> int:
    """The Internet checksum with IPv6's pseudo header; 0 for a message with a correct checksum."""
    data = source + destination + struct.pack("!II", len(message), _ICMPV6) + message
    data += bytes(len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
