"""The Internet checksum, which IPv4, TCP, UDP and ICMP carry."""

from __future__ import annotations

import struct


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071); 0 over data that contains its own correct checksum."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF
