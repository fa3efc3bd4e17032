"""The kernel's two programs: they carry out what an agent has decided, on the next packets of its kind.

:func:`nic_program` sees what arrives at interfaces, :func:`host_program` what hosts send into their
TUN devices.  Both look up what :class:`hostagent.forwarding.agent.Agent` looks up, the label and
tag of a frame or the destination of a packet.  Whatever is unusual goes on to the agent as if
there were no program: no decision or one of an earlier epoch, a TTL that ends, IPv4 options, several
next hops for IPv6, too few bytes.  One pair of programs and maps serves all servers of a lab: interface
indices are different throughout a lab, and are part of every key.

Registers: R6 the packet's context, R7 its bytes, R8 their end, R9 the decision, later its next hop.
"""

from __future__ import annotations

from dataclasses import dataclass

from addressing.fields import ipv6
from hostagent.fastpath import layout
from hostagent.linux.bpf_assembler import Assembler, Register, Size

R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, FP = Register
WORD, HALF, BYTE, DOUBLE = Size.WORD, Size.HALF, Size.BYTE, Size.DOUBLE

#: Helpers of the kernel, by their numbers in linux/bpf.h.
_RANDOM, _REDIRECT, _CHANGE_HEAD = 7, 23, 43
#: Verdicts of a classifier: on to the next, and dropped; redirected into the stack instead of out.
NOT_HANDLED, _DROP, REDIRECTED, _TO_STACK = -1, 2, 7, 1
#: Fields of the context (struct __sk_buff).
_INTERFACE, _DATA, _DATA_END = 40, 76, 80

_ETHERNET_SIZE, _IPV4_SIZE, _IPV6_SIZE = 14, 20, 40
_ETHERTYPE_AT, _IPV4, _IPV6 = 12, int.from_bytes(b"\x08\x00", "little"), int.from_bytes(b"\x86\xdd", "little")
_NO_OPTIONS = 0x45
#: What the IPv6 addresses of all servers begin with.
_PREFIX = ipv6.NETWORK.network_address.packed[:12]
#: Offsets in the IPv4 header.
_FRAGMENT_AT, _TTL_AT, _PROTOCOL_AT, _CHECKSUM_AT, _SOURCE_AT, _TARGET_AT = 6, 8, 9, 10, 12, 16
#: The same of IPv6; the IPv4 address in a server's follows the prefix of all.
_HOP_LIMIT_AT, _TARGET6_AT, _INNER_AT = 7, 24, 36
_OFFSET_OR_MORE = int.from_bytes(b"\x3f\xff", "little")
_PROTOCOLS_WITH_PORTS = (6, 17, 33, 132, 136)
#: The upper three bits of an address's second byte number a further address of its server.
_ALIAS_SHIFT = 5
#: The multiplier of :func:`hostagent.forwarding.packet.flow_hash`.
_MULTIPLIER = 0xD6E8FEB86659FD93
_MASK = 0xFFFFFFFF

#: The stack: the key of a lookup, the address of the server's entry, its number as a key.
_KEY_AT, _SERVER_SLOT, _SERVER_KEY = -32, -40, -44


@dataclass(frozen=True)
class Maps:
    """Descriptors of what the programs look up."""

    frames: int
    packets: int
    servers: int
    #: The 256 words of CRC-32 by bytes, in one array value.
    crc: int


@dataclass(frozen=True)
class Shape:
    """What the programs depend on, the same for all servers of a lab: see :class:`Framing`, and
    whether servers have further addresses, each for one of several next hops."""

    by_address: bool
    tagged: bool
    aliases: bool


def nic_program(maps: Maps, shape: Shape) -> bytes:
    """For frames that arrive at interfaces: relay them, or deliver them to the host."""
    a = Assembler()
    _begin(a, _ETHERNET_SIZE)
    a.load(BYTE, R2, R7)  # a label is a locally administered unicast address
    a.set(R2, "&", 3)
    a.jump("agent", R2, "!=", 2)
    a.load(HALF, R2, R7, _ETHERTYPE_AT)
    if not shape.by_address:
        a.jump("ipv6", R2, "==", _IPV6)
    a.jump("agent", R2, "!=", _IPV4)
    _require_plain_ipv4(a, _ETHERNET_SIZE)
    label = (_ETHERNET_SIZE + _TARGET_AT, 4) if shape.by_address else (0, 6)
    parts = [label, (6, 6)] if shape.tagged else [label]
    if parts == [(0, 6), (6, 6)]:
        parts = [(0, 12)]
    _find_decision(a, maps, maps.frames, parts)
    _choose_next_hop(a, maps, shape, _ETHERNET_SIZE)
    a.load(WORD, R1, R9, 4)
    a.jump("deliver", R1, "==", 0)
    _decrement_ttl(a)
    _write_addresses(a)
    _redirect(a, layout.RELAYED_AT, 0)
    if not shape.by_address:
        _relay_ipv6(a, maps, parts)
    a.label("deliver")
    _redirect(a, layout.DELIVERED_AT, _TO_STACK)
    _end(a)
    return a.assemble()


def host_program(maps: Maps, shape: Shape) -> bytes:
    """For packets that hosts send: give them an Ethernet header and send them."""
    a = Assembler()
    _begin(a, 0)
    if not shape.by_address:
        a.load(BYTE, R2, R7)
        a.set(R2, ">>", 4)
        a.jump("ipv6", R2, "==", 6)
    _require_plain_ipv4(a, 0)
    _find_decision(a, maps, maps.packets, [(_TARGET_AT, 4)])
    _choose_next_hop(a, maps, shape, 0)
    _originate(a, _IPV4)
    if not shape.by_address:
        _begin_ipv6(a, 0)
        for place in range(_TARGET6_AT, _INNER_AT, 4):
            a.load(WORD, R2, R7, place)
            a.jump("agent", R2, "!=", int.from_bytes(_PREFIX[place - _TARGET6_AT :][:4], "little"))
        _find_decision(a, maps, maps.packets, [(_INNER_AT, 4)])
        _take_only_next_hop(a)
        _originate(a, _IPV6)
    a.label("drop")
    a.exit(_DROP)
    _end(a)
    return a.assemble()


def _relay_ipv6(a: Assembler, maps: Maps, parts: list[tuple[int, int]]) -> None:
    """Relay a frame of IPv6, or go on where it is delivered."""
    _begin_ipv6(a, _ETHERNET_SIZE)
    _find_decision(a, maps, maps.frames, parts)
    _take_only_next_hop(a)
    a.load(WORD, R1, R9, 4)
    a.jump("deliver", R1, "==", 0)
    a.load(BYTE, R2, R7, _ETHERNET_SIZE + _HOP_LIMIT_AT)
    a.jump("agent", R2, "<=", 1)
    a.set(R2, "-", 1)
    a.store(BYTE, R7, _ETHERNET_SIZE + _HOP_LIMIT_AT, R2)
    _write_addresses(a)
    _redirect(a, layout.RELAYED_AT, 0)


def _originate(a: Assembler, kind: int) -> None:
    """Give the host's packet an Ethernet header, and send it by the next hop."""
    a.call(_CHANGE_HEAD, R6, _ETHERNET_SIZE, 0)
    a.jump("agent", R0, "!=", 0)
    a.load(WORD, R7, R6, _DATA)
    a.load(WORD, R8, R6, _DATA_END)
    a.sum(R2, R7, _ETHERNET_SIZE)
    a.jump("drop", R2, ">", R8)
    _write_addresses(a)
    a.store(HALF, R7, _ETHERTYPE_AT, kind)
    _redirect(a, layout.ORIGINATED_AT, 0)


def _begin(a: Assembler, ip: int) -> None:
    """Load the packet's bytes, of which IPv4 begins at ``ip``."""
    a.set(R6, "=", R1)
    a.load(WORD, R7, R6, _DATA)
    a.load(WORD, R8, R6, _DATA_END)
    a.sum(R2, R7, ip + _IPV4_SIZE)
    a.jump("agent", R2, ">", R8)


def _begin_ipv6(a: Assembler, ip: int) -> None:
    """Require a whole header of IPv6, which begins at ``ip``."""
    a.label("ipv6")
    a.sum(R2, R7, ip + _IPV6_SIZE)
    a.jump("agent", R2, ">", R8)
    a.load(BYTE, R2, R7, ip)
    a.set(R2, ">>", 4)
    a.jump("agent", R2, "!=", 6)


def _take_only_next_hop(a: Assembler) -> None:
    """R9 = the next hop of a decision that has only one; the agent chooses among several."""
    a.load(WORD, R3, R9, layout.COUNT_AT)
    a.jump("agent", R3, "!=", 1)
    a.set(R9, "+", layout.NEXT_HOPS_AT)


def _require_plain_ipv4(a: Assembler, ip: int) -> None:
    a.load(BYTE, R2, R7, ip)
    a.jump("agent", R2, "!=", _NO_OPTIONS)


def _find_decision(a: Assembler, maps: Maps, table: int, parts: list[tuple[int, int]]) -> None:
    """R9 = the decision on packets with these (offset, size) parts, if it is of the present epoch."""
    a.load(WORD, R2, R6, _INTERFACE)
    a.store(WORD, FP, _KEY_AT, R2)
    place = _KEY_AT + 4
    for offset, size in parts:
        for step in range(offset, offset + size, 2):
            a.load(HALF, R2, R7, step)
            a.store(HALF, FP, place, R2)
            place += 2
    if place % 4:
        a.store(HALF, FP, place, 0)
    a.look_up(table, _KEY_AT, "agent")
    a.set(R9, "=", R0)
    a.load(WORD, R2, R9, layout.SERVER_AT)
    a.store(WORD, FP, _SERVER_KEY, R2)
    a.look_up(maps.servers, _SERVER_KEY, "agent")
    a.store(DOUBLE, FP, _SERVER_SLOT, R0)
    a.load(WORD, R1, R0, layout.SERVER_EPOCH_AT)
    a.load(WORD, R2, R9, layout.EPOCH_AT)
    a.jump("agent", R1, "!=", R2)


def _choose_next_hop(a: Assembler, maps: Maps, shape: Shape, ip: int) -> None:
    """R9 = the next hop, as :meth:`Agent.pick` chooses it."""
    a.set(R1, "=", 0)
    a.load(WORD, R3, R9, layout.COUNT_AT)
    a.jump("chosen", R3, "==", 1)
    if shape.aliases:
        for address in (_SOURCE_AT, _TARGET_AT):
            a.load(BYTE, R1, R7, ip + address + 1)
            a.set(R1, ">>", _ALIAS_SHIFT)
            a.jump("numbered", R1, "!=", 0)
    a.load(DOUBLE, R4, FP, _SERVER_SLOT)
    a.load(WORD, R1, R4, layout.LOAD_BALANCE_AT)
    a.jump("by flow", R1, "==", layout.BY_FLOW)
    a.jump("agent", R1, "!=", layout.BY_PACKET)
    a.call(_RANDOM)
    a.set(R0, "=", R0, bits=32)
    a.jump("drawn")
    a.label("by flow")
    _flow_hash(a, maps, ip)
    a.label("drawn")
    a.set(R1, "=", 0)
    for bound in range(layout.MAX_NEXT_HOPS - 1):
        a.load(WORD, R2, R9, layout.BOUNDS_AT + 4 * bound)
        a.jump("chosen", R0, "<", R2)
        a.set(R1, "+", 1)
    if shape.aliases:
        a.jump("chosen")
        a.label("numbered")
        a.set(R1, "-", 1)
        a.set(R1, "%", R3)
    a.label("chosen")
    a.set(R1, "&", layout.MAX_NEXT_HOPS - 1)  # for the verifier
    a.set(R1, "*", layout.NEXT_HOP.size)
    a.set(R9, "+", R1)
    a.set(R9, "+", layout.NEXT_HOPS_AT)


def _flow_hash(a: Assembler, maps: Maps, ip: int) -> None:
    """R0 = :func:`hostagent.forwarding.packet.flow_hash` as a 32-bit fraction."""
    a.map_value(R3, maps.crc)
    a.constant(R0, _MASK)
    for place in (*range(_SOURCE_AT, _SOURCE_AT + 8), _PROTOCOL_AT):
        _crc_step(a, ip + place)
    a.load(BYTE, R1, R7, ip + _PROTOCOL_AT)
    for protocol in _PROTOCOLS_WITH_PORTS:
        a.jump("ports", R1, "==", protocol)
    a.jump("hashed")
    a.label("ports")
    a.load(HALF, R1, R7, ip + _FRAGMENT_AT)
    a.jump("hashed", R1, "&", _OFFSET_OR_MORE)
    a.sum(R1, R7, ip + _IPV4_SIZE + 4)
    a.jump("agent", R1, ">", R8)
    for place in range(_IPV4_SIZE, _IPV4_SIZE + 4):
        _crc_step(a, ip + place)
    a.label("hashed")
    a.constant(R1, _MASK)
    a.set(R0, "^", R1)
    a.load(DOUBLE, R4, FP, _SERVER_SLOT)
    a.load(DOUBLE, R1, R4, layout.SALT_AT)
    a.set(R0, "+", R1)
    a.constant(R1, _MULTIPLIER)
    a.set(R0, "*", R1)
    a.set(R2, "=", R0)
    a.set(R2, ">>", 32)
    a.set(R0, "^", R2)
    a.set(R0, "*", R1)
    a.set(R0, ">>", 32)


def _crc_step(a: Assembler, place: int) -> None:
    """R0 = CRC-32 continued with the byte at ``place``; R3 its table."""
    a.load(BYTE, R1, R7, place)
    a.set(R1, "^", R0)
    a.set(R1, "&", 0xFF)
    a.set(R1, "<<", 2)
    a.sum(R2, R3, R1)
    a.load(WORD, R2, R2)
    a.set(R0, ">>", 8)
    a.set(R0, "^", R2)


def _decrement_ttl(a: Assembler) -> None:
    """One hop less, and the header checksum as RFC 1624 adjusts it; a TTL that ends is the agent's."""
    ttl, checksum = _ETHERNET_SIZE + _TTL_AT, _ETHERNET_SIZE + _CHECKSUM_AT
    a.load(BYTE, R2, R7, ttl)
    a.jump("agent", R2, "<=", 1)
    a.set(R2, "-", 1)
    a.store(BYTE, R7, ttl, R2)
    a.load(HALF, R2, R7, checksum)
    a.set(R2, "+", int.from_bytes(b"\x01\x00", "little"))
    a.jump("no carry", R2, "<", 0xFFFF)
    a.set(R2, "+", 1)
    a.label("no carry")
    a.store(HALF, R7, checksum, R2)


def _write_addresses(a: Assembler) -> None:
    for place in range(0, 12, 4):
        a.load(WORD, R2, R9, 4 + place)
        a.store(WORD, R7, place, R2)


def _redirect(a: Assembler, counter: int, flags: int) -> None:
    """Count, and send the packet out of the next hop's interface."""
    a.load(DOUBLE, R2, FP, _SERVER_SLOT)
    a.set(R3, "=", 1)
    a.atomic_add(R2, counter, R3)
    a.load(WORD, R1, R9)
    a.call(_REDIRECT, R1, flags)
    a.exit(R0)


def _end(a: Assembler) -> None:
    a.label("agent")
    a.exit(NOT_HANDLED)
