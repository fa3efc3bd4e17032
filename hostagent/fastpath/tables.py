"""The maps and programs of a lab, made once by the agents' parent, and the part of one server.

Interface indices are part of every key, so they must differ throughout the lab; a server one of
whose indices another server has claimed gets no fast path.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from hostagent.fastpath import layout, program
from hostagent.fastpath.program import Maps, Shape
from hostagent.forwarding.decisions import TO_HOST, ForwardingDecision
from hostagent.linux import bpf
from hostagent.options import LoadBalance

#: Entries of each table: so many for a server, so many at most for a lab.
_ENTRIES_PER_SERVER, _MAX_ENTRIES = 4096, 1 << 20
_INTERFACES_PER_SERVER = 256
_LOAD_BALANCE = {"flow": layout.BY_FLOW, "packet": layout.BY_PACKET}
_CRC_POLYNOMIAL = 0xEDB88320
_SALT = 0x9E3779B1


@dataclass(frozen=True)
class LabTables:
    """Descriptors of a lab's maps and programs, and the servers' entries as memory."""

    maps: Maps
    shape: Shape
    nic_program: int
    host_program: int
    _claims: int
    _servers: mmap.mmap
    #: The number of servers.
    count: int

    @classmethod
    def open(cls, servers: int, shape: Shape, entries: int = 0) -> Self:
        """Open them for a lab of so many servers; raises :class:`bpf.BpfError` where the kernel allows none.
        Each table has room for so many ``entries``, by default some thousands per server."""
        entries = entries or min(_MAX_ENTRIES, servers * _ENTRIES_PER_SERVER)
        key_size = layout.frame_key_size(shape.by_address, shape.tagged)
        with contextlib.ExitStack() as undo:

            def opened(descriptor: int) -> int:
                undo.callback(os.close, descriptor)
                return descriptor

            maps = Maps(
                opened(bpf.create_map(bpf.HASH, key_size, layout.DECISION_SIZE, entries, bpf.NO_PREALLOC)),
                opened(bpf.create_map(bpf.HASH, 8, layout.DECISION_SIZE, entries, bpf.NO_PREALLOC)),
                opened(bpf.create_map(bpf.ARRAY, 4, layout.SERVER.size, servers, bpf.MMAPABLE)),
                opened(bpf.create_map(bpf.ARRAY, 4, 1024, 1)),
            )
            bpf.update(maps.crc, bytes(4), _crc_table())
            claims = opened(bpf.create_map(bpf.HASH, 4, 4, servers * _INTERFACES_PER_SERVER, bpf.NO_PREALLOC))
            nic = opened(bpf.load_classifier(program.nic_program(maps, shape)))
            host = opened(bpf.load_classifier(program.host_program(maps, shape)))
            size = -(-servers * layout.SERVER.size // mmap.PAGESIZE) * mmap.PAGESIZE
            memory = mmap.mmap(maps.servers, size)
            undo.pop_all()
        return cls(maps, shape, nic, host, claims, memory, servers)

    @property
    def descriptors(self) -> frozenset[int]:
        """What an agent's process needs of them."""
        return frozenset((self.maps.frames, self.maps.packets))

    def claim(self, node: int, interfaces: Mapping[int, int]) -> None:
        """Reserve interface indices for a server; raises BpfError (EEXIST) when another one has one."""
        owner = struct.pack("=I", node)
        for index in interfaces.values():
            key = struct.pack("=I", index)
            try:
                bpf.insert(self._claims, key, owner)
            except bpf.BpfError as error:
                if error.errno != errno.EEXIST or bpf.read(self._claims, key, 4) != owner:
                    raise

    def server(self, node: int, interfaces: Mapping[int, int], load_balance: LoadBalance) -> ServerFastPath:
        """The part of a server; ``interfaces`` gives the interface index of each port, and of its TUN
        device under port 0."""
        part = ServerFastPath(self, node, dict(interfaces))
        part.invalidate()
        part.write_salt()
        part.set_load_balance(load_balance)
        return part

    def invalidate(self, node: int) -> None:
        """Make all decisions of a server invalid; its agent's, or its parent's when it has died."""
        at = node * layout.SERVER.size + layout.SERVER_EPOCH_AT
        epoch = (self.epoch(node) + 1) & 0xFFFFFFFF
        struct.pack_into("=I", self._servers, at, epoch)

    def invalidate_all(self) -> None:
        """Make all decisions of all servers invalid."""
        for node in range(self.count):
            self.invalidate(node)

    def epoch(self, node: int) -> int:
        """The present epoch of a server."""
        slot: int = struct.unpack_from("=I", self._servers, node * layout.SERVER.size)[0]
        return slot

    def write(self, node: int, at: int, form: str, value: int) -> None:
        """Write one field of a server's entry."""
        struct.pack_into(form, self._servers, node * layout.SERVER.size + at, value)

    def counts(self, node: int) -> tuple[int, int, int]:
        """Packets that the kernel has relayed, delivered and originated for a server."""
        _, _, relayed, delivered, originated, _ = layout.SERVER.unpack_from(
            self._servers, node * layout.SERVER.size
        )
        return relayed, delivered, originated

    def close(self) -> None:
        """Give the descriptors up; programs that are attached go on with their maps."""
        self._servers.close()
        for descriptor in (
            *(self.maps.frames, self.maps.packets, self.maps.servers, self.maps.crc),
            *(self.nic_program, self.host_program, self._claims),
        ):
            os.close(descriptor)


@dataclass
class ServerFastPath:
    """What an agent tells the kernel (:class:`hostagent.forwarding.decisions.DecisionSink`)."""

    tables: LabTables
    node: int
    interfaces: dict[int, int]
    #: The epoch in which each (map, key) was installed.
    _installed: dict[tuple[int, bytes], int] = field(default_factory=dict)

    def install(self, port: int, key: bytes, made: ForwardingDecision) -> None:
        """Have the kernel carry out a decision for frames from ``port``, or for packets of the host
        (port 0).  What it cannot carry out stays with the agent."""
        epoch = self.tables.epoch(self.node)
        value = layout.decision(epoch, self.node, made, self.interfaces)
        if value is None or port not in self.interfaces:
            return
        index, maps, shape = self.interfaces[port], self.tables.maps, self.tables.shape
        if port == TO_HOST:
            place = maps.packets, layout.packet_key(index, key)
        else:
            size = layout.frame_key_size(shape.by_address, shape.tagged)
            place = maps.frames, layout.frame_key(index, key, size)
        for make_room in (True, False):
            try:
                bpf.update(*place, value)
            except bpf.BpfError as error:
                if error.errno != errno.E2BIG or not make_room:
                    return  # the agent goes on forwarding these itself
                self._drop_stale(epoch)
            else:
                self._installed[place] = epoch
                return

    def invalidate(self) -> None:
        """No decision so far is valid any more."""
        self.tables.invalidate(self.node)

    def set_load_balance(self, mode: LoadBalance) -> None:
        """How one of several next hops is chosen; the agent chooses itself where the kernel cannot."""
        number = _LOAD_BALANCE.get(mode, layout.BY_AGENT)
        self.tables.write(self.node, layout.LOAD_BALANCE_AT, "=I", number)

    def write_salt(self) -> None:
        """Tell the kernel what makes this server's flow hashes different from others'."""
        self.tables.write(self.node, layout.SALT_AT, "=Q", (self.node + 1) * _SALT)

    def counts(self) -> tuple[int, int, int]:
        """Packets that the kernel has relayed, delivered and originated."""
        return self.tables.counts(self.node)

    def _drop_stale(self, epoch: int) -> None:
        for place in [place for place, made in self._installed.items() if made != epoch]:
            del self._installed[place]
            with contextlib.suppress(bpf.BpfError):
                bpf.delete(*place)


def _crc_table() -> bytes:
    """CRC-32 (zlib's) of every byte, as the words of the table-driven algorithm."""
    return b"".join(struct.pack("=I", word) for word in _crc_words())


def _crc_words() -> Iterator[int]:
    for byte in range(256):
        word = byte
        for _ in range(8):
            word = word >> 1 ^ (_CRC_POLYNOMIAL if word & 1 else 0)
        yield word
