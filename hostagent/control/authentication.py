"""The end of every control frame: a tag that proves knowledge of a shared key, and a checksum.

    body | tag length 8 | tag | CRC-32 of all before

The tag is the beginning of HMAC-SHA256 (RFC 2104) over the frame's EtherType and the body, so that frames of
one protocol do not pass as another's; without a key it is empty.  The checksum detects damage, the tag forgery.
Each protocol's own sequence numbers detect replayed frames.
"""

from __future__ import annotations

import enum
import hmac
import struct
import zlib

TAG_SIZE = 16
#: Bytes of a key.
KEY_SIZE = 16
_ETHERTYPE = struct.Struct(">H")
_CHECKSUM = struct.Struct(">I")
#: The bytes that checksum and empty tag add to a body.
MIN_OVERHEAD = 1 + _CHECKSUM.size


class Rejection(enum.Enum):
    """Why bytes are rejected as a frame."""

    LENGTH = "wrong length"
    CHECKSUM = "wrong checksum"
    KEY = "not authentic"
    CONTENT = "illegal content"


def authenticate(body: bytes, ethertype: int, key: bytes | None = None) -> bytes:
    """The body with its tag, when there is a ``key``, and its checksum."""
    body += bytes([TAG_SIZE]) + _tag(body, ethertype, key) if key else b"\0"
    return body + _CHECKSUM.pack(zlib.crc32(body))


def verify(data: bytes, size: int, ethertype: int, key: bytes | None = None) -> Rejection | None:
    """Check tag and checksum of the body of ``size`` bytes that ``data`` begins with; None if they are correct.

    What follows the checksum is padding.  With a ``key`` its tag is required; without one tags are ignored.
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
