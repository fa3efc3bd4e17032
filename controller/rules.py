"""Flow rules and groups as plain values, with the text that ``ovs-ofctl dump-flows`` prints for them.

Two rules are equal exactly when their texts are.  The counters and durations that Open vSwitch adds to a dump
are no part of a rule (see :mod:`controller.openflow.dump`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from addressing.fields import ipv4, ipv6, mac

#: OpenFlow's reserved ports: the arrival port, and the controller.
IN_PORT, CONTROLLER = 0xFFFFFFF8, 0xFFFFFFFD

#: Cookies: the entry belongs to the scheme's table, sends ARP requests to the controller, or stands beside both
#: (:mod:`controller.beside`).
OUR_COOKIES = TABLE_COOKIE, ARP_COOKIE, BESIDE_COOKIE = 0x1, 0x2, 0x3

IPV4, ARP, IPV6 = 0x0800, 0x0806, 0x86DD
#: The ICMPv6 type of neighbour solicitations.
SOLICITATION = 135

#: The default priority, which ``ovs-ofctl`` does not print.
DEFAULT_PRIORITY = 0x8000

_ALL48 = (1 << 48) - 1
_PROTOCOLS = {IPV4: "ip", ARP: "arp", IPV6: "ipv6"}

FieldName = Literal["in_port", "eth_src", "eth_dst", "ip_dst"]


@dataclass(frozen=True, slots=True, order=True)
class Masked:
    """A value and the mask of the bits that are compared; bits outside the mask are zero."""

    value: int = 0
    mask: int = 0


ANY = Masked()


@dataclass(frozen=True, slots=True, order=True)
class Match:
    """The frames that a rule matches; zero means "any" in every field."""

    in_port: int = 0
    eth_type: int = 0
    eth_src: Masked = ANY
    eth_dst: Masked = ANY
    ipv4_dst: Masked = ANY
    ipv6_dst: Masked = ANY
    #: The type of ICMPv6 messages.
    icmpv6_type: int = 0

    def __hash__(self) -> int:  # sets of rules are most of a controller's work, and masks are alike
        label = self.eth_dst.value ^ self.ipv4_dst.value ^ self.ipv6_dst.value
        return hash((self.in_port, self.eth_type, self.eth_src.value, label))

    @property
    def text(self) -> str:
        """``ip,in_port=2,nw_dst=10.1.0.0/16``: the fields in Open vSwitch's order."""
        parts = []
        if self.eth_type:
            name = "icmp6" if self.icmpv6_type else _PROTOCOLS.get(self.eth_type)
            parts.append(name or f"dl_type=0x{self.eth_type:04x}")
        if self.in_port:
            parts.append(f"in_port={self.in_port}")
        for name, field_ in (("dl_src", self.eth_src), ("dl_dst", self.eth_dst)):
            if field_.mask:
                mask = "" if field_.mask == _ALL48 else "/" + mac.text(field_.mask)
                parts.append(f"{name}={mac.text(field_.value)}{mask}")
        if self.ipv4_dst.mask:
            parts.append(f"nw_dst={ipv4.text(self.ipv4_dst.value)}{_mask(self.ipv4_dst.mask, 32, ipv4.text)}")
        if self.ipv6_dst.mask:
            parts.append(
                f"ipv6_dst={ipv6.text(self.ipv6_dst.value)}{_mask(self.ipv6_dst.mask, 128, ipv6.text)}"
            )
        if self.icmpv6_type:
            parts.append(f"icmp_type={self.icmpv6_type}")
        return ",".join(parts)


def _mask(mask: int, bits: int, text: Callable[[int], str]) -> str:
    """``/16`` for a prefix, ``/255.0.255.0`` for anything else, nothing for all bits."""
    everything = (1 << bits) - 1
    if mask == everything:
        return ""
    length = mask.bit_count()
    return f"/{length}" if mask == everything ^ (everything >> length) else f"/{text(mask)}"


@dataclass(frozen=True, slots=True)
class Output:
    """Send out of a port; IN_PORT and CONTROLLER have names."""

    port: int

    @property
    def text(self) -> str:
        """As ``ovs-ofctl`` prints it."""
        if self.port == CONTROLLER:
            return "CONTROLLER:65535"
        return "IN_PORT" if self.port == IN_PORT else f"output:{self.port}"


_WRITERS: dict[FieldName, Callable[[int], str]] = {
    "in_port": str,
    "eth_src": mac.text,
    "eth_dst": mac.text,
    "ip_dst": ipv4.text,
}


@dataclass(frozen=True, slots=True)
class SetField:
    """Write a header field, or the arrival port that ``Output`` is compared with."""

    field: FieldName
    value: int

    @property
    def text(self) -> str:
        """As ``ovs-ofctl`` prints it."""
        write = _WRITERS[self.field]
        return f"set_field:{write(self.value)}->{self.field}"


@dataclass(frozen=True, slots=True)
class ToGroup:
    """Pass the packet to a group."""

    group: int

    @property
    def text(self) -> str:
        """As ``ovs-ofctl`` prints it."""
        return f"group:{self.group}"


@dataclass(frozen=True, slots=True)
class Stamp:
    """Write the low ``bits`` bits of the destination address."""

    value: int
    bits: int

    @property
    def text(self) -> str:
        """As ``ovs-ofctl`` prints it."""
        value = f"{self.value:#x}" if self.value else "0"
        return f"load:{value}->NXM_OF_ETH_DST[0{f'..{self.bits - 1}' if self.bits > 1 else ''}]"


Action = Output | SetField | ToGroup | Stamp
Actions = tuple[Action, ...]


def actions_text(actions: Actions) -> str:
    """``output:1``, several with commas between them; ``drop`` for none."""
    return ",".join(action.text for action in actions) or "drop"


@dataclass(frozen=True, slots=True)
class Rule:
    """One flow entry; packets that match are dropped when there are no actions."""

    priority: int
    match: Match
    actions: Actions
    cookie: int = TABLE_COOKIE
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:  # few rules differ in their actions only
        object.__setattr__(self, "_hash", hash((self.priority, self.match)))

    def __hash__(self) -> int:
        return self._hash

    @property
    def key(self) -> tuple[int, Match]:
        """The identity of an entry in OpenFlow, which does not include its actions."""
        return self.priority, self.match

    @property
    def text(self) -> str:
        """As ``ovs-ofctl --no-stats dump-flows`` prints it."""
        priority = "" if self.priority == DEFAULT_PRIORITY else f"priority={self.priority}"
        what = ",".join(filter(None, (priority, self.match.text)))
        return f"cookie={self.cookie:#x}, {what} actions={actions_text(self.actions)}"


@dataclass(frozen=True, slots=True)
class Bucket:
    """One of a group's next hops, chosen in proportion to its weight."""

    weight: int
    actions: Actions

    @property
    def text(self) -> str:
        """As ``ovs-ofctl`` prints it."""
        weight = "" if self.weight == 1 else f"weight:{self.weight},"
        return f"bucket={weight}actions={actions_text(self.actions)}"


@dataclass(frozen=True, slots=True)
class Group:
    """A SELECT group: one of the buckets per flow, by weight."""

    id: int
    buckets: tuple[Bucket, ...]

    @property
    def key(self) -> int:
        """The group's number."""
        return self.id

    @property
    def text(self) -> str:
        """As ``ovs-ofctl dump-groups`` prints it."""
        return f"group_id={self.id},type=select," + ",".join(bucket.text for bucket in self.buckets)


@dataclass(frozen=True, slots=True)
class FlowTable:
    """All rules and groups of one switch."""

    rules: frozenset[Rule] = field(default_factory=frozenset)
    groups: frozenset[Group] = field(default_factory=frozenset)

    @property
    def entries(self) -> int:
        """The number of the scheme's entries, without those for ARP."""
        return sum(rule.cookie == TABLE_COOKIE for rule in self.rules)

    def lines(self) -> tuple[str, ...]:
        """All rules, highest priority first, then all groups, as Open vSwitch prints them."""
        rules = sorted(self.rules, key=lambda rule: (-rule.priority, rule.match))
        groups = sorted(self.groups, key=lambda group: group.id)
        return tuple(rule.text for rule in rules) + tuple(group.text for group in groups)
