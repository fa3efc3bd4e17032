"""The table that a switch should hold under a scheme, and the fewest changes from its present table.

Each forwarding equivalence class of the scheme becomes one entry; its priority is the number of compared bits
plus one.  A match on a label in ``eth_dst`` includes the two bits that make the address local and unicast.  So
no entry, however short its prefix, catches multicast or hardware addresses.  The switch drops packets that
match no entry.

Hairpin forwarding needs care: OpenFlow drops ``output:p`` for packets that arrived at port p.  Most schemes
never need it, and the drop breaks two-node loops while tables change.  A scheme that needs it
(``Scheme.may_return``) gets ``set_field:0->in_port`` before its outputs, which lifts the restriction without a
second entry.  An entry whose pattern names the port uses ``IN_PORT``.
"""

from __future__ import annotations

import enum
import functools
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Any, TypeVar

from addressing.fields import ipv6, mac
from addressing.header import Field, Forward, NextHops, Pattern
from addressing.scheme import Scheme
from addressing.table import Entry, compile_table
from controller import rules
from controller.beside import NOTHING, Beside
from controller.rules import Actions, Bucket, FlowTable, Group, Masked, Match, Output, Rule, SetField, ToGroup
from topos.graph import ALL_UP, LinkState

#: Above every entry of a scheme, which compares at most 46 + 46 bits and a port.
ARP_PRIORITY = 0xFFFF

#: Requests for hardware addresses, by version of IP.
_REQUEST_MATCHES = {
    4: Match(eth_type=rules.ARP),
    6: Match(eth_type=rules.IPV6, icmpv6_type=rules.SOLICITATION),
}
_MAC = (1 << 48) - 1
_MAX_GROUP = 0xFFFFFF00
#: Bucket weights are whole numbers of 16 bits; fractions up to this denominator are exact.
_MAX_WEIGHT, _DENOMINATOR = 0xFFFF, 1 << 12
#: Rules that are kept for other switches.
_KEPT = 1 << 17


class NotInstallable(ValueError):
    """A rule that OpenFlow cannot express; one line for the user."""


def desired_table(
    scheme: Scheme,
    switch: int,
    links: LinkState = ALL_UP,
    beside: Beside = NOTHING,
    ports: frozenset[int] | None = None,
) -> FlowTable:
    """The table that ``switch`` (a node number) should hold.

    ``scheme`` must know ``links`` already (``scheme.with_failures(links)``).  ``ports`` are those by which the
    switch floods, if it does: those of the tree, unless stated.
    """
    own = _scheme_table(scheme, switch, links)
    return _with_others(own, scheme, switch, links, beside, ports)


class Tables:
    """The tables of switches while a scheme learns of failures: each is made from the last one of its switch,
    as far as the scheme says what changes."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[Scheme, FlowTable]] = {}

    def table(
        self,
        scheme: Scheme,
        switch: int,
        links: LinkState = ALL_UP,
        beside: Beside = NOTHING,
        ports: frozenset[int] | None = None,
    ) -> FlowTable:
        """The same as :func:`desired_table`."""
        last = self._last.get(switch)
        own = _following(scheme, switch, links, *last) if last else None
        if own is None:
            own = _scheme_table(scheme, switch, links)
        self._last[switch] = scheme, own
        return _with_others(own, scheme, switch, links, beside, ports)

    def kept(self, scheme: Scheme, switch: int) -> None:
        """The switch's table stays as it is under ``scheme``."""
        if switch in self._last:
            self._last[switch] = scheme, self._last[switch][1]


def _scheme_table(scheme: Scheme, switch: int, links: LinkState) -> FlowTable:
    """The scheme's entries, and that for requests for hardware addresses."""
    lists = _lists(scheme, switch, compile_table(scheme, switch, links).entries)
    numbers = group_numbers({buckets for _, buckets in lists if len(buckets) > 1})
    flows = set(_rules(scheme, lists, numbers))
    if has_hosts(scheme, switch):
        flows |= _requests(scheme)
    return FlowTable(frozenset(flows), frozenset(Group(n, buckets) for buckets, n in numbers.items()))


def _following(
    scheme: Scheme, switch: int, links: LinkState, before: Scheme, held: FlowTable
) -> FlowTable | None:
    """The same from the table ``held`` under ``before``; None where the scheme does not say what changes."""
    changes = scheme.differing_classes(switch, before)
    if changes is None or (scheme.label_bits, scheme.tag_bits) != (before.label_bits, before.tag_bits):
        return None
    next_hops = scheme.next_hops_of(switch, changes.fresh, links)
    lists = _lists(scheme, switch, map(Entry, (pattern for pattern, _ in changes.fresh), next_hops))
    patterns = {*changes.gone, *(entry.pattern for entry, _ in lists)}
    keys = {
        (one.priority + 1, match(scheme, one, version)) for one in patterns for version in scheme.ip_versions
    }
    labels = {_label(one) for _, one in keys}
    # Hashes of whole matches are slow: few rules have a label that is concerned.
    stay = held.rules.difference([r for r in held.rules if _label(r.match) in labels and r.key in keys])
    buckets_of = {group.id: group.buckets for group in held.groups}
    used = {buckets_of[one.group] for rule in stay for one in rule.actions if isinstance(one, ToGroup)}
    numbers = group_numbers(used.union(buckets for _, buckets in lists if len(buckets) > 1))
    if any(numbers.get(buckets, number) != number for number, buckets in buckets_of.items()):
        return None
    groups = {Group(number, buckets) for buckets, number in numbers.items()}
    return FlowTable(stay.union(_rules(scheme, lists, numbers)), frozenset(groups))


def _with_others(
    own: FlowTable,
    scheme: Scheme,
    switch: int,
    links: LinkState,
    beside: Beside,
    ports: frozenset[int] | None,
) -> FlowTable:
    """A scheme's table with what a switch holds beside it."""
    if not beside:
        return own
    if ports is None:
        ports = beside.flooded(scheme.fabric, switch, links)
    others = set(beside.rules(scheme, switch, links, ports))
    if beside.at(switch):
        others |= _requests(scheme)
    return FlowTable(own.rules | others, own.groups)


def _lists(scheme: Scheme, switch: int, entries: Iterable[Entry]) -> list[tuple[Entry, tuple[Bucket, ...]]]:
    """Entries with their buckets."""
    buckets_of = functools.cache(functools.partial(_buckets, scheme, switch))  # many entries share next hops
    return [(one, buckets_of(_returning(scheme, switch, one.pattern), one.next_hops)) for one in entries]


def _rules(
    scheme: Scheme,
    lists: Iterable[tuple[Entry, tuple[Bucket, ...]]],
    numbers: Mapping[tuple[Bucket, ...], int],
) -> Iterator[Rule]:
    # Labels in hardware addresses are those of both versions of IP.
    fields, versions = _fields(scheme), scheme.ip_versions if scheme.label_field is Field.IPV4_DST else (4,)
    for entry, buckets in lists:
        actions = (ToGroup(numbers[buckets]),) if len(buckets) > 1 else buckets[0].actions
        for version in versions:
            yield _rule(fields, entry.pattern, version, actions)


def _requests(scheme: Scheme) -> set[Rule]:
    """Send requests for hardware addresses to the controller."""
    actions = (Output(rules.CONTROLLER),)
    return {
        Rule(ARP_PRIORITY, _REQUEST_MATCHES[version], actions, rules.ARP_COOKIE)
        for version in scheme.ip_versions
    }


def _label(match: Match) -> int:
    """The label that is compared; one of the three fields has it."""
    return match.eth_dst.value | match.ipv4_dst.value | match.ipv6_dst.value


def has_hosts(scheme: Scheme, switch: int) -> bool:
    """Whether plain hosts are attached, whose requests for hardware addresses the controller answers."""
    return any(map(scheme.fabric.is_end_host, scheme.fabric.neighbours(switch)))


# --- one entry ----------------------------------------------------------------


#: The header field of labels, and the bits of labels and of tags: all that a match needs to know of a scheme.
_Fields = tuple[Field, int, int]


def _fields(scheme: Scheme) -> _Fields:
    return scheme.label_field, scheme.label_bits, scheme.tag_bits


def match(scheme: Scheme, pattern: Pattern, version: int = 4) -> Match:
    """A match on the headers in ``pattern``; where labels are IP addresses, for that version of IP."""
    return _match(_fields(scheme), pattern, version)


@functools.lru_cache(maxsize=_KEPT)
def _rule(fields: _Fields, pattern: Pattern, version: int, actions: Actions) -> Rule:
    """The rule of one entry; most are alike in many switches."""
    return Rule(pattern.priority + 1, _match(fields, pattern, version), actions)


def _match(fields: _Fields, pattern: Pattern, version: int) -> Match:
    field, label_bits, tag_bits = fields
    source = _tag_mac(pattern.tag, pattern.tag_mask, tag_bits) if pattern.tag_mask else rules.ANY
    if field is Field.IPV4_DST:
        if version == 6:
            wide = Masked(ipv6.embed(pattern.label), ipv6.mask(pattern.mask))
            return Match(pattern.in_port, rules.IPV6, source, ipv6_dst=wide)
        masked = Masked(pattern.label, pattern.mask)
        return Match(pattern.in_port, rules.IPV4, source, ipv4_dst=masked)
    return Match(pattern.in_port, 0, source, _label_mac(pattern.label, pattern.mask, label_bits))


def _label_mac(value: int, mask: int, bits: int) -> Masked:
    """The bits of a label in a MAC address, and the two fixed bits of every label."""
    return Masked(mac.align(value, bits) | mac.FIXED, mac.align(mask, bits) | mac.FIXED_MASK)


def _tag_mac(value: int, mask: int, bits: int) -> Masked:
    """The bits of a tag in a source address, local or not.

    Plain hosts send with hardware addresses, in which these bits are zero: tag 0.
    """
    return Masked(mac.align(value, bits), mac.align(mask, bits))


def _returning(scheme: Scheme, switch: int, pattern: Pattern) -> int | None:
    """The port that packets may leave by though they arrived there: the pattern's, any (0), or none."""
    return pattern.in_port or (0 if scheme.may_return(switch, pattern) else None)


def _buckets(scheme: Scheme, switch: int, returning: int | None, next_hops: NextHops) -> tuple[Bucket, ...]:
    """The next hops with their weights; those with equal actions are merged.  A single one has weight 1."""
    shares: dict[Actions, float] = {}
    for action, weight in next_hops:
        actions = _actions(scheme, switch, returning, action)
        shares[actions] = shares.get(actions, 0.0) + weight
    return tuple(map(Bucket, integer_weights(list(shares.values())), shares))


def integer_weights(shares: list[float]) -> list[int]:
    """The smallest integers in the same proportion.

    Where these exceed the 16 bits of a bucket's weight: the nearest ones that fit, at least 1.
    """
    if len(shares) == 1:
        return [1]
    parts = [Fraction(share).limit_denominator(_DENOMINATOR) for share in shares]
    unit = lcm(*(part.denominator for part in parts))
    numbers = [int(part * unit) for part in parts]
    if sum(parts) == 1 and min(parts) > 0 and max(numbers) // gcd(*numbers) <= _MAX_WEIGHT:
        return [number // gcd(*numbers) for number in numbers]
    return [max(1, round(share / max(shares) * _MAX_WEIGHT)) for share in shares]


def _actions(scheme: Scheme, switch: int, returning: int | None, action: object) -> Actions:
    """The OpenFlow actions of one action; a switch never delivers to itself."""
    if not isinstance(action, Forward):
        return ()
    if action.pop:
        raise NotInstallable(f"{scheme.name}: a switch cannot remove a hop from a source route")
    end = scheme.fabric.peer(switch, action.port)
    plain = end is not None and scheme.fabric.is_end_host(end.node)
    actions: list[SetField] = list(_rewrites(scheme, action))
    if end is not None and plain and scheme.label_field is Field.ETH_DST:
        actions = [item for item in actions if item.field != "eth_dst"]
        actions.append(SetField("eth_dst", mac.hardware(end.node, end.number)))
    if action.port == returning:
        return (*actions, Output(rules.IN_PORT))
    if returning == 0 and not plain:
        actions.append(SetField("in_port", 0))
    return (*actions, Output(action.port))


def _rewrites(scheme: Scheme, action: Forward) -> Iterator[SetField]:
    if action.label is not None:
        if scheme.label_field is Field.IPV4_DST:
            yield SetField("ip_dst", action.label)
        else:
            yield SetField("eth_dst", mac.encode(action.label, scheme.label_bits))
    if action.tag is not None:
        yield SetField("eth_src", mac.encode(action.tag, scheme.tag_bits))


def group_numbers(lists: Iterable[tuple[Bucket, ...]]) -> dict[tuple[Bucket, ...], int]:
    """A group number for each list of buckets, by a hash of its text.

    Equal lists share a group, and a group keeps its number when others come and go.
    """
    numbers: dict[tuple[Bucket, ...], int] = {}
    taken: set[int] = set()
    for text, buckets in sorted((Group(0, buckets).text, buckets) for buckets in lists):
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
    """The fewest changes from one table to the other, in an order that a switch accepts.

    Groups are added before the rules that use them, and deleted after the last such rule.
    """
    groups = list(_changes(installed.groups, desired_table.groups))
    flows = list(_changes(installed.rules, desired_table.rules))
    ordered = [c for c in groups if c.op is not Op.DELETE] + flows + [c for c in groups if c.op is Op.DELETE]
    return tuple(ordered)


def written_groups(changes: Iterable[Change]) -> frozenset[Group]:
    """The groups that changes add or modify."""
    items = (change.item for change in changes if change.op is not Op.DELETE)
    return frozenset(item for item in items if isinstance(item, Group))


Item = TypeVar("Item", Rule, Group)


def _changes(installed: frozenset[Item], desired_table: frozenset[Item]) -> Iterator[Change]:
    """Additions and modifications, then deletions; equal items are left alone."""
    before = {item.key: item for item in installed - desired_table}
    after = {item.key: item for item in desired_table - installed}
    for key, item in after.items():
        # A modification keeps the entry's counters, but OpenFlow keeps its cookie as well.
        alike = key in before and (isinstance(item, Group) or item.cookie == before[key].cookie)
        yield Change(Op.MODIFY if alike else Op.ADD, item)
    # The lowest priority first: what matches a deleted entry meets no other one that goes as well.
    for key in sorted(before.keys() - after.keys()):
        yield Change(Op.DELETE, before[key])


def apply(installed: FlowTable, changes: Iterable[Change]) -> FlowTable:
    """The table after ``changes``, by OpenFlow's semantics."""
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
