"""AACM's frames: how servers of a torus tell each other where they are (CLOT, section AACM).

A frame follows the Ethernet header with EtherType 0xA800; numbers are big-endian:

    flags 8 | port 8 | epoch 16 | sequence 16 | station 48 | address 32
    dimensions 8 | radix 8 of each | data length 16 | data | tag length 8 | tag | CRC-32

The paper has flags, address, node-number list, data and checksum.  Added are the port by
which the sender sends (without it some swapped cables pass unnoticed), the configuration
that the frame belongs to (its lowest bit is Alt), a number that acknowledgements repeat,
the sender's hardware address, and a tag that proves knowledge of a shared key
(:mod:`hostagent.control.authentication`).

Any bytes decode to a frame or to a :class:`Rejection`; nothing is ever raised.
"""

from __future__ import annotations

import enum
import struct
from dataclasses import dataclass

from addressing.fields import ipv4
from hostagent.control import authentication
from hostagent.protocols.aacm.ports import Coordinates

ETHERTYPE = 0xA800
MAX_DATA = 1024

HEADER = struct.Struct(">BBHH6sIB")
_LENGTH = struct.Struct(">H")
_MIN_SIZE = HEADER.size + _LENGTH.size + authentication.MIN_OVERHEAD
_REPORT = struct.Struct(">6sI?B")
_SIGHTING = struct.Struct(">B6sBI")


class Flag(enum.IntFlag):
    """What a frame is.  ACK comes with the flags of the frame that it answers."""

    CONFIG = 0x80
    #: The lowest bit of the epoch.
    ALT = 0x40
    ACK = 0x20
    #: Of an ACK to a Config: refused, it disagrees.  Of a Report: addresses or ports disagree.
    ADDR_ERR = 0x10
    #: Of an ACK to a Config: others are still awaited.  Of a Report: a link is silent.
    DEAD_LINK = 0x08
    SUCCESS = 0x04
    REPORT = 0x02
    #: Part of the survey that follows an error: a question, its ACK, or a Report of what was seen.
    COMBINE = 0x01


#: What a frame can be, apart from Alt.
KINDS = frozenset(
    {
        Flag.CONFIG,
        Flag.CONFIG | Flag.ACK,
        Flag.CONFIG | Flag.ACK | Flag.ADDR_ERR,
        Flag.CONFIG | Flag.ACK | Flag.DEAD_LINK,
        Flag.COMBINE,
        Flag.COMBINE | Flag.ACK,
        Flag.SUCCESS,
        Flag.SUCCESS | Flag.ACK,
        Flag.REPORT | Flag.ADDR_ERR,
        Flag.REPORT | Flag.DEAD_LINK,
        Flag.REPORT | Flag.COMBINE,
        Flag.REPORT | Flag.ADDR_ERR | Flag.ACK,
        Flag.REPORT | Flag.DEAD_LINK | Flag.ACK,
        Flag.REPORT | Flag.COMBINE | Flag.ACK,
    }
)


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame.  ``address`` is what the receiver of a Config is to take, otherwise the sender's own;
    None when the sender has none yet."""

    kind: Flag
    port: int
    epoch: int
    sequence: int
    station: int
    address: Coordinates | None
    sizes: Coordinates
    data: bytes = b""


class Rejection(enum.Enum):
    """Why bytes are no frame."""

    LENGTH = authentication.Rejection.LENGTH.value
    CHECKSUM = authentication.Rejection.CHECKSUM.value
    KEY = authentication.Rejection.KEY.value
    FLAGS = "illegal flags"
    SIZES = "illegal radices"
    PORT = "illegal port"
    ADDRESS = "illegal address"


def encode(frame: Frame, key: bytes | None = None) -> bytes:
    """The frame as bytes, with a tag when there is a ``key``.

    Raises AddressError when no host can use the address.
    """
    flags = frame.kind | (Flag.ALT if frame.epoch & 1 else Flag(0))
    body = HEADER.pack(
        flags,
        frame.port,
        frame.epoch,
        frame.sequence,
        frame.station.to_bytes(6, "big"),
        _packed(frame.address),
        len(frame.sizes),
    )
    body += bytes(size & 0xFF for size in frame.sizes) + _LENGTH.pack(len(frame.data)) + frame.data
    return authentication.authenticate(body, ETHERTYPE, key)


def decode(data: bytes, key: bytes | None = None) -> Frame | Rejection:
    """The frame that ``data`` begins with (short frames are padded on a wire), or why there is none.

    With a ``key`` frames need its tag; without one a tag is not looked at.
    """
    layout = _layout(data)
    if layout is None:
        return Rejection.LENGTH
    data_at, end = layout
    verify = authentication.verify(data, end, ETHERTYPE, key)
    return _checked(data, data_at, data[data_at:end]) if verify is None else Rejection(verify.value)


def _layout(data: bytes) -> tuple[int, int] | None:
    """Where data and the seal begin; None when ``data`` ends too early."""
    if len(data) < _MIN_SIZE:
        return None
    length_at = HEADER.size + data[HEADER.size - 1]
    data_at = length_at + _LENGTH.size
    if len(data) < data_at:
        return None
    length = int.from_bytes(data[length_at:data_at], "big")
    return None if length > MAX_DATA else (data_at, data_at + length)


def _checked(data: bytes, data_at: int, content: bytes) -> Frame | Rejection:
    """The fields of bytes that are whole, unless one is illegal."""
    flags, port, epoch, sequence, station, packed, dimensions = HEADER.unpack_from(data)
    kind = Flag(flags) & ~Flag.ALT
    if kind not in KINDS or bool(flags & Flag.ALT) != bool(epoch & 1):
        return Rejection.FLAGS
    sizes = tuple(data[HEADER.size : data_at - _LENGTH.size])
    if not ipv4.usable_radices(sizes):
        return Rejection.SIZES
    if not 1 <= port <= 2 * dimensions:
        return Rejection.PORT
    try:
        address = _unpacked(packed)
    except ipv4.AddressError:
        return Rejection.ADDRESS
    if address is None:
        if kind == Flag.CONFIG:
            return Rejection.ADDRESS
    elif not inside(address, sizes):
        return Rejection.ADDRESS
    return Frame(kind, port, epoch, sequence, int.from_bytes(station, "big"), address, sizes, content)


def inside(place: Coordinates, sizes: Coordinates) -> bool:
    """Whether coordinates lie in a torus of those radices."""
    return len(place) == len(sizes) and all(value < size for value, size in zip(place, sizes, strict=True))


def _packed(address: Coordinates | None) -> int:
    return 0 if address is None else ipv4.from_coordinates(address)


def _unpacked(address: int) -> Coordinates | None:
    return ipv4.to_coordinates(address) if address else None


# --- what reports say -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a station saw at one of its ports: who is there, by which port it sends, and the address
    that it gave or that belongs there.  Station 0 is nobody: silence."""

    port: int
    station: int
    far_port: int
    address: Coordinates | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """The data of a Report.  ``secondary``: others may be the cause, it only waited in vain."""

    station: int
    address: Coordinates | None
    secondary: bool
    sightings: tuple[Sighting, ...]

    def encode(self) -> bytes:
        """As the data of a frame."""
        station, count = self.station.to_bytes(6, "big"), len(self.sightings)
        return _REPORT.pack(station, _packed(self.address), self.secondary, count) + b"".join(
            _SIGHTING.pack(s.port, s.station.to_bytes(6, "big"), s.far_port, _packed(s.address))
            for s in self.sightings
        )

    @classmethod
    def decode(cls, data: bytes) -> Report | None:
        """From the data of a frame; None when that is no report."""
        if len(data) < _REPORT.size:
            return None
        station, address, secondary, count = _REPORT.unpack_from(data)
        if len(data) != _REPORT.size + count * _SIGHTING.size:
            return None
        try:
            sightings = tuple(
                Sighting(port, int.from_bytes(far, "big"), far_port, _unpacked(packed))
                for port, far, far_port, packed in _SIGHTING.iter_unpack(data[_REPORT.size :])
            )
            return cls(int.from_bytes(station, "big"), _unpacked(address), secondary, sightings)
        except ipv4.AddressError:
            return None
