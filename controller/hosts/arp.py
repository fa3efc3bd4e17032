"""ARP, read from and written to whole Ethernet frames (RFC 826, IPv4 over Ethernet)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_FRAME = struct.Struct("!6s6sHHHBBH6sI6sI")
_ETHERTYPE, _ETHERNET, _IPV4 = 0x0806, 1, 0x0800
_REQUEST, _REPLY = 1, 2


@dataclass(frozen=True, slots=True)
class Request:
    """The sender of a request, and the IPv4 address that it wants to resolve; addresses are numbers."""

    sender_mac: int
    sender_ip: int
    target_ip: int


def parse_request(frame: bytes) -> Request | None:
    """The request in a frame; None for anything else, malformed frames included."""
    if len(frame) < _FRAME.size:
        return None
    _, _, ethertype, hardware, protocol, *sizes, operation, mac, ip, _, target = _FRAME.unpack_from(frame)
    if (ethertype, hardware, protocol, *sizes, operation) != (_ETHERTYPE, _ETHERNET, _IPV4, 6, 4, _REQUEST):
        return None
    return Request(int.from_bytes(mac, "big"), ip, target)


def reply(mac: int, ip: int, to_mac: int, to_ip: int) -> bytes:
    """The reply to ``to_mac`` and ``to_ip``: ``ip`` is at ``mac``."""
    return _reply(to_mac, mac, ip, to_mac, to_ip)


def announcement(mac: int, ip: int, to_mac: int) -> bytes:
    """A gratuitous reply: ``ip`` is at ``mac`` from now on.

    Its sender and target are equal.  Linux then updates its cache at once, even within the lock time.
    """
    return _reply(to_mac, mac, ip, mac, ip)


def _reply(destination: int, mac: int, ip: int, target_mac: int, target_ip: int) -> bytes:
    to, sender, target = (number.to_bytes(6, "big") for number in (destination, mac, target_mac))
    return _FRAME.pack(to, sender, _ETHERTYPE, _ETHERNET, _IPV4, 6, 4, _REPLY, sender, ip, target, target_ip)
