"""How control frames end: a tag that proves knowledge of a shared key, and a checksum.

    body | tag length 8 | tag | CRC-32 of all before

The tag is the beginning of HMAC-SHA256 (RFC 2104) over the frame's EtherType and the body, so that
no protocol's frames pass as another's; without a key it is empty.  The checksum finds damage, the
tag forgery.  That a frame is not an old one sent again is for the protocols' numbers to say.
"""

from __future__ import annotations

import enum
import hmac
import struct
import zlib

TAG_SIZE = 16
_ETHERTYPE = struct.Struct(">H")
_CHECKSUM = struct.Struct(">I")
#: What the shortest seal adds to a body.
MIN_OVERHEAD = 1 + _CHECKSUM.size


class Rejection(enum.Enum):
    """Why bytes are no frame."""

    LENGTH = "wrong length"
    CHECKSUM = "wrong checksum"
    KEY = "not authentic"
    CONTENT = "illegal content"


def authenticate(body: bytes, ethertype: int, key: bytes | None = None) -> bytes:
    """The body with its tag, when there is a ``key``, and its checksum."""
    body += bytes([TAG_SIZE]) + _tag(body, ethertype, key) if key else b"\0"
    return body + _CHECKSUM.pack(zlib.crc32(body))


def verify(data: bytes, size: int, ethertype: int, key: bytes | None = None) -> Rejection | None:
    """What is wrong with the seal of the body of ``size`` bytes that ``data`` begins with; None when
    nothing is.  What follows the seal is padding.

    With a ``key`` bodies need its tag; without one a tag is not looked at.
    """
    if len(data) < size + MIN_OVERHEAD:
        return Rejection.LENGTH
    end = size + 1 + data[size]
    if len(data) < end + _CHECKSUM.size:
        return Rejection.LENGTH
    if _CHECKSUM.unpack_from(data, end)[0] != zlib.crc32(data[:end]):
        return Rejection.CHECKSUM
    if key and not hmac.compare_digest(data[size + 1 : end], _tag(data[:size], ethertype, key)):
        return Rejection.KEY
    return None


def _tag(body: bytes, ethertype: int, key: bytes) -> bytes:
    return hmac.digest(key, _ETHERTYPE.pack(ethertype) + body, "sha256")[:TAG_SIZE]
