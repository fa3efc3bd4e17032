"""Network namespaces and their interfaces, created in batches.

A namespace is a bind mount in the lab's private /run/netns, so that ``ip netns exec`` works inside the
lab.  It needs no process.  A thread enters a namespace alone; a socket stays in the namespace in which
it was opened.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

from dcnlab.lab.emulation.waiting import STALL
from dcnlab.lab.errors import LabError
from hostagent.linux import process_exit
from hostagent.linux.mounts import BIND, detach, fresh_proc, mount
from hostagent.linux.namespaces import CLONE_NEWNET, set_namespace, unshare
from hostagent.linux.netlink import Interface, Netlink

T = TypeVar("T")

#: Settings of every new namespace: no forwarding in the kernel, which a namespace may inherit from the
#: machine (Docker switches it on), and no IPv6.  Those for IPv6 are missing in a kernel without it.
_SETTINGS = (
    ("sys/net/ipv4/ip_forward", "0"),
    ("sys/net/ipv6/conf/all/forwarding", "0"),
    ("sys/net/ipv6/conf/default/disable_ipv6", "1"),
)
#: A setting of hosts whose links are not shaped: TCP sends its largest segments on paths of up to a second, not
#: of one millisecond, however many streams share them (docs/decisions/many-streams.md).
LARGE_SEGMENTS = ("sys/net/ipv4/tcp_tso_rtt_log", "20")
#: A setting of hosts whose sshd is no root of theirs: that of an ordinary user.
LOW_PORTS = ("sys/net/ipv4/ip_unprivileged_port_start", "0")
FOLDER = Path("/run/netns")
#: A proc file system of our own, for so many namespaces at a time.
_OWN_PROC, _NAMESPACES_PER_PROC = Path("/run/proc"), 64
_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914
_SIOCSIFADDR, _SIOCSIFNETMASK = 0x8916, 0x891C
_IFF_UP, _IFF_NOARP = 0x1, 0x80
#: Interfaces of links have indices from here on.
FIRST_INDEX = 100_001
#: ``ip -batch`` keeps both namespaces of every pair open, and the usual limit is 1,024 open files.
FILES_PER_VETH_PAIR, VETH_PAIRS_PER_BATCH = 2, 400
_ONE_QUEUE = "numtxqueues 1 numrxqueues 1"


@dataclass(frozen=True)
class VethPair:
    """A veth pair to create: end ``a`` in namespace ``a_netns``, end ``b`` in ``b_netns``."""

    a: str
    a_netns: str
    a_mac: str
    b: str
    b_netns: str
    b_mac: str
    arp: bool
    mtu: int = 1500
    #: The index of end ``a``; that of ``b`` follows.  0: any, from FIRST_INDEX on.
    index: int = 0


def path(name: str) -> Path:
    """The file that stands for a namespace."""
    return FOLDER / name


def inside(name: str, action: Callable[[], T]) -> T:
    """Run ``action`` in a namespace, in a new thread; its result or its exception."""

    def work() -> T:
        enter(name)
        return action()

    return threaded(work)


def inside_each(names: Iterable[str], action: Callable[[str], T]) -> dict[str, T]:
    """Run ``action(name)`` in one namespace after the other, all in one new thread; the results by name."""

    def work() -> dict[str, T]:
        results = {}
        for name in dict.fromkeys(names):
            enter(name)
            results[name] = action(name)
        return results

    return threaded(work)


def _enter_new() -> None:
    unshare(CLONE_NEWNET)


def create(
    names: Iterable[str],
    enter_new: Callable[[], None] = _enter_new,
    settings: Iterable[tuple[str, str]] = (),
) -> None:
    """Create namespaces with ``lo`` up, forwarding and IPv6 off, so that no kernel sends packets by itself.

    ``enter_new`` takes the calling thread into a new namespace; ``settings`` are further ones, as files of
    /proc and what they shall contain, where the kernel has them.
    """
    wanted = (*_SETTINGS, *settings)
    if not FOLDER.exists():  # mounted, so that all can be unmounted at once where they are not wanted
        FOLDER.mkdir()
        mount("tmpfs", str(FOLDER), "tmpfs", 0, "mode=755")

    def work() -> None:
        wrong: list[tuple[str, str]] | None = None
        for some in _batched(names, _NAMESPACES_PER_PROC):
            with fresh_proc(_OWN_PROC) as proc:
                for name in some:
                    enter_new()
                    if wrong is None:  # every further one inherits the same
                        wrong = [
                            (setting, value) for setting, value in wanted if _differs(proc / setting, value)
                        ]
                    _keep(name, [(proc / setting, value) for setting, value in wrong])

    threaded(work)


def remove(name: str) -> None:
    """A namespace has no name any more; it ends with the last program in it."""
    detach(str(path(name)))
    path(name).unlink()


def _differs(setting: Path, value: str) -> bool:
    """Whether a setting has another value; not where the kernel has no such setting."""
    return setting.exists() and setting.read_text().strip() != value


def _keep(name: str, settings: Iterable[tuple[Path, str]]) -> None:
    """Give the calling thread's namespace a name and settings."""
    target = path(name)
    target.touch()
    mount("/proc/thread-self/ns/net", str(target), "", BIND)
    for setting, value in settings:
        setting.write_text(value)
    set_up("lo", True)


def _batched(names: Iterable[str], size: int) -> Iterator[list[str]]:
    """Lists of at most ``size`` names."""
    rest = iter(names)
    while some := list(islice(rest, size)):
        yield some


def create_veth_pairs(pairs: Iterable[VethPair]) -> None:
    """Create all veth pairs with few calls of ``ip -batch``; both ends are up afterwards.

    The two ends get different interface indices: with equal ones the kernel reports a lost carrier
    after 0.8 s instead of at once.  They get one queue, since more would change nothing: by itself the kernel
    gives them one for each possible processor, and with 16 of them a pair takes twice as long.
    """
    pairs = list(pairs)
    lines = []
    for index, pair in enumerate(pairs):
        arp, first = "" if pair.arp else " arp off", pair.index or FIRST_INDEX + 2 * index
        lines.append(
            f"link add name {pair.a} address {pair.a_mac} mtu {pair.mtu} index {first}"
            f" netns {pair.a_netns} {_ONE_QUEUE} up{arp} type veth peer name {pair.b} address {pair.b_mac}"
            f" mtu {pair.mtu} index {first + 1} netns {pair.b_netns} {_ONE_QUEUE}"
        )
    for start in range(0, len(lines), VETH_PAIRS_PER_BATCH):
        batch(["ip"], lines[start : start + VETH_PAIRS_PER_BATCH])
    far: dict[str, list[VethPair]] = {}
    for pair in pairs:
        far.setdefault(pair.b_netns, []).append(pair)

    def work() -> None:
        for name, ending_here in far.items():
            enter(name)
            for pair in ending_here:
                set_up(pair.b, True, pair.arp)

    threaded(work)


def await_running(ends: Iterable[tuple[str, str]], stall: float = STALL) -> None:
    """Wait until the (namespace, interface) ends of links are running.

    When many links are created at once, the kernel takes up to a second until the ends that came up
    first run; it silently drops what they send before.  LabError if no further one runs for ``stall`` s.
    """
    interfaces: dict[str, list[str]] = {}
    for name, interface in ends:
        interfaces.setdefault(name, []).append(interface)

    def work() -> None:
        for name, here in interfaces.items():
            enter(name)
            with Netlink() as kernel:
                devices = kernel.interfaces()
                for interface in here:
                    _await(kernel, devices[interface], stall)

    threaded(work)


def _await(kernel: Netlink, interface: Interface, stall: float) -> None:
    """Wait until an interface is running; LabError after ``stall`` seconds."""
    if interface.starting and kernel.await_start(interface.index, stall).starting:
        raise LabError(f"interface {interface.name} is up, but not running after {stall:g} s")


def interfaces(names: Iterable[str]) -> dict[str, dict[str, Interface]]:
    """The interfaces of namespaces, by name."""

    def read(_: str) -> dict[str, Interface]:
        with Netlink() as kernel:
            return kernel.interfaces()

    return inside_each(names, read)


def carriers(ends: Iterable[tuple[str, str]]) -> list[bool]:
    """Whether each (namespace, interface) is up and has a carrier, in their order."""
    wanted = list(ends)
    known = interfaces(name for name, _ in wanted)
    return [interface in known[name] and known[name][interface].up for name, interface in wanted]


def set_up_in(name: str, interface: str, up: bool) -> None:
    """:func:`set_up` in namespace ``name``."""
    inside(name, lambda: set_up(interface, up))


def set_address_in(name: str, interface: str, address: str, prefix_length: int) -> None:
    """:func:`set_address` in namespace ``name``."""
    inside(name, lambda: set_address(interface, address, prefix_length))


def set_address6_in(name: str, interface: str, address: str, prefix_length: int) -> None:
    """:func:`set_address6` in namespace ``name``."""
    inside(name, lambda: set_address6(interface, address, prefix_length))


def batch(program: list[str], lines: list[str]) -> None:
    """Feed lines to ``ip -batch`` or ``tc -batch``; LabError with the first error."""
    if not lines:
        return
    done = subprocess.run(
        [*program, "-batch", "-"], input="\n".join(lines), text=True, capture_output=True, check=False
    )
    if done.returncode:
        reason = done.stderr.strip() or process_exit.describe(done.returncode)
        raise LabError(f"{program[0]}: {reason.splitlines()[0]}")


def set_up(interface: str, up: bool, arp: bool = True) -> None:
    """Set an interface of the calling thread's namespace up or down; ``arp`` False switches ARP off."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sh14x", interface.encode(), 0)
        (flags,) = struct.unpack_from("h", fcntl.ioctl(handle, _SIOCGIFFLAGS, request), 16)
        flags = flags | _IFF_UP if up else flags & ~_IFF_UP
        flags |= 0 if arp else _IFF_NOARP
        fcntl.ioctl(handle, _SIOCSIFFLAGS, struct.pack("16sh14x", interface.encode(), flags))


def set_address(interface: str, address: str, prefix_length: int) -> None:
    """Set the IPv4 address of an interface of the calling thread's namespace."""
    mask = (0xFFFFFFFF << (32 - prefix_length)) & 0xFFFFFFFF
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        for request, value in (
            (_SIOCSIFADDR, socket.inet_aton(address)),
            (_SIOCSIFNETMASK, mask.to_bytes(4, "big")),
        ):
            fcntl.ioctl(handle, request, struct.pack("16sHH4s8x", interface.encode(), socket.AF_INET, 0, value))


def set_address6(interface: str, address: str, prefix_length: int) -> None:
    """Enable IPv6 at an interface of the calling thread's namespace and set its address, usable at once;
    it accepts no router advertisements and generates no further addresses."""
    settings = Path("/proc/sys/net/ipv6/conf", interface)
    if not settings.exists():
        raise LabError("this kernel has no IPv6: use a scheme with IPv4 addresses")
    for name, value in (("accept_dad", 0), ("accept_ra", 0), ("addr_gen_mode", 1), ("disable_ipv6", 0)):
        (settings / name).write_text(str(value))
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as handle:
        packed = socket.inet_pton(socket.AF_INET6, address)
        request = struct.pack("16sIi", packed, prefix_length, socket.if_nametoindex(interface))
        with contextlib.suppress(FileExistsError):  # it has the address already
            fcntl.ioctl(handle, _SIOCSIFADDR, request)


def usable_versions(versions: tuple[int, ...]) -> tuple[int, ...]:
    """Return which of the versions of IP this kernel has; a scheme that needs a missing one fails later, in one
    line."""
    return (
        tuple(version for version in versions if version == 4 or Path("/proc/sys/net/ipv6").exists())
        or versions
    )


def enter(name: str) -> None:
    """Take the calling thread into a namespace."""
    descriptor = os.open(path(name), os.O_RDONLY | os.O_CLOEXEC)
    try:
        set_namespace(descriptor, CLONE_NEWNET)
    finally:
        os.close(descriptor)


def threaded(action: Callable[[], T]) -> T:
    """Run in a new thread; its change of namespace ends with it."""
    results: list[T] = []
    errors: list[BaseException] = []

    def body() -> None:
        try:
            results.append(action())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
