"""AACM frames as scapy layers: for captures, tests and forged frames; agents never import this."""

from __future__ import annotations

import zlib

from scapy.fields import (
    ByteField,
    FieldLenField,
    FieldListField,
    FlagsField,
    IPField,
    MACField,
    PacketListField,
    ShortField,
    StrLenField,
    XIntField,
)
from scapy.layers.l2 import Ether
from scapy.packet import Packet, bind_layers

from hostagent.protocols.aacm.frames import ETHERTYPE, Flag

_CHECKSUM_SIZE = 4
_NOBODY = "00:00:00:00:00:00"


class AACM(Packet):
    """One frame; see :mod:`hostagent.protocols.aacm.frames`.  The checksum is computed unless it is given."""

    name = "AACM"
    fields_desc = [  # noqa: RUF012 (scapy requires a list)
        FlagsField("flags", 0, 8, [str(flag.name) for flag in sorted(Flag)]),
        ByteField("port", 1),
        ShortField("epoch", 0),
        ShortField("sequence", 0),
        MACField("server", _NOBODY),
        IPField("address", "0.0.0.0"),
        FieldLenField("dimensions", None, fmt="B", count_of="radices"),
        FieldListField("radices", [], ByteField("radix", 2), count_from=lambda frame: frame.dimensions),
        FieldLenField("length", None, fmt="H", length_of="content"),
        StrLenField("content", b"", length_from=lambda frame: frame.length),
        FieldLenField("tag_length", None, fmt="B", length_of="tag"),
        StrLenField("tag", b"", length_from=lambda frame: frame.tag_length),
        XIntField("checksum", None),
    ]

    def post_build(self, packet: bytes, payload: bytes) -> bytes:
        """Insert the checksum unless it is given."""
        if self.checksum is None:
            body = packet[:-_CHECKSUM_SIZE]
            packet = body + zlib.crc32(body).to_bytes(_CHECKSUM_SIZE, "big")
        return packet + payload


class AACMSighting(Packet):
    """What a server saw at one port."""

    name = "AACM sighting"
    fields_desc = [  # noqa: RUF012 (scapy requires a list)
        ByteField("port", 1),
        MACField("server", _NOBODY),
        ByteField("far_port", 1),
        IPField("address", "0.0.0.0"),
    ]

    def extract_padding(self, data: bytes) -> tuple[bytes, bytes]:
        """Another sighting follows."""
        return b"", data


class AACMReport(Packet):
    """The content of a Report: ``AACMReport(frame.content)``."""

    name = "AACM report"
    fields_desc = [  # noqa: RUF012 (scapy requires a list)
        MACField("server", _NOBODY),
        IPField("address", "0.0.0.0"),
        ByteField("secondary", 0),
        FieldLenField("count", None, fmt="B", count_of="sightings"),
        PacketListField("sightings", [], AACMSighting, count_from=lambda report: report.count),
    ]


bind_layers(Ether, AACM, type=ETHERTYPE)
