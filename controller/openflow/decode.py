"""What switches answer about their tables, as rules and groups: the reverse of :mod:`encode`."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Any

from controller.openflow.backend import ofp, parser
from controller.rules import (
    ANY,
    OUR_COOKIES,
    Action,
    Actions,
    Bucket,
    FieldName,
    FlowTable,
    Group,
    Masked,
    Match,
    Output,
    Rule,
    SetField,
    Stamp,
    ToGroup,
)

_WIDTHS = {"eth_src": 48, "eth_dst": 48, "ipv4_dst": 32, "ipv6_dst": 128}
_WRITTEN: dict[str, FieldName] = {
    "in_port_nxm": "in_port",
    "eth_src": "eth_src",
    "eth_dst": "eth_dst",
    "ipv4_dst": "ip_dst",
}


class Foreign(ValueError):
    """An entry that the controller cannot have installed."""


class TableReader:
    """Collects the parts of the answers of one switch.

    With ``own_only`` it passes over what other applications have installed.
    """

    def __init__(self, own_only: bool = False) -> None:
        self._own_only = own_only
        self._rules: set[Rule] = set()
        self._groups: set[Group] = set()
        self._open = {False, True}
        self._foreign = False

    def add(self, body: Iterable[Any], is_groups: bool, last: bool) -> None:
        """Add a part of the answer about groups, or about flows."""
        if self._own_only and not is_groups:
            body = [stats for stats in body if stats.cookie in OUR_COOKIES]
        try:
            if is_groups:
                self._groups.update(map(group, body))
            else:
                self._rules.update(map(rule, body))
        except (Foreign, KeyError, ValueError):
            self._foreign = True
        if last:
            self._open.discard(is_groups)

    @property
    def complete(self) -> bool:
        """Whether both answers are complete."""
        return not self._open

    @property
    def table(self) -> FlowTable | None:
        """What the switch holds; None where entries are among it that the controller cannot have installed."""
        if self._foreign:
            return None
        used = {action.group for one in self._rules for action in one.actions if isinstance(action, ToGroup)}
        groups = (one for one in self._groups if not self._own_only or one.id in used)
        return FlowTable(frozenset(self._rules), frozenset(groups))


def rule(stats: Any) -> Rule:
    """A flow entry; Foreign for one that is not the controller's."""
    actions: list[Any] = []
    for instruction in stats.instructions:
        if instruction.type != ofp.OFPIT_APPLY_ACTIONS:
            raise Foreign(f"instruction {instruction.type}")
        actions += instruction.actions
    return Rule(stats.priority, _match(dict(stats.match.items())), _actions(actions), stats.cookie)


def group(stats: Any) -> Group:
    """A group; Foreign for one that is not the controller's."""
    if stats.type != ofp.OFPGT_SELECT:
        raise Foreign(f"group of type {stats.type}")
    return Group(
        stats.group_id, tuple(Bucket(bucket.weight, _actions(bucket.actions)) for bucket in stats.buckets)
    )


def _match(fields: dict[str, Any]) -> Match:
    addresses = {name: _masked(name, fields.pop(name)) for name in _WIDTHS if name in fields}
    in_port, eth_type, icmpv6_type = (fields.pop(name, 0) for name in ("in_port", "eth_type", "icmpv6_type"))
    fields.pop("ip_proto", None)  # with icmpv6_type
    if fields:
        raise Foreign(f"match on {', '.join(fields)}")
    source, target, target4, target6 = (addresses.get(name, ANY) for name in _WIDTHS)
    return Match(in_port, eth_type, source, target, target4, target6, icmpv6_type)


def _masked(name: str, field: Any) -> Masked:
    width = _WIDTHS[name]
    value, mask = field if isinstance(field, tuple) else (field, None)
    return Masked(_number(value), (1 << width) - 1 if mask is None else _number(mask))


def _number(text: str) -> int:
    """A MAC, IPv4 or IPv6 address as a number."""
    if text.count(":") == 5 and len(text) == 17:
        return int(text.replace(":", ""), 16)
    return int(ipaddress.ip_address(text))


def _actions(actions: Iterable[Any]) -> Actions:
    return tuple(map(_action, actions))


def _action(action: Any) -> Action:
    if isinstance(action, parser.NXActionRegLoad) and action.dst in ("eth_dst", "eth_dst_nxm"):
        return Stamp(action.value, 1 + action.ofs_nbits)  # the number of an update: the first bit is bit 0
    match action.type:
        case ofp.OFPAT_OUTPUT:
            return Output(action.port)
        case ofp.OFPAT_GROUP:
            return ToGroup(action.group_id)
        case ofp.OFPAT_SET_FIELD:
            value = action.value
            return SetField(_WRITTEN[action.key], value if isinstance(value, int) else _number(value))
    raise Foreign(f"action {action.type}")
