"""What a switch should hold under a scheme, and the least changes that lead there.

Each class of the scheme becomes one entry, its priority the number of compared bits
plus one.  A label in ``eth_dst`` is always matched together with the two bits that make
the address local and unicast, so that no entry, however short its prefix, catches
multicast or a hardware address.  What nothing matches is dropped by the switch.

Sending a packet back where it came from needs care: OpenFlow drops ``output:p`` for
packets that came in by p.  Walks of most schemes never turn round at a switch, and there
the drop is welcome: it breaks two-node circles while tables change.  A scheme whose
walks may (``Scheme.hairpin``) gets ``set_field:0->in_port`` before its outputs, which lifts
the restriction without a second entry; a pattern that names the port says ``IN_PORT``.
"""

from __future__ import annotations

import enum
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Any, TypeVar

from addressing.fields import ipv6, mac
from addressing.header import Field, Forward, Pattern
from addressing.scheme import Scheme
from addressing.table import Entry, compile_table
from controller import rules
from controller.rules import Actions, Bucket, FlowTable, Group, Masked, Match, Output, Rule, SetField, ToGroup
from topos.graph import ALL_UP, LinkState

#: Nothing of a scheme's can be as urgent: 46 + 46 compared bits and a port.
ARP_PRIORITY = 0xFFFF

#: What hosts ask by, by their version of IP.
_REQUEST_MATCHES = {
    4: Match(eth_type=rules.ARP),
    6: Match(eth_type=rules.IPV6, icmpv6_type=rules.SOLICITATION),
}
_MAC = (1 << 48) - 1
_MAX_GROUP = 0xFFFFFF00
#: Bucket weights are whole numbers of 16 bits; fractions up to this denominator are exact.
_MAX_WEIGHT, _DENOMINATOR = 0xFFFF, 1 << 12


class NotInstallable(ValueError):
    """A rule that OpenFlow cannot express; one line for the user."""


def desired_table(scheme: Scheme, switch: int, links: LinkState = ALL_UP) -> FlowTable:
    """Everything that ``switch`` (a node number) should hold; ``scheme`` knows ``links`` already
    (``scheme.with_failures(links)``)."""
    ways = [(entry, _buckets(scheme, switch, entry)) for entry in compile_table(scheme, switch, links).entries]
    numbers = _group_numbers({buckets for _, buckets in ways if len(buckets) > 1})
    found = {
        Rule(
            entry.priority + 1,
            match(scheme, entry.pattern, version),
            (ToGroup(numbers[buckets]),) if buckets in numbers else buckets[0].actions,
        )
        for entry, buckets in ways
        for version in scheme.ip_versions
    }
    if has_hosts(scheme, switch):
        up = (Output(rules.CONTROLLER),)
        found |= {Rule(ARP_PRIORITY, _REQUEST_MATCHES[v], up, rules.ARP_COOKIE) for v in scheme.ip_versions}
    return FlowTable(frozenset(found), frozenset(Group(n, buckets) for buckets, n in numbers.items()))


def has_hosts(scheme: Scheme, switch: int) -> bool:
    """True for switches with ordinary hosts at them, whose questions for hardware addresses the
    controller answers."""
    return any(map(scheme.fabric.is_end_host, scheme.fabric.neighbours(switch)))


# --- one entry ----------------------------------------------------------------


def match(scheme: Scheme, pattern: Pattern, version: int = 4) -> Match:
    """The frames, of that version of IP if labels are addresses, whose header lies in ``pattern``."""
    source = _tag_mac(pattern.tag, pattern.tag_mask, scheme.tag_bits) if pattern.tag_mask else rules.ANY
    if scheme.label_field is Field.IPV4_DST:
        if version == 6:
            wide = Masked(ipv6.embed(pattern.label), ipv6.mask(pattern.mask))
            return Match(pattern.in_port, rules.IPV6, source, ipv6_dst=wide)
        masked = Masked(pattern.label, pattern.mask)
        return Match(pattern.in_port, rules.IPV4, source, ipv4_dst=masked)
    return Match(pattern.in_port, 0, source, _label_mac(pattern.label, pattern.mask, scheme.label_bits))


def _label_mac(value: int, mask: int, bits: int) -> Masked:
    """A label's bits in an address, together with the two that every label has."""
    return Masked(mac.align(value, bits) | mac.FIXED, mac.align(mask, bits) | mac.FIXED_MASK)


def _tag_mac(value: int, mask: int, bits: int) -> Masked:
    """A tag's bits in a source address, whoever administers it: hardware addresses, in which those
    bits are zero, are how plain hosts say tag 0."""
    return Masked(mac.align(value, bits), mac.align(mask, bits))


def _buckets(scheme: Scheme, switch: int, entry: Entry) -> tuple[Bucket, ...]:
    """The ways on with their weights, ways that do the same counted together; one of weight 1
    where there is no choice."""
    shares: dict[Actions, float] = {}
    for action, weight in entry.next_hops:
        actions = _actions(scheme, switch, entry.pattern.in_port, action)
        shares[actions] = shares.get(actions, 0.0) + weight
    return tuple(map(Bucket, integer_weights(list(shares.values())), shares))


def integer_weights(shares: list[float]) -> list[int]:
    """The least whole numbers in the same proportion; nearest ones, and at least 1, where
    they would not fit a bucket's 16 bits."""
    if len(shares) == 1:
        return [1]
    parts = [Fraction(share).limit_denominator(_DENOMINATOR) for share in shares]
    unit = lcm(*(part.denominator for part in parts))
    numbers = [int(part * unit) for part in parts]
    if sum(parts) == 1 and min(parts) > 0 and max(numbers) // gcd(*numbers) <= _MAX_WEIGHT:
        return [number // gcd(*numbers) for number in numbers]
    return [max(1, round(share / max(shares) * _MAX_WEIGHT)) for share in shares]


def _actions(scheme: Scheme, switch: int, in_port: int, action: object) -> Actions:
    """What a switch does for one action; nothing behind a switch takes delivery."""
    if not isinstance(action, Forward):
        return ()
    if action.pop:
        raise NotInstallable(f"{scheme.name}: a switch cannot take a hop off a source route")
    end = scheme.fabric.peer(switch, action.port)
    plain = end is not None and scheme.fabric.is_end_host(end.node)
    found = list(_rewrites(scheme, action))
    if end is not None and plain and scheme.label_field is Field.ETH_DST:
        found = [item for item in found if item.field != "eth_dst"]
        found.append(SetField("eth_dst", mac.hardware(end.node, end.number)))
    if action.port == in_port:
        return (*found, Output(rules.IN_PORT))
    if scheme.hairpin and not plain and not in_port:
        found.append(SetField("in_port", 0))
    return (*found, Output(action.port))


def _rewrites(scheme: Scheme, action: Forward) -> Iterator[SetField]:
    if action.label is not None:
        if scheme.label_field is Field.IPV4_DST:
            yield SetField("ip_dst", action.label)
        else:
            yield SetField("eth_dst", mac.encode(action.label, scheme.label_bits))
    if action.tag is not None:
        yield SetField("eth_src", mac.encode(action.tag, scheme.tag_bits))


def _group_numbers(spreads: Iterable[tuple[Bucket, ...]]) -> dict[tuple[Bucket, ...], int]:
    """A number per list of buckets, drawn from what it says: equal lists share a group, and a
    group that stays keeps its number when others come and go."""
    numbers: dict[tuple[Bucket, ...], int] = {}
    taken: set[int] = set()
    for text, buckets in sorted((Group(0, buckets).text, buckets) for buckets in spreads):
        number = zlib.crc32(text.encode()) % _MAX_GROUP
        while number in taken:
            number = (number + 1) % _MAX_GROUP
        taken.add(number)
        numbers[buckets] = number
    return numbers


# --- changes ------------------------------------------------------------------


class Op(enum.Enum):
    """What is done to a rule or a group."""

    ADD = "add"
    MODIFY = "modify"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Change:
    """One flow or group message."""

    op: Op
    item: Rule | Group


def diff(installed: FlowTable, desired_table: FlowTable) -> tuple[Change, ...]:
    """The least changes from one table to the other, in an order that a switch accepts: groups
    before the rules that use them, deleted after the last rule that did."""
    groups = list(_changes(installed.groups, desired_table.groups))
    flows = list(_changes(installed.rules, desired_table.rules))
    ordered = [c for c in groups if c.op is not Op.DELETE] + flows + [c for c in groups if c.op is Op.DELETE]
    return tuple(ordered)


Item = TypeVar("Item", Rule, Group)


def _changes(installed: frozenset[Item], desired_table: frozenset[Item]) -> Iterator[Change]:
    """Additions and modifications, then deletions; equal items are left alone."""
    before = {item.key: item for item in installed - desired_table}
    after = {item.key: item for item in desired_table - installed}
    for key, item in after.items():
        # A modification keeps the entry's counters, but OpenFlow keeps its cookie as well.
        alike = key in before and (isinstance(item, Group) or item.cookie == before[key].cookie)
        yield Change(Op.MODIFY if alike else Op.ADD, item)
    for key, item in before.items():
        if key not in after:
            yield Change(Op.DELETE, item)


def apply(installed: FlowTable, changes: Iterable[Change]) -> FlowTable:
    """The table after ``changes``, as a switch carries them out."""
    flows = {rule.key: rule for rule in installed.rules}
    groups = {group.key: group for group in installed.groups}
    for op, item in ((change.op, change.item) for change in changes):
        if isinstance(item, Rule):
            _carry_out(flows, op, item)
        else:
            _carry_out(groups, op, item)
    return FlowTable(frozenset(flows.values()), frozenset(groups.values()))


def _carry_out(items: dict[Any, Item], op: Op, item: Item) -> None:
    if op is Op.DELETE:
        items.pop(item.key, None)
    elif op is Op.ADD or item.key in items:
        items[item.key] = item
