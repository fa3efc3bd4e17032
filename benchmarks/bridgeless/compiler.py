"""The process that stands in for the controller: it writes what switches should hold into the maps itself.

It runs the controller's own decisions (:mod:`controller.core`), whose messages it does not send: it lowers the
tables as the switch fast path does, and answers each barrier when the maps are written.
"""

from __future__ import annotations

import itertools
import multiprocessing
import time
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection
from typing import Any

from addressing.scheme import Scheme
from controller import plan
from controller.core import Core
from controller.effects import Effect, Send
from controller.openflow import encode
from controller.plan import Change
from controller.rules import FlowTable
from controller.rules import Group as OurGroup
from dcnlab.lab.switchpath.entries import Lookup, lower
from dcnlab.lab.switchpath.maps import SwitchMaps
from dcnlab.lab.switchpath.monitor import Bucket, Entry, Group, Key

_SELECT, _HEAD, _INSTRUCTION = 1, 4, 8
#: The interface of each port, by switch.
Interfaces = dict[int, dict[int, int]]


def lowered(table: FlowTable, interfaces: dict[int, int]) -> Lookup:
    """A table of the controller as the kernel's programs look it up."""
    entries = {}
    for rule in table.rules:
        match = encode._match(rule.match)
        fields = match[_HEAD : int.from_bytes(match[2:4], "big")]
        entries[Key(0, rule.priority, fields)] = Entry(encode._instructions(rule.actions), 0)
    return lower(entries, dict(map(_group, table.groups)), interfaces)


def _group(group: OurGroup) -> tuple[int, Group]:
    buckets = (
        Bucket(bucket.weight, encode._instructions(bucket.actions)[_INSTRUCTION:]) for bucket in group.buckets
    )
    return group.id, Group(_SELECT, tuple(buckets))


class Compiler:
    """The process.  It is asked by :meth:`call`, of one request at a time."""

    def __init__(self, scheme: Scheme, maps: SwitchMaps, interfaces: Interfaces) -> None:
        """Fork it; it begins at once to write all tables."""
        self._own, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("fork").Process(
            target=_serve, args=(theirs, scheme, maps, interfaces), daemon=True
        )
        self.process.start()
        theirs.close()

    def await_tables(self) -> int:
        """Wait until all tables are written; the number of entries."""
        return int(self._own.recv())

    def call(self, what: str, *words: Any) -> Any:
        """Have it do something and wait for the result."""
        self._own.send((what, *words))
        return self._own.recv()


class _Tables:
    """The tables of all switches, in the maps."""

    def __init__(self, scheme: Scheme, maps: SwitchMaps, interfaces: Interfaces) -> None:
        self._maps, self._interfaces = maps, interfaces
        self._held: dict[int, FlowTable] = {}
        self._core = Core(scheme, time.monotonic())
        self._core.prepare_all()
        for switch in self._core.switches:
            self._carry_out(self._core.connected(switch))

    @property
    def entries(self) -> int:
        return sum(table.entries for table in self._held.values())

    def links(self, down: Iterable[int]) -> int:
        """Follow link state; the number of changes of entries and groups."""
        return self._carry_out(self._core.links(down, time.monotonic(), 1))

    def messages(self, switches: Iterable[int]) -> dict[int, bytes]:
        """The tables of switches as OpenFlow messages."""
        return {one: encode.changes(plan.diff(FlowTable(), self._held[one])) for one in switches}

    def _carry_out(self, effects: Iterator[Effect]) -> int:
        count = 0
        for effect in effects:
            if isinstance(effect, Send):
                self._install(effect.switch, effect.changes)
                count += len(effect.changes)
                count += self._carry_out(self._core.barrier(effect.barrier_id, time.monotonic()))
        return count

    def _install(self, switch: int, changes: tuple[Change, ...]) -> None:
        if changes:
            table = plan.apply(self._held.get(switch, FlowTable()), changes)
            self._held[switch] = table
            number = switch - self._core.fabric.servers
            self._maps.install(number, lowered(table, self._interfaces[switch]))


def _serve(asked: Connection, scheme: Scheme, maps: SwitchMaps, interfaces: Interfaces) -> None:
    tables = _Tables(scheme, maps, interfaces)
    asked.send(tables.entries)
    for _ in itertools.count():
        what, *words = asked.recv()
        asked.send(getattr(tables, what)(*words))
