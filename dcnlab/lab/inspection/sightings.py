"""One real echo request, seen wherever it arrives: the port, the frame's addresses, the kernel's time.

A packet socket in every network namespace takes only echo requests with one identifier, so that other traffic
does not fill it.
"""

from __future__ import annotations

import contextlib
import ctypes
import select
import socket
import struct
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import NamedTuple

from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.running import interface
from dcnlab.lab.network.snapshot import Frame
from dcnlab.lab.running.local_machine import LocalMachine
from topos.fabric import Fabric
from topos.graph import Port

_ETH_P_ALL, _ETH_P_IP, _REQUEST = 0x0003, 0x0800, 8
_SO_ATTACH_FILTER, _SO_TIMESTAMPNS = 26, 35
_TIMESPEC = struct.Struct("=qq")
_LONGEST = 128
#: Milliseconds without a packet after which the last copy counts as arrived.
_QUIET = 50
#: Seconds to wait until the kernel stamps packets.
_STAMP_TIMEOUT = 1.0
#: A packet that goes round in a circle is seen again and again.
_MOST = 256
#: Classic BPF: the code, how far to jump where a comparison is true and where not, and the operand.
_INSTRUCTION = struct.Struct("=HBBI")
_HALF_AT, _BYTE_AT, _HEADER_LENGTH, _BYTE_FROM, _HALF_FROM = 0x28, 0x30, 0xB1, 0x50, 0x48
_EQUAL, _RETURN = 0x15, 0x06


@dataclass(frozen=True)
class Sighting:
    """The request arrived at ``at`` with the addresses of ``frame``, ``ms`` after it left its source."""

    at: Port
    frame: Frame
    ms: float


#: A request at a port, as JSON: the node, the port, whether it leaves, nanoseconds, the fields of the frame.
Passage = tuple[int, int, bool, int, tuple[int, ...]]


class _Frame(NamedTuple):
    """A frame at an interface, in nanoseconds of the kernel's clock."""

    interface: str
    data: bytes
    at: int
    leaves: bool


@contextlib.contextmanager
def taps(
    lab: LocalMachine, identity: int, nodes: Collection[int] | None = None
) -> Iterator[list[socket.socket]]:
    """A tap in every namespace of this machine's nodes, or of ``nodes``, for echo requests with an identifier.

    The kernel takes some milliseconds to close each: a large lab is better watched in part.
    """
    watched = [node for node in _ours(lab) if nodes is None or node in nodes]
    names = sorted({lab.running.namespace(node) for node in watched})
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(netns.inside(name, lambda: _tap(identity))) for name in names]
        if names:
            _await_stamps(names[0])
        yield opened


def _ours(lab: LocalMachine) -> tuple[int, ...]:
    """The nodes of this machine."""
    return (*lab.running.servers, *lab.running.switches)


def read(lab: LocalMachine, opened: list[socket.socket]) -> list[Passage]:
    """What the taps have seen at the ports of this machine's nodes."""
    fabric = lab.fabric
    ports = {
        interface(fabric, node, port): (node, port) for node in _ours(lab) for port, _ in fabric.ports(node)
    }
    return [
        (*ports[one.interface], one.leaves, one.at, astuple(_frame(one.data)))
        for one in _received(opened)
        if one.interface in ports
    ]


def arrivals(fabric: Fabric, machines: Sequence[Sequence[Passage]], source: int) -> list[Sighting]:
    """Where a request of server ``source`` was seen to arrive, in the order of time.

    ``machines`` has what each machine has seen, that of the source first.  Their clocks differ: where the
    request would arrive before it was sent, the difference is added to the times of that machine.
    """
    late = _corrections(fabric, machines)
    frames = sorted(
        (
            (at + late[number], leaves, Port(node, port), frame)
            for number, seen in enumerate(machines)
            for node, port, leaves, at, frame in seen
        ),
        key=lambda one: one[0],
    )
    arrived = [(at, port, frame) for at, leaves, port, frame in frames if not leaves]
    sent = (at for at, leaves, port, _ in frames if leaves and port.node == source)
    begun = next(sent, arrived[0][0] if arrived else 0)
    return [Sighting(port, Frame(*frame), (at - begun) / 1e6) for at, port, frame in arrived]


def _corrections(fabric: Fabric, machines: Sequence[Sequence[Passage]]) -> list[int]:
    """Return the nanoseconds to add to each machine's times, so that nothing arrives before it was sent."""
    offsets, todo = {0: 0}, [0]
    while todo:
        number = todo.pop()
        sent = {
            fabric.peer(node, port): at + offsets[number]
            for node, port, leaves, at, _ in reversed(machines[number])
            if leaves
        }
        for other in set(range(len(machines))) - offsets.keys():
            gaps = [
                sent[Port(node, port)] - at
                for node, port, leaves, at, _ in machines[other]
                if not leaves and Port(node, port) in sent
            ]
            if gaps:
                offsets[other] = max(0, *gaps)
                todo.append(other)
    return [offsets.get(number, 0) for number in range(len(machines))]


def _tap(identity: int) -> socket.socket:
    """A packet socket in this thread's namespace for echo requests with that identifier."""
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
    program = _program(identity)
    buffer = ctypes.create_string_buffer(program)
    filtered = struct.pack("@HP", len(program) // _INSTRUCTION.size, ctypes.addressof(buffer))
    tap.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, filtered)
    tap.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    tap.setblocking(False)
    return tap


def _await_stamps(namespace: str) -> None:
    """Wait until the kernel stamps packets when they arrive.

    It begins a moment after the first socket wants stamps.  Packets that arrive before that get the time at
    which they are read, and would be out of order.
    """
    made = netns.inside(namespace, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    with made as probe, contextlib.suppress(TimeoutError):
        probe.bind(("127.0.0.1", 0))
        probe.settimeout(_STAMP_TIMEOUT)
        probe.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        end = time.monotonic() + _STAMP_TIMEOUT
        while time.monotonic() < end:
            probe.sendto(b"", probe.getsockname())
            sent = time.time_ns()
            if (_time(probe.recvmsg(1, 64)[1]) or sent) < sent:
                return
            time.sleep(0.001)


def _time(ancillary: list[tuple[int, int, bytes]]) -> int | None:
    """The kernel's time of a packet in nanoseconds; None without one."""
    times = [value for _, what, value in ancillary if what == _SO_TIMESTAMPNS]
    if not times:
        return None
    seconds, rest = _TIMESPEC.unpack(times[0][: _TIMESPEC.size])
    return int(seconds * 1_000_000_000 + rest)


def _program(identity: int) -> bytes:
    """The filter: IPv4, ICMP, an echo request, the identifier."""
    tests = [
        ((_HALF_AT, 12), _ETH_P_IP), ((_BYTE_AT, 23), socket.IPPROTO_ICMP),
        ((_BYTE_FROM, 14), _REQUEST), ((_HALF_FROM, 18), identity),
    ]  # fmt: skip
    code: list[tuple[int, int, int, int]] = []
    for number, ((load, at), value) in enumerate(tests):
        if number == 2:
            code.append((_HEADER_LENGTH, 0, 0, 14))
        code += [(load, 0, 0, at), (_EQUAL, 0, 0xFF, value)]
    code += [(_RETURN, 0, 0, _LONGEST), (_RETURN, 0, 0, 0)]
    last = len(code) - 1
    return b"".join(
        _INSTRUCTION.pack(what, yes, last - at - 1 if no else 0, value)
        for at, (what, yes, no, value) in enumerate(code)
    )


def _received(opened: list[socket.socket]) -> Iterator[_Frame]:
    """What the taps have seen, until nothing comes any more."""
    poll, by_number = select.poll(), {tap.fileno(): tap for tap in opened}
    for number in by_number:
        poll.register(number, select.POLLIN)
    count = 0
    while (ready := poll.poll(_QUIET)) and count < _MOST:
        for number, _ in ready:
            data, ancillary, _, address = by_number[number].recvmsg(_LONGEST, 64)
            name, _, kind, *_ = address
            if (at := _time(ancillary)) is not None:
                count += 1
                yield _Frame(name, data, at, kind == socket.PACKET_OUTGOING)


def _frame(data: bytes) -> Frame:
    """The addresses in an Ethernet frame with an IPv4 packet."""
    fields = (data[6:12], data[0:6], data[26:30], data[30:34])
    return Frame(*(int.from_bytes(one, "big") for one in fields))
