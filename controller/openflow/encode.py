"""Rules and groups as OpenFlow messages: bytes, built without a connection.

All are of version 1.3, except those that only version 1.5 can state.
"""

from __future__ import annotations

import functools
import struct
import zlib
from collections.abc import Iterable
from typing import Any

from addressing.fields import ipv4, ipv6, mac
from controller import rules
from controller.openflow.backend import ofp, parser, protocol
from controller.plan import Change, Op
from controller.rules import Actions, Group, Match, Output, Rule, SetField

#: In place of a connection: messages depend on the version only, not on the switch.
_NOWHERE = protocol.ProtocolDesc(version=ofp.OFP_VERSION)

_FLOW_COMMANDS = {
    Op.ADD: ofp.OFPFC_ADD,
    Op.MODIFY: ofp.OFPFC_MODIFY_STRICT,
    Op.DELETE: ofp.OFPFC_DELETE_STRICT,
}
_ICMPV6 = 58
_ALL64 = (1 << 64) - 1
_FIRST_TABLE, _NO_TIMEOUTS, _NO_FLAGS = 0, (0, 0), 0
#: The version in the header of OpenFlow 1.5's messages.
OPENFLOW_15 = 6
#: OpenFlow 1.5: header, command, type, group, size of the buckets, bucket of the command.
_GROUP_15 = struct.Struct("!BBHI HBxI H2xI")
#: OpenFlow 1.5: size of the bucket and of its actions, number; after the actions the property "weight".
_BUCKET_15, _WEIGHT_15 = struct.Struct("!HHI"), struct.Struct("!HHH2x")
#: Open vSwitch's property "selection method": type, size, Netronome's number, kind, method, parameter.
_SELECTION = struct.Struct("!HHII4x16sQ")
_EXPERIMENTER, _NETRONOME, _SELECTION_METHOD, _ALL_BUCKETS = 0xFFFF, 0x154D, 1, 0xFFFFFFFF
_GROUP_COMMANDS = {Op.ADD: ofp.OFPGC_ADD, Op.MODIFY: ofp.OFPGC_MODIFY, Op.DELETE: ofp.OFPGC_DELETE}


def changes(items: Iterable[Change]) -> bytes:
    """The flow and group messages of changes, concatenated."""
    return b"".join(
        _flow(change.op, change.item) if isinstance(change.item, Rule) else _group(change.op, change.item)
        for change in items
    )


def reset() -> bytes:
    """Delete all flows and all groups."""
    flows = parser.OFPFlowMod(
        _NOWHERE,
        command=ofp.OFPFC_DELETE,
        table_id=ofp.OFPTT_ALL,
        out_port=ofp.OFPP_ANY,
        out_group=ofp.OFPG_ANY,
    )
    groups = parser.OFPGroupMod(_NOWHERE, ofp.OFPGC_DELETE, ofp.OFPGT_ALL, ofp.OFPG_ALL, [])
    return _bytes(flows) + _bytes(groups)


def reset_own(items: Iterable[Change]) -> bytes:
    """Delete the flows with our cookies, and the groups that ``items`` will add."""
    flows = [
        parser.OFPFlowMod(
            _NOWHERE,
            cookie=cookie,
            cookie_mask=_ALL64,
            command=ofp.OFPFC_DELETE,
            table_id=ofp.OFPTT_ALL,
            out_port=ofp.OFPP_ANY,
            out_group=ofp.OFPG_ANY,
        )
        for cookie in rules.OUR_COOKIES
    ]
    groups = [change.item for change in items if isinstance(change.item, Group)]
    return b"".join(map(_bytes, flows)) + b"".join(_group(Op.DELETE, group) for group in groups)


def table_requests() -> bytes:
    """Ask for all flows and all groups."""
    return _bytes(parser.OFPFlowStatsRequest(_NOWHERE)) + _bytes(parser.OFPGroupDescStatsRequest(_NOWHERE))


def barrier(xid: int) -> bytes:
    """A barrier request; the reply carries the same ``xid``."""
    return _bytes(parser.OFPBarrierRequest(_NOWHERE), xid)


def packet_out(port: int, frame: bytes) -> bytes:
    """Send ``frame`` out of ``port``."""
    actions = [parser.OFPActionOutput(port)]
    return _bytes(parser.OFPPacketOut(_NOWHERE, ofp.OFP_NO_BUFFER, ofp.OFPP_CONTROLLER, actions, frame))


def _bytes(message: Any, xid: int = 0) -> bytes:
    message.set_xid(xid)
    message.serialize()
    return bytes(message.buf)


@functools.lru_cache(maxsize=1 << 17)
def _flow(op: Op, rule: Rule) -> bytes:
    """A flow message, cached: rules recur from switch to switch, their instructions from rule to rule."""
    parts = _match(rule.match) + (b"" if op is Op.DELETE else _instructions(rule.actions))
    fixed = struct.pack(
        ofp.OFP_FLOW_MOD_PACK_STR0,
        rule.cookie,
        0,
        _FIRST_TABLE,
        _FLOW_COMMANDS[op],
        *_NO_TIMEOUTS,
        rule.priority,
        ofp.OFP_NO_BUFFER,
        ofp.OFPP_ANY,
        ofp.OFPG_ANY,
        _NO_FLAGS,
    )
    length = ofp.OFP_HEADER_SIZE + len(fixed) + len(parts)
    header = struct.pack(ofp.OFP_HEADER_PACK_STR, ofp.OFP_VERSION, ofp.OFPT_FLOW_MOD, length, 0)
    return header + fixed + parts


#: The bytes of an instruction before its actions.
_INSTRUCTION_SIZE = 8


@functools.lru_cache(maxsize=1 << 16)
def _instructions(actions: Actions) -> bytes:
    written = bytearray()
    if actions:
        parser.OFPInstructionActions(ofp.OFPIT_APPLY_ACTIONS, _actions(actions)).serialize(written, 0)
    return bytes(written)


def _group(op: Op, group: Group) -> bytes:
    buckets = [
        parser.OFPBucket(bucket.weight, ofp.OFPP_ANY, ofp.OFPG_ANY, _actions(bucket.actions))
        for bucket in (group.buckets if op is not Op.DELETE else ())
    ]
    return _bytes(parser.OFPGroupMod(_NOWHERE, _GROUP_COMMANDS[op], ofp.OFPGT_SELECT, group.id, buckets))


def hashed_group(group: Group, basis: int) -> bytes:
    """OpenFlow 1.5: have a group that exists choose by the datapath's hash of the flow with ``basis``.

    A flow is addresses, protocol and ports.  Without this message the basis is 0: all switches on a path decide
    alike, and the hash of the userspace datapath leaves out the ports of UDP.
    """
    buckets = b"".join(map(_bucket_15, range(len(group.buckets)), group.buckets))
    size = _SELECTION.size
    method = (_EXPERIMENTER, size, _NETRONOME, _SELECTION_METHOD, b"dp_hash", _spread(basis))
    length = _GROUP_15.size + len(buckets) + size
    fixed = (ofp.OFPGC_MODIFY, ofp.OFPGT_SELECT, group.id, len(buckets), _ALL_BUCKETS)
    head = _GROUP_15.pack(OPENFLOW_15, ofp.OFPT_GROUP_MOD, length, 0, *fixed)
    return head + buckets + _SELECTION.pack(*method)


def _spread(basis: int) -> int:
    """32 bits that differ in about half of them for two small numbers."""
    return zlib.crc32(struct.pack("!Q", basis))


def _bucket_15(number: int, bucket: rules.Bucket) -> bytes:
    actions = _instructions(bucket.actions)[_INSTRUCTION_SIZE:]
    head = _BUCKET_15.pack(_BUCKET_15.size + len(actions) + _WEIGHT_15.size, len(actions), number)
    return head + actions + _WEIGHT_15.pack(0, _WEIGHT_15.size, bucket.weight)


def _match(match: Match) -> bytes:
    fields: dict[str, Any] = {}
    if match.in_port:
        fields["in_port"] = match.in_port
    if match.eth_type:
        fields["eth_type"] = match.eth_type
    if match.icmpv6_type:
        fields |= {"ip_proto": _ICMPV6, "icmpv6_type": match.icmpv6_type}
    for name, masked, text in (
        ("eth_src", match.eth_src, mac.text),
        ("eth_dst", match.eth_dst, mac.text),
        ("ipv4_dst", match.ipv4_dst, ipv4.text),
        ("ipv6_dst", match.ipv6_dst, ipv6.text),
    ):
        if masked.mask:
            fields[name] = (text(masked.value), text(masked.mask))
    written = bytearray()
    parser.OFPMatch(**fields).serialize(written, 0)
    return bytes(written)


def _actions(actions: Actions) -> list[Any]:
    return [_action(action) for action in actions]


def _action(action: rules.Action) -> Any:
    if isinstance(action, Output):
        return parser.OFPActionOutput(action.port, ofp.OFPCML_NO_BUFFER)
    if isinstance(action, SetField):
        name, write = _FIELDS[action.field]
        return parser.OFPActionSetField(**{name: write(action.value)})
    if isinstance(action, rules.Stamp):
        return parser.NXActionRegLoad(action.bits - 1, "eth_dst_nxm", action.value)
    return parser.OFPActionGroup(action.group)


_FIELDS: dict[str, tuple[str, Any]] = {
    "in_port": ("in_port_nxm", int),  # OpenFlow's own field cannot be set; Open vSwitch's older name can.
    "eth_src": ("eth_src", mac.text),
    "eth_dst": ("eth_dst", mac.text),
    "ip_dst": ("ipv4_dst", ipv4.text),
}
