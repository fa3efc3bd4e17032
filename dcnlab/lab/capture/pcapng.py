"""Packets of several interfaces as one pcapng file: each interface has its own link type and name.

The layout is that of draft-ietf-opsawg-pcapng: a section header, a description of each interface, then packets.
"""

from __future__ import annotations

import struct

_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_MAGIC, _MAJOR, _MINOR, _UNKNOWN_LENGTH = 0x1A2B3C4D, 1, 0, -1
_NAME = 2
_PCAP_HEADER, _PCAP_RECORD = struct.Struct("=IHHiIII"), struct.Struct("=IIII")


def section() -> bytes:
    """The beginning of a file."""
    return _block(_SECTION, struct.pack("=IHHq", _MAGIC, _MAJOR, _MINOR, _UNKNOWN_LENGTH))


def interface(name: str, pcap_header: bytes) -> bytes:
    """The description of an interface, from the header of its capture as pcap; they are numbered from 0."""
    *_, snaplen, link_type = _PCAP_HEADER.unpack(pcap_header)
    option = struct.pack("=HH", _NAME, len(name)) + _padded(name.encode())
    end = struct.pack("=HH", 0, 0)
    return _block(_INTERFACE, struct.pack("=HHI", link_type & 0xFFFF, 0, snaplen) + option + end)


def packet(number: int, pcap_record: bytes) -> bytes:
    """A packet of the interface with that number, from a record of pcap with microseconds."""
    seconds, microseconds, captured, length = _PCAP_RECORD.unpack_from(pcap_record)
    time = seconds * 1_000_000 + microseconds
    head = struct.pack("=IIIII", number, time >> 32, time & 0xFFFFFFFF, captured, length)
    return _block(_PACKET, head + _padded(pcap_record[_PCAP_RECORD.size :]))


def _block(kind: int, body: bytes) -> bytes:
    size = struct.pack("=I", len(body) + 12)
    return struct.pack("=I", kind) + size + body + size


def _padded(data: bytes) -> bytes:
    """Fill data up to a multiple of 32 bits."""
    return data + bytes(-len(data) % 4)
