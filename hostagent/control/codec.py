"""Control frames of fixed fields and a list of numbers, e.g. of ports or servers.

A frame follows the Ethernet header; numbers are big-endian:

    fields | count 8 | item, count times | tag length 8 | tag | CRC-32

The tag and the checksum are those of :mod:`hostagent.control.authentication`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from hostagent.control.authentication import Rejection, authenticate, verify

#: Fields and items of a frame.
Decoded = tuple[tuple[int, ...], tuple[int, ...]]

_NO_ITEMS = struct.Struct(">B")


@dataclass(frozen=True)
class FrameCodec:
    """Encodes and decodes the frames of one EtherType."""

    ethertype: int
    fields: struct.Struct
    item: struct.Struct = _NO_ITEMS

    def encode(self, fields: Iterable[int], items: Iterable[int] = (), key: bytes | None = None) -> bytes:
        """The frame without its Ethernet header, with a tag when there is a ``key``."""
        packed = [self.item.pack(item) for item in items]
        body = self.fields.pack(*fields) + bytes([len(packed)]) + b"".join(packed)
        return authenticate(body, self.ethertype, key)

    def decode(self, data: bytes, key: bytes | None = None) -> Decoded | Rejection:
        """Fields and items of the frame that ``data`` begins with, or why it is rejected.

        What follows the frame is padding.  Nothing is ever raised.
        """
        start = self.fields.size + 1
        if len(data) < start:
            return Rejection.LENGTH
        end = start + data[start - 1] * self.item.size
        rejection = verify(data, end, self.ethertype, key)
        if rejection is not None:
            return rejection
        items = tuple(item for (item,) in self.item.iter_unpack(data[start:end]))
        return self.fields.unpack_from(data), items
