"""What a switch does with a packet: OpenFlow's pipeline as Open vSwitch carries it out.

The result is exact or says that it is not: actions that are not understood (``NORMAL``, ``learn``, ...) and
matches on other fields end in :class:`Unanalysed`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from dcnlab.verifier.atoms import Preimage, written
from dcnlab.verifier.openflow import fields
from dcnlab.verifier.openflow.tables import Bucket, Entry, Group, Switch


@dataclass(frozen=True, slots=True)
class Sent:
    """A copy that leaves by a port, with its header."""

    port: int
    header: int


@dataclass(frozen=True, slots=True)
class ToController:
    """A copy that the controller gets."""


@dataclass(frozen=True, slots=True)
class Unanalysed:
    """It is not known what happens, for this reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Void:
    """Open vSwitch gives up: it sends no copy of the packet at all, not even those of earlier actions."""


Copy = Sent | ToController | Unanalysed
#: Of some alternatives, each a tuple of copies, one is taken.
Alternatives = tuple[tuple[Copy, ...], ...]
_Found = tuple[tuple[Copy | _Void, ...], ...]

_NOTHING: Alternatives = ((),)
_PUSHED = fields.packet(vlan_present=1)
_TAG = fields.MASK["vlan_present"] | fields.MASK["dl_vlan"] | fields.MASK["dl_vlan_pcp"]
_SET = re.compile(r"set_field:(\S+)->(\w+)")
_SCRATCH_FIELD = re.compile(r"metadata|x?reg\d+")
_LOAD = re.compile(r"load:(\w+)->(\S+)")
#: Old names of actions that write a field.
_MOD = re.compile(r"mod_(dl_src|dl_dst|nw_src|nw_dst|tp_src|tp_dst|nw_tos|nw_ttl):(\S+)")
_VLAN = re.compile(r"(?:mod|set)_vlan_(vid|pcp):(\S+)")
_NO_EFFECT = re.compile(r"(set_queue|pop_queue|note|meter)\b")
#: The order in which an action set is carried out; the last two exclude each other.
_RANKS = (
    "strip_vlan|pop_vlan",
    "dec_ttl",
    "push_vlan",
    "set_field|mod_",
    "set_queue",
    "group|output|CONTROLLER|IN_PORT",
)


@dataclass(slots=True)
class _Packet:
    """A packet on its path through the tables of one switch."""

    header: int
    in_port: int
    scratch: dict[str, int] = field(default_factory=dict)
    action_set: list[str] = field(default_factory=list)

    def copy(self) -> _Packet:
        return _Packet(self.header, self.in_port, dict(self.scratch), list(self.action_set))


@dataclass(slots=True)
class Noted:
    """What stands out on the paths of packets: entries of one priority that match the same packet and do
    different things, in any table, and the meters that packets pass, which may drop them."""

    overlaps: dict[tuple[Entry, ...], None] = field(default_factory=dict)
    meters: dict[str, None] = field(default_factory=dict)
    #: Why packets are lost: in tables without an entry for them, in groups, at their arrival ports.
    losses: dict[str, None] = field(default_factory=dict)


def process(switch: Switch, in_port: int, header: int, noted: Noted | None = None) -> Alternatives:
    """What the switch does with a packet that arrives at a port."""
    state = switch.ports.get(in_port)
    if state is not None and not state.receives:
        return _NOTHING
    found = _Run(switch, Noted() if noted is None else noted).table(0, _Packet(header, in_port))
    return tuple(dict.fromkeys(map(_sent, found)))


def _sent(copies: tuple[Copy | _Void, ...]) -> tuple[Copy, ...]:
    """The copies of an alternative; none where Open vSwitch gives up."""
    kept = tuple(copy for copy in copies if not isinstance(copy, _Void))
    return kept if len(kept) == len(copies) else ()


def changes(actions: Iterable[str]) -> Iterator[tuple[tuple[int, int], Preimage]]:
    """What the actions of a switch write into packets, with the key of each change."""
    for action in actions:
        inner = (
            action.removeprefix("write_actions(").removesuffix(")")
            if action.startswith("write_actions(")
            else action
        )
        for one in inner.split(",") if inner is not action else (action,):
            try:
                change = _change(one)
            except (fields.Unknown, ValueError):
                continue
            if change is not None:
                yield change, written(*change)


def _change(action: str) -> tuple[int, int] | None:
    """The value and the mask that an action writes; None if it writes nothing into the header."""
    if action in ("pop_vlan", "strip_vlan"):
        return 0, _TAG
    if action.startswith("push_vlan"):
        return _PUSHED, _TAG
    if (match := _VLAN.fullmatch(action)) is not None:
        return fields.read({"vid": "dl_vlan", "pcp": "dl_vlan_pcp"}[match[1]], match[2])
    if (match := _MOD.fullmatch(action)) is not None:
        return fields.read(match[1], match[2])
    if (match := _LOAD.fullmatch(action)) is not None:
        return _loaded(*match.groups())
    if (match := _SET.fullmatch(action)) is not None and match[2] not in ("in_port", "tunnel_id"):
        return None if _SCRATCH_FIELD.fullmatch(match[2]) else fields.read(match[2], match[1])
    return None


def _loaded(value: str, where: str) -> tuple[int, int] | None:
    """What ``load`` writes into the header; None where it writes a register."""
    name, low, bits = fields.part(where)
    if _SCRATCH_FIELD.fullmatch(name):
        return None
    if name not in fields.WIDTH or name.startswith(("dl_vlan", "vlan")):
        raise fields.Unknown(where)
    width = fields.WIDTH[name] if bits is None else bits
    return fields.field(name, int(value, 0) << low, ((1 << width) - 1) << low)


class _Run:
    """One packet in one switch."""

    def __init__(self, switch: Switch, noted: Noted) -> None:
        self._switch, self._noted = switch, noted
        #: The groups whose buckets are carried out, the outermost first.
        self._inside: list[int] = []

    def table(self, number: int, packet: _Packet) -> _Found:
        table = self._switch.tables.get(number)
        entries = [] if table is None else table.find(packet.header, packet.in_port, packet.scratch)
        if not entries:
            if not packet.action_set:
                self._noted.losses[f"no entry of table {number} matches"] = None
            return self._finish(packet)
        alternatives: list[tuple[Copy | _Void, ...]] = []
        if len({entry.actions for entry in entries}) > 1 and not any(entry.unknown for entry in entries):
            self._noted.overlaps[tuple(entries)] = None
        for entry in _distinct(entries):
            if entry.unknown:
                alternatives.append((Unanalysed(f"match on {entry.unknown}"),))
            else:
                alternatives += self._entry(entry, packet.copy())
        return tuple(alternatives)

    def _entry(self, entry: Entry, packet: _Packet) -> _Found:
        following = next((one for one in entry.actions if one.startswith("goto_table:")), None)
        now = self._apply((one for one in entry.actions if one != following), packet)
        if following is None:
            return _together(now, self._finish(packet))
        then = self.table(int(following.partition(":")[2]), packet)
        return _together(now, then)

    def _finish(self, packet: _Packet) -> _Found:
        """After the last table: the action set."""
        return self._set(packet.action_set, packet)

    def _set(self, actions: Iterable[str], packet: _Packet) -> _Found:
        """Carry out an action set: in OpenFlow's order, one action of each kind, a group before an output."""
        last = {_set_key(action): action for action in actions}
        ordered = sorted(last.values(), key=_rank)
        if any(action.startswith("group:") for action in ordered):
            ordered = [
                action for action in ordered if _rank(action) < len(_RANKS) - 1 or action.startswith("group:")
            ]
        return self._apply(ordered, packet)

    def _apply(self, actions: Iterable[str], packet: _Packet) -> _Found:
        """Carry out actions one after the other; they change the packet."""
        done: _Found = _NOTHING
        for action in actions:
            done = _together(done, self._action(action, packet))
        return done

    def _action(self, action: str, packet: _Packet) -> _Found:
        kind, _, argument = action.partition(":")
        if action.isdigit() or kind == "output":
            return self._output(argument or action, packet)
        if kind in ("IN_PORT", "FLOOD", "ALL", "LOCAL", "CONTROLLER") or action.startswith("controller("):
            return self._reserved(kind, packet)
        if kind == "group":
            return self._group(int(argument), packet)
        if kind == "clear_actions":
            packet.action_set.clear()
            return _NOTHING
        if action.startswith("write_actions("):
            packet.action_set += _inside(action)
            return _NOTHING
        return self._write(action, packet)

    def _write(self, action: str, packet: _Packet) -> _Found:
        """An action that changes the packet, or nothing that can be seen."""
        kind, _, argument = action.partition(":")
        if _NO_EFFECT.match(action):
            if kind == "meter":
                self._noted.meters[action] = None
            return _NOTHING
        if kind.startswith("dec_ttl"):
            return (
                _NOTHING if not self._matches_ttl else ((Unanalysed("dec_ttl where entries match the TTL"),),)
            )
        if kind == "write_metadata":
            value, _, mask = argument.partition("/")
            return _scratch("metadata", int(value, 0), int(mask, 0) if mask else (1 << 64) - 1, packet)
        written = _SET.fullmatch(action)
        if written is not None and written[2] == "in_port":
            packet.in_port = int(written[1], 0)
            return _NOTHING
        if written is not None and _SCRATCH_FIELD.fullmatch(written[2]):
            value, _, mask = written[1].partition("/")
            return _scratch(written[2], int(value, 0), int(mask, 0) if mask else (1 << 128) - 1, packet)
        loaded = _LOAD.fullmatch(action)
        if loaded is not None and loaded[2].startswith(("NXM_NX_REG", "OXM_OF_METADATA")):
            name, low, bits = fields.part(loaded[2])
            whole = (1 << (64 if bits is None else bits)) - 1
            return _scratch(name, int(loaded[1], 0) << low, whole << low, packet)
        return self._change(action, packet)

    def _change(self, action: str, packet: _Packet) -> _Found:
        if action.startswith("push_vlan") and fields.get(packet.header, "vlan_present"):
            return ((Unanalysed("a second VLAN tag"),),)
        try:
            change = _change(action)
        except (fields.Unknown, ValueError):
            change = None
        if change is None:
            return ((Unanalysed(f"action {action}"),),)
        value, mask = change
        packet.header = packet.header & ~mask | value
        return _NOTHING

    @property
    def _matches_ttl(self) -> bool:
        return any(entry.match[1] & fields.MASK["nw_ttl"] for entry in self._switch.entries)

    def _output(self, argument: str, packet: _Packet) -> _Found:
        if not argument.isdigit():
            return ((Unanalysed(f"output to {argument}"),),)
        port = int(argument)
        if port == packet.in_port:
            self._noted.losses["a switch sends no packet back by its arrival port"] = None
            return _NOTHING
        return ((Sent(port, packet.header),),) if self._up(port) else _NOTHING

    def _reserved(self, kind: str, packet: _Packet) -> _Found:
        if kind == "LOCAL":
            return _NOTHING
        if kind == "IN_PORT":
            return ((Sent(packet.in_port, packet.header),),) if self._up(packet.in_port) else _NOTHING
        if kind in ("FLOOD", "ALL"):
            ports = [
                port
                for port, state in self._switch.ports.items()
                if port != packet.in_port and state.up and (state.floods or kind == "ALL")
            ]
            return (tuple(Sent(port, packet.header) for port in ports),)
        return ((ToController(),),)

    def _up(self, port: int) -> bool:
        state = self._switch.ports.get(port)
        return state is not None and state.up

    # --- groups -----------------------------------------------------------------

    def _group(self, number: int, packet: _Packet) -> _Found:
        group = self._switch.groups.get(number)
        if group is None:
            self._noted.losses[f"there is no group {number}"] = None
            return _NOTHING
        if number in self._inside:
            return self._circle(self._inside[self._inside.index(number) :])
        alive = [bucket for bucket in group.buckets if self._alive(bucket)]
        if not alive:
            self._noted.losses[f"no bucket of group {number} is alive"] = None
            return _NOTHING
        self._inside.append(number)
        runs = [self._set(bucket.actions, packet.copy()) for bucket in alive]
        self._inside.pop()
        if group.type == "all":
            return tuple(tuple(itertools.chain(*one)) for one in itertools.product(*runs))
        if group.type in ("select", "indirect"):
            return tuple(one for run in runs for one in run)
        if group.type == "fast_failover":
            return runs[0]
        return ((Unanalysed(f"group of type {group.type}"),),)

    def _circle(self, groups: Sequence[int]) -> _Found:
        """Groups that refer to each other in a circle, the next to the first again."""
        if any(self._switch.groups[number].type == "select" for number in groups):
            return ((Unanalysed("select groups in a circle"),),)  # another bucket may be chosen the next time
        if len(groups) == 1:
            self._noted.losses[f"group {groups[0]} refers to itself"] = None
        else:
            self._noted.losses[f"groups {', '.join(map(str, groups))} refer to each other in a circle"] = None
        return ((_Void(),),)

    def _alive(self, bucket: Bucket, depth: int = 0) -> bool:
        """Whether a bucket is used: as long as what it watches is up; without that always."""
        if not bucket.watch_port and bucket.watch_group is None:
            return True
        if bucket.watch_port and self._up(bucket.watch_port):
            return True
        group: Group | None = self._switch.groups.get(-1 if bucket.watch_group is None else bucket.watch_group)
        return (
            group is not None
            and depth < len(self._switch.groups)
            and any(self._alive(one, depth + 1) for one in group.buckets)
        )


def _scratch(name: str, value: int, mask: int, packet: _Packet) -> _Found:
    packet.scratch[name] = packet.scratch.get(name, 0) & ~mask | value & mask
    return _NOTHING


def _inside(action: str) -> list[str]:
    from dcnlab.verifier.openflow.reading import split

    return list(split(action.removeprefix("write_actions(").removesuffix(")")))


def _set_key(action: str) -> str:
    """What two actions of one set must differ in for both to be carried out."""
    written = _SET.fullmatch(action)
    if written is not None:
        return written[2]
    kind = action.partition(":")[0]
    return "output" if _rank(action) == len(_RANKS) - 1 and kind != "group" else kind


def _rank(action: str) -> int:
    return next((rank for rank, kinds in enumerate(_RANKS) if re.match(kinds, action)), len(_RANKS) - 1)


def _together(one: _Found, other: _Found) -> _Found:
    """Both happen: each alternative of one with each of the other."""
    if other == _NOTHING:
        return one
    if one == _NOTHING:
        return other
    return tuple((*a, *b) for a in one for b in other)


def _distinct(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Entries of one priority that do different things."""
    seen = set()
    for entry in entries:
        if (entry.actions, entry.unknown) not in seen:
            seen.add((entry.actions, entry.unknown))
            yield entry
