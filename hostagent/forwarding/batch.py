"""The headers of many frames at once, as arrays over their slots.

:meth:`Headers.relay` does to many frames what :meth:`hostagent.forwarding.agent.Agent.receive_frame` does to
one, in a fifth of the time per frame.  It handles plain IPv4 only; the caller checks that first.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostagent.forwarding import packet
from hostagent.forwarding.decisions import NextHop

#: From so many frames on, arrays are faster than one frame after the other.
MIN_BURST = 12

#: EtherType IPv4 and a header without options, where the fourth byte may be any.
_PLAIN = int.from_bytes(b"\x08\x00\x45\x00", sys.byteorder)
_COMPARED = int.from_bytes(b"\xff\xff\xff\x00", sys.byteorder)


class Headers:
    """Fields of Ethernet and IPv4 headers, one row per slot."""

    def __init__(self, memory: memoryview, slots: int, slot_size: int) -> None:
        def field(at: int, dtype: str, *shape: int) -> NDArray[Any]:
            kind = np.dtype(dtype)
            steps = (kind.itemsize,) * len(shape)
            return np.ndarray((slots, *shape), kind, memory, at, (slot_size, *steps))

        self._first = field(packet.FRAME_OFFSET, "u1")
        self._destination_mac = field(packet.FRAME_OFFSET, "u2", 3)
        self._source_mac = field(packet.FRAME_OFFSET + 6, "u2", 3)
        self._mac_addresses = field(packet.FRAME_OFFSET, "V12")
        self._kind = field(packet.IP_OFFSET - 2, "u4")
        self._ttl = field(packet.TTL_OFFSET, "u1")
        self._checksum = field(packet.TTL_OFFSET + 2, ">u2")
        self._destination_ip = field(packet.IP_OFFSET + 16, "u2", 2)

    def fast_path_eligible(self, count: int) -> bool:
        """Whether the first ``count`` frames are IPv4 without options, to a label, with a TTL above 1."""
        return bool(
            ((self._kind[:count] & _COMPARED) == _PLAIN).all()
            and ((self._first[:count] & 3) == 2).all()
            and self._ttl[:count].min() > 1
        )

    def keys(self, count: int, by_address: bool, tagged: bool) -> list[bytes]:
        """The keys of decisions on the first ``count`` frames, from label and tag (if there are tags): one
        each, or one for all if they are equal."""
        fields = [self._destination_ip if by_address else self._destination_mac, self._source_mac][: 1 + tagged]
        rows = [field[:count] for field in fields]
        if all((row == row[0]).all() for row in rows):
            return [b"".join(row[0].tobytes() for row in rows)]
        joined = np.hstack(rows)
        keys: list[bytes] = joined.view(f"V{joined.itemsize * joined.shape[1]}").ravel().tolist()
        return keys

    def relay(self, count: int, hops: Sequence[NextHop]) -> None:
        """Write the MAC addresses of the next hops, one for all or one each, into the first ``count`` frames,
        and decrement the TTL with its checksum."""
        self._mac_addresses[:count] = np.frombuffer(b"".join([hop.addresses for hop in hops]), "V12")
        self._ttl[:count] -= 1
        total = self._checksum[:count].astype(np.uint32)  # as packet.ttl_decremented_checksum does
        total += 0x0100
        total += total >= 0xFFFF
        self._checksum[:count] = total
