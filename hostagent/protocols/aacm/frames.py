"""The frames of AACM (CLOT, section 6).

A frame follows the Ethernet header with EtherType 0xA800; numbers are big-endian:

    flags 8 | port 8 | epoch 16 | sequence 16 | server 48 | address 32
    dimensions 8 | radix 8 of each | data length 16 | data | tag length 8 | tag | CRC-32

The paper has flags, address, node-number list, data and checksum.  These are added: the port by which the
sender sends (without it some swapped cables remain undetected), the configuration (epoch; its lowest bit is
Alt), a sequence number that acknowledgements repeat, the sender's hardware address, and a tag that proves
knowledge of a shared key (:mod:`hostagent.control.authentication`).

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
    """The kind of a frame.  An ACK has the flags of the frame that it answers as well."""

    CONFIG = 0x80
    #: The lowest bit of the epoch.
    ALT = 0x40
    ACK = 0x20
    #: In an ACK of a Config: refused, it disagrees.  In a Report: addresses or ports disagree.
    ADDR_ERR = 0x10
    #: In an ACK of a Config: still waiting for others.  In a Report: a link does not answer.
    DEAD_LINK = 0x08
    SUCCESS = 0x04
    REPORT = 0x02
    #: Part of the survey after an error: the question, its ACK, or the Report of what was seen.
    COMBINE = 0x01


#: The legal kinds of frames, without Alt.
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
#: By the flags of a frame: its kind, and whether Alt is set.
_KIND_AND_ALT = {int(kind | alt): (kind, bool(alt)) for kind in KINDS for alt in (Flag(0), Flag.ALT)}


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame.

    In a Config ``address`` is the receiver's new address, otherwise the sender's own; None while it has none.
    """

    kind: Flag
    port: int
    epoch: int
    sequence: int
    server: int
    address: Coordinates | None
    sizes: Coordinates
    data: bytes = b""


class Rejection(enum.Enum):
    """Why bytes are rejected as a frame."""

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
    body = HEADER.pack(
        int(frame.kind) | (int(Flag.ALT) if frame.epoch & 1 else 0),
        frame.port,
        frame.epoch,
        frame.sequence,
        frame.server.to_bytes(6, "big"),
        _packed(frame.address),
        len(frame.sizes),
    )
    body += bytes(size & 0xFF for size in frame.sizes) + _LENGTH.pack(len(frame.data)) + frame.data
    return authentication.authenticate(body, ETHERTYPE, key)


def decode(data: bytes, key: bytes | None = None) -> Frame | Rejection:
    """The frame that ``data`` begins with (Ethernet pads short frames), or why it is rejected.

    With a ``key`` its tag is required; without one tags are ignored.
    """
    layout = _layout(data)
    if layout is None:
        return Rejection.LENGTH
    data_at, end = layout
    verify = authentication.verify(data, end, ETHERTYPE, key)
    return _checked(data, data_at, data[data_at:end]) if verify is None else Rejection(verify.value)


def _layout(data: bytes) -> tuple[int, int] | None:
    """Where the data of a frame begins and ends; None when ``data`` ends too early."""
    if len(data) < _MIN_SIZE:
        return None
    length_at = HEADER.size + data[HEADER.size - 1]
    data_at = length_at + _LENGTH.size
    if len(data) < data_at:
        return None
    length = int.from_bytes(data[length_at:data_at], "big")
    return None if length > MAX_DATA else (data_at, data_at + length)


def _checked(data: bytes, data_at: int, content: bytes) -> Frame | Rejection:
    """The fields of a verified frame, unless one is illegal."""
    flags, port, epoch, sequence, server, packed, dimensions = HEADER.unpack_from(data)
    kind, alt = _KIND_AND_ALT.get(flags, (Flag(0), False))
    if not kind or alt != bool(epoch & 1):
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
    return Frame(kind, port, epoch, sequence, int.from_bytes(server, "big"), address, sizes, content)


def inside(place: Coordinates, sizes: Coordinates) -> bool:
    """Whether coordinates lie in a torus of those radices."""
    return len(place) == len(sizes) and all(value < size for value, size in zip(place, sizes, strict=True))


def _packed(address: Coordinates | None) -> int:
    return 0 if address is None else ipv4.from_coordinates(address)


def _unpacked(address: int) -> Coordinates | None:
    return ipv4.to_coordinates(address) if address else None


# --- reports ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a server saw at one of its ports: the server there, its port, and its address.

    Server 0 is nobody: no answer; then the address is the one that belongs there.
    """

    port: int
    server: int
    far_port: int
    address: Coordinates | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """The data of a Report.  ``secondary``: the server only waited; the cause may be elsewhere."""

    server: int
    address: Coordinates | None
    secondary: bool
    sightings: tuple[Sighting, ...]

    def encode(self) -> bytes:
        """Encode it as the data of a frame."""
        server, count = self.server.to_bytes(6, "big"), len(self.sightings)
        return _REPORT.pack(server, _packed(self.address), self.secondary, count) + b"".join(
            _SIGHTING.pack(s.port, s.server.to_bytes(6, "big"), s.far_port, _packed(s.address))
            for s in self.sightings
        )

    @classmethod
    def decode(cls, data: bytes) -> Report | None:
        """Decode the data of a frame; None if it is not a report."""
        if len(data) < _REPORT.size:
            return None
        server, address, secondary, count = _REPORT.unpack_from(data)
        if len(data) != _REPORT.size + count * _SIGHTING.size:
            return None
        try:
            sightings = tuple(
                Sighting(port, int.from_bytes(far, "big"), far_port, _unpacked(packed))
                for port, far, far_port, packed in _SIGHTING.iter_unpack(data[_REPORT.size :])
            )
            return cls(int.from_bytes(server, "big"), _unpacked(address), secondary, sightings)
        except ipv4.AddressError:
            return None
