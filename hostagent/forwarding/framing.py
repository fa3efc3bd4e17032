"""A scheme's labels and tags as the bytes of frames that servers relay.

A label is the Ethernet destination or, where the scheme says so, the IPv4 destination; a tag is
the Ethernet source (see :mod:`addressing.fields.mac`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from addressing.fields import mac
from addressing.header import Field, Header
from addressing.scheme import Scheme

#: The Ethernet destination of frames whose label is an IPv4 address: a unicast address that nobody has.
UNASSIGNED_MAC = b"\x02" + b"\xff" * 5


@dataclass(frozen=True)
class Framing:
    """Reads and writes the labels and tags of ``scheme`` in frames."""

    scheme: Scheme

    @cached_property
    def by_address(self) -> bool:
        """Whether the label is the IPv4 destination."""
        return self.scheme.label_field is Field.IPV4_DST

    @cached_property
    def tagged(self) -> bool:
        """Whether there is a tag."""
        return self.scheme.tag_bits > 0

    def label(self, address: bytes) -> int:
        """The label in a destination address: 4 bytes of IPv4 or 6 of Ethernet."""
        number = int.from_bytes(address, "big")
        return number if self.by_address else mac.decode(number, self.scheme.label_bits)

    def header(self, key: bytes, port: int) -> Header:
        """The header of a frame from the interface of ``port``.

        ``key`` is the destination address that carries the label and, if there are tags, the Ethernet source.
        """
        tag = mac.decode(int.from_bytes(key[-6:], "big"), self.scheme.tag_bits) if self.tagged else 0
        return Header(self.label(key[: 4 if self.by_address else 6]), tag, port)

    def destination(self, label: int) -> bytes:
        """The Ethernet destination of frames to a label."""
        if self.by_address:
            return UNASSIGNED_MAC
        return mac.encode(label, self.scheme.label_bits).to_bytes(6, "big")

    def addresses(self, header: Header, hardware: int) -> bytes:
        """Both Ethernet addresses of frames with a header; without tags the source is ``hardware``, the
        interface's own address."""
        source = mac.encode(header.tag, self.scheme.tag_bits) if self.tagged else hardware
        return self.destination(header.label) + source.to_bytes(6, "big")
