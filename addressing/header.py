"""What nodes read of a packet (Header), what a table entry matches (Pattern) and does (Action)."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Field(enum.Enum):
    """The header field that carries a scheme's label, and how many bits fit."""

    ETH_DST = ("eth_dst", 46)
    IPV4_DST = ("ipv4_dst", 32)

    def __init__(self, key: str, bits: int) -> None:
        self.key = key
        self.bits = bits


#: The source MAC address carries a scheme's own state (a source route, a phase, a virtual channel).
#: It has as many free bits as the destination MAC address.
TAG_BITS = 46


@dataclass(frozen=True, slots=True)
class Header:
    """What nodes read: the destination's label, the scheme's tag, and the arrival port.

    ``label`` and ``tag`` are unsigned numbers of the scheme's ``label_bits`` and ``tag_bits``, most
    significant bit first; ``in_port`` is 0 at the source.
    """

    label: int
    tag: int = 0
    in_port: int = 0


@dataclass(frozen=True, slots=True)
class Pattern:
    """A set of headers: those equal to ``label`` and ``tag`` in the masked bits.

    ``in_port`` 0 matches any port.  Bits outside a mask are zero in the value.
    """

    label: int = 0
    mask: int = 0
    tag: int = 0
    tag_mask: int = 0
    in_port: int = 0

    def matches(self, header: Header) -> bool:
        """True when the header is in the set."""
        return (
            header.label & self.mask == self.label
            and header.tag & self.tag_mask == self.tag
            and self.in_port in (0, header.in_port)
        )

    @property
    def priority(self) -> int:
        """The number of bits compared: the longest match wins."""
        return self.mask.bit_count() + self.tag_mask.bit_count() + (self.in_port > 0)


def exact(label: int, bits: int) -> Pattern:
    """The pattern of one label of ``bits`` bits."""
    return Pattern(label, (1 << bits) - 1)


def prefix(value: int, length: int, bits: int) -> Pattern:
    """The pattern of all labels of ``bits`` bits that begin with ``value`` (``length`` bits)."""
    shift = bits - length
    return Pattern(value << shift, ((1 << length) - 1) << shift)


@dataclass(frozen=True, slots=True)
class Forward:
    """Send out of ``port``, after rewriting the header.

    ``label`` and ``tag`` replace those fields; ``pop`` shifts that many leading bits out of the tag
    instead (one hop of a source route; servers only, OpenFlow cannot shift).
    """

    port: int
    label: int | None = None
    tag: int | None = None
    pop: int = 0

    def apply(self, header: Header, tag_bits: int) -> Header:
        """The header as it leaves."""
        return self.arrival(header, tag_bits, header.in_port)

    def arrival(self, header: Header, tag_bits: int, in_port: int) -> Header:
        """The header as it arrives at port ``in_port`` of the next node."""
        tag = header.tag if self.tag is None else self.tag
        if self.pop:
            tag = (tag << self.pop) & ((1 << tag_bits) - 1)
        return Header(header.label if self.label is None else self.label, tag, in_port)


@dataclass(frozen=True, slots=True)
class Deliver:
    """The packet is at its destination: hand it to the host's IP stack."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Drop the packet; `dcnlab explain` and counters show ``reason``."""

    reason: str


Action = Forward | Deliver | Drop
#: Actions with their weights: positive, summing to 1.
NextHops = tuple[tuple[Action, float], ...]

DELIVER: NextHops = ((Deliver(), 1.0),)


def only(action: Action) -> NextHops:
    """One next hop, of weight 1."""
    return ((action, 1.0),)


def drop(reason: str) -> NextHops:
    """A drop, of weight 1."""
    return ((Drop(reason), 1.0),)


def uniform(actions: list[Action]) -> NextHops:
    """Several next hops of equal weights."""
    return tuple((action, 1.0 / len(actions)) for action in actions)
