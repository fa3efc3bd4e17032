"""Wrong bits in packets, where the kernel has no netem.  Pure.

A packet in memory may have a checksum that is still to be computed, or may be a super-packet that is still to
be segmented (its virtio-net header says so).  The receiver would find no error then.  So, as netem does, the
checksum is computed first, and of the segments one gets a wrong bit.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from addressing.fields.checksum import checksum
from hostagent.forwarding.packet import ETHERNET_SIZE, VNET_SIZE

_OFFLOAD = struct.Struct("=BBHHHH")
_PLAIN = bytes(VNET_SIZE)
_NEEDS_CHECKSUM = 1
#: Kinds of super-packets: TCP over IPv4 and over IPv6; a third bit is for congestion that has been seen.
_TCP4, _TCP6, _ECN = 1, 4, 0x80
_TCP = 6
_FIN, _PSH, _CWR = 0x01, 0x08, 0x80


def corrupt(packet: bytes, chance: Callable[[], float]) -> list[bytes]:
    """The packets that leave instead of one: one bit is wrong; several packets for a super-packet.

    Packets are frames behind their virtio-net headers; ``chance`` gives numbers from 0 to 1.
    """
    flags, kind, _, size, start, offset = _OFFLOAD.unpack_from(packet)
    frame = packet[VNET_SIZE:]
    if kind & ~_ECN in (_TCP4, _TCP6) and size:
        frames = _segments(frame, size, start)
    elif flags & _NEEDS_CHECKSUM:
        frames = [_with_checksum(frame, start, offset)]
    else:
        frames = [frame]
    chosen = int(chance() * len(frames))
    frames[chosen] = _with_wrong_bit(frames[chosen], int(chance() * 8 * len(frames[chosen])))
    return [_PLAIN + one for one in frames]


def _with_wrong_bit(frame: bytes, number: int) -> bytes:
    changed = bytearray(frame)
    changed[number // 8] ^= 1 << number % 8
    return bytes(changed)


def _with_checksum(frame: bytes, start: int, offset: int) -> bytes:
    """The frame with the checksum over all from ``start``, where the field holds the pseudo-header's sum."""
    field = start + offset
    computed = checksum(frame[start:]) or 0xFFFF
    return frame[:field] + computed.to_bytes(2, "big") + frame[field + 2 :]


def _segments(frame: bytes, size: int, start: int) -> list[bytes]:
    """The segments, with ``size`` bytes at most, of a super-packet whose TCP header begins at ``start``."""
    end = start + (frame[start + 12] >> 4) * 4
    network, header, payload = frame[ETHERNET_SIZE:start], frame[start:end], frame[end:]
    first = int.from_bytes(header[4:8], "big")
    segments = []
    for number, at in enumerate(range(0, max(len(payload), 1), size)):
        piece = payload[at : at + size]
        flags = header[13] & ~(_CWR if at else 0)
        flags &= ~(_FIN | _PSH) if at + size < len(payload) else 0xFF
        sequence = (first + at & 0xFFFFFFFF).to_bytes(4, "big")
        tcp = header[:4] + sequence + header[8:13] + bytes((flags,)) + header[14:16] + bytes(2) + header[18:]
        network_header, pseudo = _network(network, len(tcp) + len(piece), number)
        ready = checksum(pseudo + tcp + piece).to_bytes(2, "big")
        segments.append(frame[:ETHERNET_SIZE] + network_header + tcp[:16] + ready + tcp[18:] + piece)
    return segments


def _network(header: bytes, length: int, number: int) -> tuple[bytes, bytes]:
    """The IPv4 or IPv6 header of the segment with this number and length, and its pseudo-header."""
    if header[0] >> 4 == 6:
        packed = header[:4] + (len(header) - 40 + length).to_bytes(2, "big") + header[6:]
        return packed, header[8:40] + struct.pack(">IxxxB", length, _TCP)
    identity = int.from_bytes(header[4:6], "big") + number & 0xFFFF
    fields = header[:2] + struct.pack(">HH", len(header) + length, identity)
    packed = fields + header[6:10] + bytes(2) + header[12:]
    ready = checksum(packed).to_bytes(2, "big")
    return packed[:10] + ready + packed[12:], header[12:20] + struct.pack(">xBH", _TCP, length)
