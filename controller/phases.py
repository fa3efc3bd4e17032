"""New tables in phases, for schemes whose packets can loop in any order of switches.

The low bits of destination addresses, which labels leave free, hold the number of an update.

1. Each switch that changes gets its new table beside the old one, for packets with the number.
2. Its other entries do what the new table says, and write the number.
3. The new table alone is left.

When all switches are done with a phase the next one begins.  A packet follows old tables until it meets the
first switch that has changed, and new ones from there on.  So it never loops where neither do.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace

from addressing.fields import mac
from addressing.header import Field
from addressing.scheme import Scheme
from controller import plan, rules
from controller.rules import (
    Action,
    Actions,
    Bucket,
    FlowTable,
    Group,
    Masked,
    Match,
    Rule,
    SetField,
    Stamp,
    ToGroup,
)

BESIDE, SWITCHED, ALONE = 1, 2, 3
#: All phases; 0 is the new table at once.
PHASES = BESIDE, SWITCHED, ALONE
#: Why an update cannot change in phases.
NO_ROOM = "its labels leave no bit of an address free to number the update"
#: Numbers of more bits are not needed: one comes again when packets of its last update have long arrived.
_BITS = 8
#: Entries for packets with a number come before all others of the scheme, and after those for ARP.
_FIRST = 0x100


def room(*schemes: Scheme) -> int:
    """How many bits updates can number; 0 where servers relay, or labels leave no room in addresses."""
    if any(one.label_field is not Field.ETH_DST or one.fabric.relaying for one in schemes):
        return 0
    return max(0, min(_BITS, *(mac.BITS - one.label_bits for one in schemes)))


@dataclass
class Update:
    """An update in phases: the scheme before it, and what tells its packets from others; None where labels
    leave no room for it."""

    before: Scheme
    stamp: Stamp | None = None
    number: int = 0
    #: New tables as far as they are known.
    tables: dict[Hashable, FlowTable] = field(default_factory=dict)

    def following(self, before: Scheme, after: Scheme) -> Update:
        """The next update."""
        bits = room(before, after)
        stamp = Stamp(1 + self.number % ((1 << bits) - 1), bits) if bits else None
        return Update(before, stamp, self.number + 1)

    def table(self, phase: int, held: FlowTable, key: Hashable, compiled: Callable[[], FlowTable]) -> FlowTable:
        """What a switch that has the table ``held`` is to hold after a phase; ``key`` names its new table."""
        if phase == 0:
            return compiled()
        if key not in self.tables:
            self.tables[key] = compiled()
        new = self.tables[key]
        return new if self.stamp is None or held == new else table(phase, held, new, self.stamp)


def table(phase: int, installed: FlowTable, new: FlowTable, stamp: Stamp) -> FlowTable:
    """What a switch holds after a phase, if it holds ``installed`` and is to hold ``new``."""
    if phase not in (BESIDE, SWITCHED):
        return new
    stamped = _stamped(new, stamp)
    numbered = frozenset(_numbered(stamped.rules, stamp))
    below = installed if phase == BESIDE else stamped
    return FlowTable(below.rules | numbered, below.groups | stamped.groups)


def _stamped(table: FlowTable, stamp: Stamp) -> FlowTable:
    """A table that writes the number of an update into packets."""
    buckets = {
        group.id: tuple(Bucket(one.weight, _writing(one.actions, stamp)) for one in group.buckets)
        for group in table.groups
    }
    numbers = plan.group_numbers(set(buckets.values()))

    def mapped(action: Action) -> Action:
        return ToGroup(numbers[buckets[action.group]]) if isinstance(action, ToGroup) else action

    stamped = {
        replace(rule, actions=tuple(map(mapped, _writing(rule.actions, stamp))))
        if rule.cookie == rules.TABLE_COOKIE
        else rule
        for rule in table.rules
    }
    return FlowTable(frozenset(stamped), frozenset(Group(n, some) for some, n in numbers.items()))


def _writing(actions: Actions, stamp: Stamp) -> Actions:
    """Actions with the number written before packets leave: not for a host, nor by a group, whose buckets
    write it."""
    if not actions or isinstance(actions[-1], ToGroup) or any(map(_to_host, actions)):
        return actions
    return (*actions[:-1], stamp, actions[-1])


def _to_host(action: Action) -> bool:
    """Whether an action writes the address of an interface, which is no label."""
    return (
        isinstance(action, SetField)
        and action.field == "eth_dst"
        and action.value & mac.FIXED_MASK != mac.FIXED
    )


def _numbered(table: Iterable[Rule], stamp: Stamp) -> Iterable[Rule]:
    """A table's entries for packets with the number of an update; what matches none of them is dropped."""
    mask = (1 << stamp.bits) - 1
    for rule in table:
        if rule.cookie == rules.TABLE_COOKIE:
            at = Masked(rule.match.eth_dst.value | stamp.value, rule.match.eth_dst.mask | mask)
            yield replace(rule, priority=_FIRST + rule.priority, match=replace(rule.match, eth_dst=at))
    every = Masked(mac.FIXED | stamp.value, mac.FIXED_MASK | mask)
    yield Rule(_FIRST, Match(eth_dst=every), ())
