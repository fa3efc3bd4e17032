"""The maps of a lab's switch fast path, and the interfaces and sockets that its programs are attached to."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import socket
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from dcnlab.lab.switchpath import entries, program
from dcnlab.lab.switchpath.classifier import classifier
from dcnlab.lab.switchpath.entries import Action, Lookup, Shape
from dcnlab.lab.switchpath.filter import socket_filter
from dcnlab.lab.switchpath.program import Descriptors
from hostagent.linux import bpf
from hostagent.linux.netlink import Netlink
from hostagent.linux.traffic_control import attach_ingress

#: Entries of a lab: the map takes memory for those that it has.
_MAX_ENTRIES = 1 << 20
_SO_ATTACH_BPF = 50
#: The number of the block of filters that the ports in a namespace share.
_BLOCK = 220
#: Removed entries of a switch whose counters are kept.
_MAX_REMOVED = 4096


@dataclass
class SwitchMaps:
    """Descriptors of the maps and programs, and what they hold."""

    descriptors: Descriptors
    filter: int
    classifier: int
    _memory: mmap.mmap
    _held: dict[int, _Held] = field(default_factory=dict)

    @classmethod
    def open(cls, switches: int) -> Self:
        """Open them for so many switches; raises :class:`bpf.BpfError` where the kernel allows none."""
        with contextlib.ExitStack() as undo:

            def opened(descriptor: int) -> int:
                undo.callback(os.close, descriptor)
                return descriptor

            size, key = entries.ACTION.size, program.ENTRY_KEY.size
            maps = Descriptors(
                ports=opened(bpf.create_map(bpf.HASH, 4, 4, _MAX_ENTRIES, bpf.NO_PREALLOC)),
                switches=opened(bpf.create_map(bpf.ARRAY, 4, program.SWITCH_SIZE, switches, bpf.MMAPABLE)),
                entries=opened(bpf.create_map(bpf.HASH, key, size, _MAX_ENTRIES, bpf.NO_PREALLOC)),
                slots=opened(bpf.create_map(bpf.PERCPU_ARRAY, 4, program.SLOT.size, 1)),
            )
            filter_ = opened(bpf.load_socket_filter(socket_filter(maps)))
            classifier_ = opened(bpf.load_classifier(classifier(maps)))
            memory = mmap.mmap(
                maps.switches, -(-switches * program.SWITCH_SIZE // mmap.PAGESIZE) * mmap.PAGESIZE
            )
            undo.pop_all()
        return cls(maps, filter_, classifier_, memory)

    def close(self) -> None:
        """Give the descriptors up; programs that are attached go on with their maps."""
        self._memory.close()
        for descriptor in (*self.descriptors.all, self.filter, self.classifier):
            os.close(descriptor)

    def add_ports(self, switch: int, interfaces: Iterable[int]) -> None:
        """Frames that arrive by these interfaces are a switch's."""
        for index in interfaces:
            bpf.update(self.descriptors.ports, struct.pack("=I", index), struct.pack("=I", switch))

    def attach(self, interfaces: Iterable[int]) -> None:
        """Attach the classifier to those of the interfaces that the present namespace has, as often as wanted.

        An interface that gets its first one sends nothing for a moment: the kernel replaces its queues.
        """
        with Netlink() as netlink:
            attach_ingress(netlink, interfaces, self.classifier, _BLOCK)

    def attach_filter(self, handle: socket.socket) -> None:
        """Attach the filter to the packet socket of a port whose interface has the classifier."""
        handle.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_BPF, struct.pack("=i", self.filter))

    def disable(self, switch: int) -> None:
        """Leave all frames to the switch: one write."""
        struct.pack_into("=I", self._memory, switch * program.SWITCH_SIZE, 0)

    def set_basis(self, switch: int, basis: int) -> None:
        """What the groups of a switch add to the hashes of flows: 32 bits of its own."""
        struct.pack_into("=I", self._memory, switch * program.SWITCH_SIZE + program.BASIS_AT, basis)

    def install(self, switch: int, lookup: Lookup) -> bool:
        """Carry out these entries and no others; whether that is possible."""
        self.disable(switch)
        held = self._held.setdefault(switch, _Held())
        shapes = sorted({shape for shape, _ in lookup.entries}, key=lambda shape: -shape.priority)
        possible = len(shapes) <= program.MAX_SHAPES
        wanted = {}
        if possible:
            wanted = {(held.number(shape), value): action for (shape, value), action in lookup.entries.items()}
            wanted |= {(program.SLOTS, slot): action for slot, action in lookup.slots.items()}
        try:
            self._replace(switch, held, wanted)
        except bpf.BpfError:  # the map is full
            return False
        start = switch * program.SWITCH_SIZE
        for place, shape in enumerate(shapes if possible else ()):
            at = start + program.SWITCH_HEAD.size + place * program.SHAPE.size
            program.SHAPE.pack_into(self._memory, at, shape.mask, held.number(shape))
        struct.pack_into("=I", self._memory, start, len(shapes) if possible else 0)
        return possible

    def _replace(self, switch: int, held: _Held, wanted: Mapping[tuple[int, bytes], Action]) -> None:
        table = self.descriptors.entries
        for place in held.actions.keys() - wanted.keys():
            self._remove(switch, held, place)
        for place, action in wanted.items():
            if held.actions.get(place) != action:
                key = program.ENTRY_KEY.pack(switch, *place)
                before = self._count(key) if place in held.actions else (0, 0)
                bpf.update(table, key, action.packed(*before))
                held.actions[place] = action

    def forget(self, switch: int, places: Iterable[tuple[Shape, bytes]]) -> None:
        """Remove entries, if they are there, while a switch's are disabled: they count again from 0."""
        held = self._held.setdefault(switch, _Held())
        for shape, value in places:
            place = held.number(shape), value
            if place in held.actions:
                self._remove(switch, held, place)

    def _remove(self, switch: int, held: _Held, place: tuple[int, bytes]) -> None:
        key = program.ENTRY_KEY.pack(switch, *place)
        packets, size = self._count(key)
        held.packets, held.size = held.packets + packets, held.size + size
        held.note_removed(place, (packets, size))
        bpf.delete(self.descriptors.entries, key)
        del held.actions[place]

    def _count(self, key: bytes) -> tuple[int, int]:
        value = bpf.read(self.descriptors.entries, key, entries.ACTION.size)
        packets, size = struct.unpack_from("=QQ", value, entries.PACKETS_AT)
        return packets, size

    def counts(self, switch: int) -> tuple[int, int]:
        """Packets and bytes that the kernel has forwarded for a switch."""
        held = self._held.get(switch, _Held())
        pairs = [
            self._count(program.ENTRY_KEY.pack(switch, *place))
            for place in list(held.actions)
            if place[0] != program.SLOTS
        ]
        return held.packets + sum(n for n, _ in pairs), held.size + sum(size for _, size in pairs)

    def entry_count(self, switch: int, shape: Shape, value: bytes, *, removed: bool = False) -> tuple[int, int]:
        """Packets and bytes that the kernel has forwarded by one entry; none where it does not have it.  One
        that was ``removed`` it may have still."""
        held = self._held.get(switch, _Held())
        number = held.known(shape)
        if number is None:
            return 0, 0
        try:
            return self._count(program.ENTRY_KEY.pack(switch, number, value))
        except bpf.BpfError as error:
            if error.errno != errno.ENOENT:
                raise
            return held.removed.get((number, value), (0, 0)) if removed else (0, 0)


@dataclass
class _Held:
    """What the maps hold of a switch, and what entries have counted that are gone."""

    actions: dict[tuple[int, bytes], Action] = field(default_factory=dict)
    packets: int = 0
    size: int = 0
    #: What the entries had counted that were removed last.
    removed: dict[tuple[int, bytes], tuple[int, int]] = field(default_factory=dict)
    _numbers: dict[Shape, int] = field(default_factory=dict)

    def note_removed(self, place: tuple[int, bytes], counts: tuple[int, int]) -> None:
        """Keep what an entry had counted, for the message about its removal."""
        self.removed.pop(place, None)
        self.removed[place] = counts
        if len(self.removed) > _MAX_REMOVED:
            del self.removed[next(iter(self.removed))]

    def number(self, shape: Shape) -> int:
        """The number of a shape, which it keeps."""
        return self._numbers.setdefault(shape, len(self._numbers))

    def known(self, shape: Shape) -> int | None:
        """The number of a shape, if it has one: other threads may ask, and give none."""
        return self._numbers.get(shape)
