"""What user space and the kernel's programs read and write together: map keys and values as bytes.

A *decision* is a :class:`~hostagent.forwarding.decisions.ForwardingDecision` for all packets with
the same key.  It is valid while its epoch is its server's, so that one write invalidates all
decisions of a server.  A *server* is one entry of an array that agents map into memory.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping

from hostagent.forwarding.decisions import TO_HOST, ForwardingDecision, NextHop

#: Most next hops of a decision; decisions with more stay with the agent.
MAX_NEXT_HOPS = 8

#: Epoch, server, number of next hops; bounds between them as 32-bit fractions; next hops.
HEAD = struct.Struct(f"=III{MAX_NEXT_HOPS - 1}I")
#: Interface, and both Ethernet addresses; all zero where the packet is the host's.
NEXT_HOP = struct.Struct("=I12s")
DECISION_SIZE = HEAD.size + MAX_NEXT_HOPS * NEXT_HOP.size
EPOCH_AT, SERVER_AT, COUNT_AT, BOUNDS_AT, NEXT_HOPS_AT = 0, 4, 8, 12, HEAD.size

#: Epoch and load balancing; packets relayed, delivered, originated; the salt of flow hashes.
SERVER = struct.Struct("=IIQQQQ24x")
SERVER_EPOCH_AT, LOAD_BALANCE_AT, RELAYED_AT, DELIVERED_AT, ORIGINATED_AT, SALT_AT = 0, 4, 8, 16, 24, 32
BY_FLOW, BY_PACKET, BY_AGENT = 0, 1, 2

_FRACTION = 1 << 32


def frame_key(interface: int, label_and_tag: bytes, size: int) -> bytes:
    """The key of frames that arrive by an interface, ``size`` bytes."""
    return (struct.pack("=I", interface) + label_and_tag).ljust(size, b"\0")


def frame_key_size(by_address: bool, tagged: bool) -> int:
    """The size of such a key: the interface, then the label and the tag, in whole words."""
    return 4 + ((4 if by_address else 6) + 6 * tagged + 3) // 4 * 4


def packet_key(interface: int, target: bytes) -> bytes:
    """The key of packets that the host sends into its TUN device, by their IPv4 destination."""
    return struct.pack("=I", interface) + target


def decision(epoch: int, server: int, made: ForwardingDecision, interfaces: Mapping[int, int]) -> bytes | None:
    """A decision as a value; None for one that the kernel cannot carry out: a drop, an unknown port,
    too many next hops.  ``interfaces`` gives the interface index of each port and of the host."""
    hops = made.next_hops if made.only is None else (made.only,)
    if len(hops) > MAX_NEXT_HOPS or any(hop.port not in interfaces for hop in hops):
        return None
    bounds = [min(math.ceil(bound * _FRACTION), _FRACTION - 1) for bound in made.bounds]
    bounds += [_FRACTION - 1] * (MAX_NEXT_HOPS - 1 - len(bounds))
    value = HEAD.pack(epoch, server, len(hops), *bounds)
    return (value + b"".join(_next_hop(hop, interfaces) for hop in hops)).ljust(DECISION_SIZE, b"\0")


def _next_hop(hop: NextHop, interfaces: Mapping[int, int]) -> bytes:
    addresses = bytes(12) if hop.port == TO_HOST else hop.addresses
    return NEXT_HOP.pack(interfaces[hop.port], addresses)
