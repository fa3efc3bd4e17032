"""Keeps the maps of the switch fast path as the switches' tables are.

A flow monitor on each bridge's own socket reports the entries and every change, by any client:
the lab's controller, another one, ``ovs-ofctl``.  At the first byte of a change the switch's entries are
disabled, so that Open vSwitch decides until the new ones are in place.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

from controller.rules import Rule
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.running import Running
from dcnlab.lab.emulation.switches.answering import behind
from dcnlab.lab.emulation.switches.rows import Bridge
from dcnlab.lab.emulation.switches.shards import Shard
from dcnlab.lab.errors import LabError
from dcnlab.lab.switchpath import entries, monitor
from dcnlab.lab.switchpath.maps import SwitchMaps
from dcnlab.lab.switchpath.monitor import Entry, Key, Monitor
from hostagent.linux import bpf, descriptors
from hostagent.linux.netlink import Netlink
from hostagent.options import FastPathMode

#: Seconds between two attempts to reach a daemon, and for it to answer a barrier.
_RETRY, _PATIENCE = 0.2, 10.0
_RECEIVE = 1 << 18


class SwitchFastPath:
    """The switch fast path of a lab."""

    def __init__(self, shards: Sequence[Shard], version: int) -> None:
        """The switches speak ``version`` of OpenFlow; raises LabError where the kernel or its security policy
        forbids it."""
        bridges = [(shard, bridge) for shard in shards for bridge in shard.bridges]
        try:
            self._maps = SwitchMaps.open(len(bridges))
        except bpf.BpfError as error:
            raise LabError(f"the kernel refuses: {error.strerror}") from error
        indices = {shard.index: netns.inside(shard.netns, _interface_indices) for shard in shards}
        self._switches = {}
        for number, (shard, bridge) in enumerate(bridges):
            ports = {port: indices[shard.index][name] for name, port in bridge.ports}
            self._switches[bridge.name] = _Switch(number, shard, bridge, ports, version)
            self._maps.add_ports(number, ports.values())
            self._maps.set_basis(number, zlib.crc32(bridge.dpid.to_bytes(8, "big")))
        self._selector = selectors.DefaultSelector()
        self._answered = threading.Condition()
        self._barrier = 0
        try:
            for shard in shards:
                self.attach(shard)
        except OSError as error:
            raise LabError(f"the kernel refuses: {error.strerror}") from error

    def start(self) -> None:
        """Follow the tables of all switches until this process ends; they are in the maps when this returns."""
        for switch in self._switches.values():
            self._connect(switch)
        threading.Thread(target=self._follow, name="switch fast path", daemon=True).start()
        self.await_tables()

    def attach(self, shard: Shard) -> None:
        """Attach the programs at the ports of a shard: again where sockets or queueing disciplines are new.
        Raises OSError where that is forbidden or the daemon has ended."""
        own = {
            name: switch.ports[port]
            for switch in self._switches.values()
            if switch.shard is shard
            for name, port in switch.bridge.ports
        }
        netns.inside(shard.netns, partial(self._maps.attach, own.values()))
        for handle in descriptors.sockets(shard.daemon, socket.AF_PACKET):
            with handle:
                if handle.getsockname()[0] in own:
                    self._maps.attach_filter(handle)

    def await_tables(self, among: Collection[str] | None = None) -> None:
        """Wait until the maps are as the tables of the switches, all or those named, are now."""
        with self._answered:
            self._barrier += 1
            wanted = self._barrier
        chosen = (one for name, one in self._switches.items() if among is None or name in among)
        asked = [switch for switch in chosen if switch.ask(wanted)]
        with self._answered:
            self._answered.wait_for(lambda: all(one.has_answered(wanted) for one in asked), _PATIENCE)

    def counts(self, bridge: str) -> tuple[int, int]:
        """Packets and bytes that the kernel has forwarded for a switch."""
        return self._maps.counts(self._switches[bridge].number) if bridge in self._switches else (0, 0)

    def packets(self, bridge: str, rule: Rule) -> int:
        """Packets that the kernel has forwarded by one entry of a switch, since it was installed."""
        if (switch := self._switches.get(bridge)) is None:
            return 0
        return self._maps.entry_count(switch.number, *entries.place(rule, switch.ports))[0]

    def entry_counts(
        self, bridge: str, table: int, priority: int, match: bytes, removed: bool
    ) -> tuple[int, int]:
        """Packets and bytes that the kernel has forwarded by an entry, whose match has OpenFlow 1.3's fields;
        of one that was ``removed``, what it had counted then."""
        if (switch := self._switches.get(bridge)) is None:  # it came after the launch
            return 0, 0
        place = entries.place_of(priority, match, switch.ports)
        if table or place is None:  # the kernel has the first table only
            return 0, 0
        return self._maps.entry_count(switch.number, *place, removed=removed)

    def carried(self, bridge: str) -> bool:
        """Whether the kernel has the entries of a switch."""
        return bridge in self._switches and self._switches[bridge].carried

    def leave(self, bridge: str) -> None:
        """Leave all frames to a switch from now on: its ports have become other interfaces."""
        if (switch := self._switches.get(bridge)) is None:
            return
        switch.left = True
        self._maps.disable(switch.number)

    def _connect(self, switch: _Switch) -> None:
        if switch.connect():
            assert switch.socket is not None
            self._selector.register(switch.socket, selectors.EVENT_READ, switch)

    def _follow(self) -> None:
        retry = 0.0
        while True:
            lost = [switch for switch in self._switches.values() if switch.socket is None]
            for key, _ in self._selector.select(_RETRY if lost else None):
                self._read(key.data)
            if lost and time.monotonic() >= retry:
                retry = time.monotonic() + _RETRY
                for switch in lost:
                    self._connect(switch)

    def _read(self, switch: _Switch) -> None:
        """Read all that a switch has sent, then bring its entries up to date."""
        changed = False
        try:
            for data in switch.received():
                for change in switch.monitor.feed(data):
                    if not changed:
                        self._maps.disable(switch.number)
                        changed = True
                    if change is not None:
                        switch.change(*change)
            switch.reply()
        except (OSError, monitor.MonitorError):
            assert switch.socket is not None
            self._maps.disable(switch.number)
            self._selector.unregister(switch.socket)
            switch.disconnect()
            changed = False
        if changed and not switch.monitor.awaits_groups:
            places = (entries.place_of(key.priority, key.match, switch.ports) for key in switch.deleted)
            self._maps.forget(switch.number, filter(None, places))
            switch.deleted.clear()
            seen = switch.monitor
            lookup = entries.lower(switch.table, seen.groups, switch.ports, seen.live)
            switch.carried = self._maps.install(switch.number, lookup) and not switch.left
            if switch.left:
                self._maps.disable(switch.number)
        if not switch.monitor.awaits_groups:
            switch.answered = switch.monitor.barrier
        with self._answered:
            self._answered.notify_all()


def launch(mode: FastPathMode, running: Running) -> tuple[SwitchFastPath | None, str]:
    """Start the switch fast path of a lab, which ``mode`` asks for: the path, if there is one, and ``on``, or
    ``off`` with the reason.  Raises LabError where it must be on and the kernel forbids it."""
    buffers = running.receive_buffers
    if not running.shards or buffers is None:
        reason = "Open vSwitch's datapath is in the kernel" if running.shards else "there are no switches"
        return None, f"off: {reason}"
    try:
        path = SwitchFastPath(
            running.shards, monitor.OPENFLOW_15 if running.choice.tables else monitor.OPENFLOW_13
        )
    except LabError as error:
        if mode == "on":
            hint = "`--switch-fast-path auto` does without it"
            raise LabError(f"no switch fast path: {error}; {hint}") from error
        return None, f"off: {error}"
    path.start()

    def attach(shard: Shard) -> None:
        with contextlib.suppress(OSError):  # the daemon has just ended: it will change ports again
            path.attach(shard)

    buffers.on_change = attach
    return path, "on"


@dataclass
class _Switch:
    """A switch: the interface index of each port, the connection to it, and its table."""

    number: int
    shard: Shard
    bridge: Bridge
    ports: dict[int, int]
    version: int = monitor.OPENFLOW_15
    table: dict[Key, Entry] = field(default_factory=dict)
    #: What was deleted since the kernel's entries were installed: it counts from 0 where it has come back.
    deleted: set[Key] = field(default_factory=set)
    monitor: Monitor = field(default_factory=Monitor)
    socket: socket.socket | None = None
    carried: bool = False
    #: Whether the kernel forwards nothing for it, since its ports have changed.
    left: bool = False
    #: The number of the last barrier up to which the maps are as the table is.
    answered: int = 0

    def connect(self) -> bool:
        """Connect, and ask for all entries; False where no daemon listens."""
        path, fresh = self.shard.rundir / f"{self.bridge.name}.mgmt", Monitor(self.version)
        for one in (behind(path), path):  # what stands before the switch would only pass its reports on
            handle = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
            try:
                handle.connect(str(one))
                handle.sendall(fresh.hello())
                break
            except OSError:
                handle.close()
        else:
            return False
        handle.setblocking(False)
        self.table, self.deleted, self.monitor = {}, set(), fresh
        self.socket, self.answered = handle, 0
        return True

    def disconnect(self) -> None:
        """Close the connection: nothing is known of the table any more."""
        if self.socket is not None:
            self.socket.close()
        self.socket, self.carried = None, False

    def received(self) -> list[bytes]:
        """All bytes that have come; ConnectionError when the daemon has closed the connection."""
        assert self.socket is not None
        messages = []
        with contextlib.suppress(BlockingIOError):
            while True:
                messages.append(self.socket.recv(_RECEIVE))
                if not messages[-1]:
                    raise ConnectionResetError
        return messages

    def reply(self) -> None:
        """Send what the switch waits for: a daemon ends a connection on which nobody answers its echoes."""
        if self.socket is not None and self.monitor.replies:
            replies, self.monitor.replies = self.monitor.replies, b""
            self.socket.sendall(replies)

    def change(self, key: Key, entry: Entry | None) -> None:
        """Apply a change that the switch has reported."""
        if entry is None:
            self.table.pop(key, None)
            self.deleted.add(key)
        else:
            self.table[key] = entry

    def ask(self, barrier: int) -> bool:
        """Send a barrier; False while there is no connection."""
        try:
            if self.socket is not None:
                self.socket.send(self.monitor.ask(barrier))
        except OSError:
            return False
        return self.socket is not None

    def has_answered(self, barrier: int) -> bool:
        """Whether the switch has answered a barrier, or the connection has ended."""
        return self.socket is None or self.answered >= barrier


def _interface_indices() -> dict[str, int]:
    with Netlink() as netlink:
        return {name: one.index for name, one in netlink.interfaces().items()}
