"""Complete the checksums of packets that a switch sends to a controller; pure.

A host leaves the checksum of TCP and UDP to its interface: the field holds the sum of the pseudo-header only.
Between interfaces a mark beside the packet says so.  A packet-in message has no such mark, so the packet would
reach its receiver with a wrong checksum once the controller sends it out again.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from addressing.fields.checksum import checksum

_PACKET_IN = 10
#: Per OpenFlow version where the fixed fields of a packet-in end, and whether a match follows them.
_FIXED = {1: (18, False), 4: (24, True), 5: (24, True), 6: (24, True)}
_VLAN = frozenset({0x8100, 0x88A8})
_IPV4, _IPV6 = 0x0800, 0x86DD
#: Where TCP and UDP have their checksums, and the size of their headers.
_FIELDS = {6: (16, 20), 17: (6, 8)}
_UDP, _VXLAN_PORT, _VXLAN_HEADERS = 17, 4789, 16
_FRAGMENT = 0x3FFF


def complete_message(message: bytes) -> bytes:
    """An OpenFlow message of a switch; if it is a packet-in, with the checksums of its packet complete."""
    if len(message) < 8 or message[1] != _PACKET_IN or message[0] not in _FIXED:
        return message
    begin, matches = _FIXED[message[0]]
    if matches and len(message) >= begin + 4:
        length = int.from_bytes(message[begin + 2 : begin + 4], "big")
        begin += (length + 7) // 8 * 8 + 2
    if int.from_bytes(message[12:14], "big") != len(message) - begin:  # not the whole packet
        return message
    frame = bytearray(message[begin:])
    return message[:begin] + bytes(frame) if complete(frame) else message


def complete(frame: bytearray, begin: int = 0) -> bool:
    """Complete the checksum of the Ethernet frame from ``begin`` on; True if it was not complete."""
    at = begin + 12
    while int.from_bytes(frame[at : at + 2], "big") in _VLAN:
        at += 4
    kind, at = int.from_bytes(frame[at : at + 2], "big"), at + 2
    if kind == _IPV4 and len(frame) >= at + 20:
        size = int.from_bytes(frame[at + 2 : at + 4], "big")
        if int.from_bytes(frame[at + 6 : at + 8], "big") & _FRAGMENT:
            return False
        return _complete(
            frame, at, at + (frame[at] & 15) * 4, at + size, frame[at + 9], slice(at + 12, at + 20)
        )
    if kind == _IPV6 and len(frame) >= at + 40:
        size = int.from_bytes(frame[at + 4 : at + 6], "big")
        return _complete(frame, at, at + 40, at + 40 + size, frame[at + 6], slice(at + 8, at + 40))
    return False


def _complete(frame: bytearray, ip: int, begin: int, end: int, protocol: int, addresses: slice) -> bool:
    """Complete a segment or datagram between ``begin`` and ``end``, or the packet inside its VXLAN tunnel."""
    if protocol not in _FIELDS or end > len(frame) or begin + _FIELDS[protocol][1] > end or begin <= ip:
        return False
    field = begin + _FIELDS[protocol][0]
    held = int.from_bytes(frame[field : field + 2], "big")
    if protocol == _UDP and int.from_bytes(frame[begin + 2 : begin + 4], "big") == _VXLAN_PORT and not held:
        return complete(frame, begin + _VXLAN_HEADERS)
    pseudo = bytes(frame[addresses]) + struct.pack(">II", end - begin, protocol)
    if held != checksum(pseudo) ^ 0xFFFF:
        return False
    frame[field : field + 2] = bytes(2)
    value = checksum(pseudo + bytes(frame[begin:end]))
    frame[field : field + 2] = (value or 0xFFFF).to_bytes(2, "big")
    return True


class Messages:
    """Bytes of one direction of a switch's connection, passed on message by message, as ``change`` makes them.

    A connection that does not begin with an OpenFlow version, such as one by TLS, passes as it is.
    """

    def __init__(self, change: Callable[[bytes], bytes] = complete_message) -> None:
        self._change, self._waiting = change, bytearray()
        self._openflow: bool | None = None

    def passed_on(self, data: bytes) -> bytes:
        """What can be passed on after ``data`` has arrived."""
        if self._openflow is None and data:
            self._openflow = 1 <= data[0] <= 6
        if not self._openflow:
            return data
        self._waiting += data
        parts = []
        at = 0
        while len(self._waiting) - at >= 8:
            length = int.from_bytes(self._waiting[at + 2 : at + 4], "big")
            if length < 8:
                length = len(self._waiting) - at
            if len(self._waiting) - at < length:
                break
            parts.append(self._change(bytes(self._waiting[at : at + length])))
            at += length
        del self._waiting[:at]
        return b"".join(parts)
