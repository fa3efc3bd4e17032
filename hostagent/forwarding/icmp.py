"""The ICMP errors that relays send, of IPv4 (RFC 792, RFC 1191) and of IPv6 (RFC 4443)."""

from __future__ import annotations

import struct

from addressing.fields import ipv6
from addressing.fields.checksum import checksum

#: Errors by type and code of ICMP.
HOST_UNREACHABLE, TOO_BIG, TIME_EXCEEDED = (3, 1), (3, 4), (11, 0)
#: The same of ICMPv6.
_OF_IPV6 = {HOST_UNREACHABLE: (1, 0), TOO_BIG: (2, 0), TIME_EXCEEDED: (3, 0)}

PROTOCOL, PROTOCOL6, DEFAULT_TTL = 1, 58, 64
_ERRORS = frozenset({3, 4, 5, 11, 12})
_FIRST_INFORMATIONAL, _REDIRECT = 128, 137
#: An error quotes so much of the packet that it has at most 576 bytes (RFC 1812, 4.3.2.3), or 1280.
_QUOTED, _QUOTED6 = 576 - 28, 1280 - 48
_CONTROL_PRECEDENCE = 0xC0
_DONT_FRAGMENT, _OFFSET = 0x4000, 0x1FFF
_HEADER = struct.Struct(">BBHHHBBH4s4s")
_HEADER6 = struct.Struct(">IHBB16s16s")
_VERSION6, _SIZE6 = 6 << 28, 40
_ICMP = struct.Struct(">BBHI")
#: Extension headers: hop-by-hop options, routing, destination options; and a fragment's.
_EXTENSIONS, _FRAGMENT = frozenset({0, 43, 60}), 44


def error(code: tuple[int, int], own: bytes, packet: bytes, mtu: int = 0) -> bytes | None:
    """The error of (type, code) about a packet from the server with the IPv4 address ``own``; with TOO_BIG the
    ``mtu`` that it does not fit into.

    None where RFC 1122 (3.2.2) and RFC 4443 (2.4) forbid an answer: to ICMP errors, to fragments other than the
    first, and to or about addresses that are not those of a single host.
    """
    if packet[0] >> 4 == 6:
        sender = ipv6.embed(int.from_bytes(own, "big")).to_bytes(16, "big")
        return _error6(_OF_IPV6[code], sender, packet, mtu, code == TOO_BIG)
    protocol, source, target = packet[9], packet[12:16], packet[16:20]
    header_size = (packet[0] & 0x0F) * 4
    if len(packet) < header_size or (packet[6] << 8 | packet[7]) & _OFFSET:
        return None
    if protocol == PROTOCOL and (packet[header_size : header_size + 1] or b"\3")[0] in _ERRORS:
        return None
    if source == bytes(4) or _is_multicast(source) or _is_multicast(target):
        return None
    quoted = packet[:_QUOTED]
    body = _ICMP.pack(*code, 0, mtu) + quoted
    body = _ICMP.pack(*code, checksum(body), mtu) + quoted
    size = _HEADER.size + len(body)
    fields = (0x45, _CONTROL_PRECEDENCE, size, 0, _DONT_FRAGMENT, DEFAULT_TTL, PROTOCOL)
    header = checksum(_HEADER.pack(*fields, 0, own, source))
    return _HEADER.pack(*fields, header, own, source) + body


def _error6(code: tuple[int, int], own: bytes, packet: bytes, mtu: int, too_big: bool) -> bytes | None:
    source, target = packet[8:24], packet[24:40]
    if source == bytes(16) or source[0] == 0xFF or (target[0] == 0xFF and not too_big):
        return None
    if not _answerable(packet):
        return None
    quoted = packet[:_QUOTED6]
    size = _ICMP.size + len(quoted)
    pseudo = own + source + size.to_bytes(4, "big") + PROTOCOL6.to_bytes(4, "big")
    total = checksum(pseudo + _ICMP.pack(*code, 0, mtu) + quoted)
    header = _HEADER6.pack(_VERSION6, size, PROTOCOL6, DEFAULT_TTL, own, source)
    return header + _ICMP.pack(*code, total, mtu) + quoted


def _answerable(packet: bytes) -> bool:
    """Whether an IPv6 packet is none of ICMPv6 that reports an error, and no fragment but the first."""
    kind, at = packet[6], _SIZE6
    while kind in _EXTENSIONS or kind == _FRAGMENT:
        header = packet[at : at + 8]
        if len(header) < 8 or (kind == _FRAGMENT and int.from_bytes(header[2:4], "big") >> 3):
            return False
        kind, at = header[0], at + (8 if kind == _FRAGMENT else 8 * (header[1] + 1))
    said = packet[at : at + 1]
    return kind != PROTOCOL6 or (bool(said) and said[0] >= _FIRST_INFORMATIONAL and said[0] != _REDIRECT)


def _is_multicast(address: bytes) -> bool:
    """True for multicast and the limited broadcast."""
    return 224 <= address[0] < 240 or address == b"\xff\xff\xff\xff"
