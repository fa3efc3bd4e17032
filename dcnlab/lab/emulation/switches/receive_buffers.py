"""Larger buffers for the packet sockets of Open vSwitch's userspace datapath.

ovs-vswitchd leaves its packet sockets at the kernel's default of 212,992 bytes, which three
super-packets fill; the kernel drops the rest of a burst.  The sockets are duplicated from
outside (pidfd_getfd, Linux 5.6), and their buffers enlarged beyond the machine's limit; in labs of
ordinary users, up to that limit (net.core.rmem_max).

A port that comes back, or a daemon that starts again, has new sockets: :class:`ReceiveBuffers`
enlarges those as well (docs/decisions/receive-buffers.md).

A daemon sends by one socket for all of its ports.  What waits in the queue of a slow link counts against
its send buffer, so that one slow link would make the daemon drop packets for all others.  It is enlarged too.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property

from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.switches import openvswitch
from dcnlab.lab.emulation.switches.shards import Shard
from dcnlab.lab.errors import LabError
from hostagent.linux import descriptors
from hostagent.linux.netlink import CarrierWatch, Interface, Netlink

#: Bytes asked for per port; the kernel doubles the number for its own bookkeeping.
SIZE = 8 << 20
#: Bytes of the send buffer, a bound that the queues of links stay below.
SEND_SIZE = 512 << 20
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
#: What ``getsockname`` says of the socket that sends by all ports.
_ALL_PORTS = ""
_IFF_PROMISC = 0x100
#: Seconds from a change of ports to the first look for new sockets, between looks at most, and until the
#: last look; after so many seconds without the sockets of all ports the next change is waited for.
_SOON, _PAUSE, _SETTLED, _GIVE_UP = 0.1, 2.0, 1.0, 60.0


class ReceiveBuffers:
    """The receive buffers of a lab's switch ports, kept large while the lab runs."""

    def __init__(self, shards: Sequence[Shard], queues: bool = False, size: int = SIZE) -> None:
        """``queues``: links have queues, so that send buffers matter."""
        self._shards, self._queues, self._size = shards, queues, size
        #: The size of each port's buffer in bytes, by shard.
        self._ports: dict[int, dict[str, int]] = {}
        self._problem = ""
        #: Called with each shard whose ports have changed, from another thread.
        self.on_change: Callable[[Shard], None] = lambda _: None

    def enlarge(self) -> None:
        """Enlarge the buffers of all ports that have a socket now.  Where that is forbidden switches forward
        with the default size, and :attr:`state` says so."""
        for shard in self._shards:
            self._enlarge(shard)

    def extend(self, shards: Sequence[Shard]) -> None:
        """Keep the buffers of these shards too."""
        self._shards = (*self._shards, *shards)
        for shard in shards:
            self._enlarge(shard)
            self._start([_WatchedShard.open(shard)])

    def keep(self) -> None:
        """Enlarge the buffers of all ports, now and after every change of ports, until this process ends.

        The daemons have set all ports up.  In a large lab each further look at them would take longer than
        the rest of what this does."""
        watched = list(map(_WatchedShard.open, self._shards))  # before the look, so that no change is missed
        self.enlarge()
        for one in watched:
            one.find_daemon()
            one.note_set_up(self._ports[one.shard.index].keys(), time.monotonic())
        self._start(watched)

    def _start(self, watched: Sequence[_WatchedShard]) -> None:
        threading.Thread(target=self._watch, args=(watched,), name="receive buffers", daemon=True).start()

    @property
    def state(self) -> str:
        """What was set, or why nothing was."""
        sizes = [size for ports in self._ports.values() for size in ports.values()]
        if not sizes and self._problem:
            return f"the kernel's default: {self._problem}"
        return f"{in_words(min(sizes, default=self._size))} at each of {len(sizes)} ports"

    def _enlarge(self, shard: Shard) -> None:
        try:
            pid = shard.daemon
            sizes = enlarge(pid, self._size)
            if self._queues and _ALL_PORTS not in sizes:  # a daemon opens it when it first sends
                with contextlib.suppress(LabError):
                    openvswitch.send_frame(shard)
                sizes |= enlarge(pid, self._size)
            self._ports[shard.index] = {name: size for name, size in sizes.items() if name != _ALL_PORTS}
        except OSError as error:  # the daemon has ended, or pidfd_getfd is missing or forbidden
            self._ports[shard.index], self._problem = {}, str(error.strerror)

    def renew(self, shard: Shard) -> None:
        """Do now for the new ports of a shard what is done after every change of ports."""
        self._enlarge(shard)
        self.on_change(shard)

    def expect_queues(self) -> None:
        """Enlarge send buffers as well, from now on: links get queues while the lab runs."""
        if not self._queues:
            self._queues = True
            self.enlarge()

    def _watch(self, shards: Sequence[_WatchedShard]) -> None:
        watched = {one.watch.socket.fileno(): one for one in shards}
        watched |= {one.daemon: one for one in shards if one.daemon >= 0}
        poll = select.poll()
        for descriptor in watched:
            poll.register(descriptor, select.POLLIN)
        while True:
            waiting = [one.due for one in shards if one.due]
            timeout = max(0.0, min(waiting) - time.monotonic()) * 1000 if waiting else None
            for number, _ in poll.poll(timeout):
                if number == watched[number].daemon:
                    poll.unregister(number)
                    watched.pop(number).note_end(time.monotonic())
                else:
                    watched[number].note_changes(time.monotonic())
            for one in shards:
                if one.due and one.due <= time.monotonic():
                    if one.find_daemon():
                        watched[one.daemon] = one
                        poll.register(one.daemon, select.POLLIN)
                    self.renew(one.shard)
                    one.note_enlarged(self._ports[one.shard.index].keys(), time.monotonic())


@dataclass
class _WatchedShard:
    """The ports of a shard, and when their sockets are looked at next (0: after the next change)."""

    shard: Shard
    watch: CarrierWatch
    due: float = 0.0
    #: A descriptor that is readable when the daemon has ended; -1 while there is none.
    daemon: int = -1
    #: The interfaces that a switch listens at, by index; it makes them promiscuous.
    _listening: dict[int, str] = field(default_factory=dict)
    _changed: float = 0.0

    @classmethod
    def open(cls, shard: Shard) -> _WatchedShard:
        """The first look is soon: ports may have changed before."""

        def present() -> tuple[CarrierWatch, Iterable[Interface]]:
            watch = CarrierWatch()
            with Netlink() as netlink:
                return watch, netlink.interfaces().values()

        watch, interfaces = netns.inside(shard.netns, present)
        one = cls(shard, watch)
        for interface in interfaces:
            one._note(interface.index, interface.name, interface.flags)
        one._changed = time.monotonic()
        one.due = one._changed + _SOON
        return one

    def note_changes(self, now: float) -> None:
        """Read what the kernel reports; a link that only loses or regains its carrier is no change."""
        for one in self.watch.events():
            if self._note(one.index, one.name, one.flags):
                self._changed, self.due = now, now + _SOON

    def find_daemon(self) -> bool:
        """Notice the end of the daemon from now on; whether it is another one than before.  Not every version
        changes an interface when it starts."""
        if self.daemon >= 0:
            return False
        with contextlib.suppress(OSError):  # the next one has not started yet
            self.daemon = os.pidfd_open(self.shard.daemon)
        return self.daemon >= 0

    def note_end(self, now: float) -> None:
        """The daemon has ended: another one may start."""
        os.close(self.daemon)
        self.daemon, self._changed, self.due = -1, now, now + _SOON

    def _note(self, index: int, name: str, flags: int) -> bool:
        """Whether ports may have changed: of all other interfaces a daemon that starts changes some."""
        if not flags & _IFF_PROMISC:
            return self._listening.pop(index, None) is not None
        new = index not in self._listening
        self._listening[index] = name
        return new or name not in self._own

    def note_set_up(self, ports: Set[str], now: float) -> None:
        """The daemon has set up the ports that it has, and these have been enlarged since."""
        self._changed = now - _SETTLED
        self.note_enlarged(ports, now)

    def note_enlarged(self, ports: Set[str], now: float) -> None:
        """Look again later where a port of the lab has no socket yet, and once more when all have one: a
        daemon goes on to set its ports up after it has opened them."""
        missing = self._own.intersection(self._listening.values()) - ports
        since = now - self._changed
        again = self.daemon < 0 or since < (_GIVE_UP if missing else _SETTLED)
        self.due = now + min(_PAUSE, max(_SOON, since)) if again else 0.0

    @cached_property
    def _own(self) -> frozenset[str]:
        return frozenset(name for bridge in self.shard.bridges for name, _ in bridge.ports)


def in_words(size: int) -> str:
    """A size in megabytes, or in kilobytes where it is less than one."""
    return f"{size >> 20} MB" if size >> 20 else f"{size >> 10} KB"


def enlarge(pid: int, size: int = SIZE) -> dict[str, int]:
    """Enlarge the buffers of a process's packet sockets; returns the size of each by the name of its
    interface: less than ``size`` where the kernel allows no more.  The socket that sends by all ports, if
    there is one, has the name ``""``, and gets a larger send buffer.

    Raises OSError where the kernel or its security policy forbids access, or the process has ended.
    """
    sizes = {}
    for handle in descriptors.sockets(pid, socket.AF_PACKET):
        with handle:
            name = handle.getsockname()[0]
            option, wanted = (socket.SO_RCVBUF, size) if name != _ALL_PORTS else (socket.SO_SNDBUF, SEND_SIZE)
            if handle.getsockopt(socket.SOL_SOCKET, option) != 2 * wanted:
                _set_size(handle, option, wanted)
            sizes[name] = handle.getsockopt(socket.SOL_SOCKET, option) // 2
    return sizes


def _set_size(handle: socket.socket, option: int, size: int) -> None:
    force = {socket.SO_RCVBUF: _SO_RCVBUFFORCE, socket.SO_SNDBUF: _SO_SNDBUFFORCE}[option]
    try:
        handle.setsockopt(socket.SOL_SOCKET, force, size)
    except PermissionError:  # not root: as much as net.core.rmem_max or wmem_max allows
        handle.setsockopt(socket.SOL_SOCKET, option, size)
