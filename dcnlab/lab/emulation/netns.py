"""Network namespaces and what is in them: made in batches, entered by threads.

A namespace is a bind mount in the lab's private /run/netns (so that ``ip netns exec``
works inside the lab) and needs no process.  A thread that enters one leaves the
others where they are; sockets stay in the namespace in which they were opened.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import threading
import time
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dcnlab.lab.emulation.sandbox import CLONE_NEWNET, mount, unshare
from dcnlab.lab.errors import LabError
from hostagent.runtime.netlink import Interface, Netlink

T = TypeVar("T")

_IPV6_SWITCH = Path("/proc/sys/net/ipv6/conf/default/disable_ipv6")
FOLDER = Path("/run/netns")
_MS_BIND = 0x1000
_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914
_SIOCSIFADDR, _SIOCSIFNETMASK = 0x8916, 0x891C
_IFF_UP, _IFF_NOARP = 0x1, 0x80
_SIOCETHTOOL, _ETHTOOL_STXCSUM = 0x8946, 0x17
#: ``ip -batch`` keeps the two namespaces of every cable open, and 1,024 open files are usual.
FILES_PER_VETH_PAIR, VETH_PAIRS_PER_BATCH = 2, 400
#: Seconds between two looks at an interface that does not run yet, and until that is an error.
_POLL_INTERVAL, _TIMEOUT = 0.001, 10.0
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class VethPair:
    """A veth pair to make: the end ``a`` in namespace ``a_netns``, and ``b`` likewise."""

    a: str
    a_netns: str
    a_mac: str
    b: str
    b_netns: str
    b_mac: str
    arp: bool
    mtu: int = 1500


def path(name: str) -> Path:
    """The file that stands for a namespace."""
    return FOLDER / name


def inside(name: str, action: Callable[[], T]) -> T:
    """Run ``action`` in a namespace, in a thread of its own; its result or its exception."""

    def work() -> T:
        _enter(name)
        return action()

    return _threaded(work)


def create(names: Iterable[str]) -> None:
    """Make namespaces with ``lo`` up and IPv6 off (nothing may speak before it is asked to)."""
    FOLDER.mkdir(exist_ok=True)

    def work() -> None:
        for name in names:
            target = path(name)
            target.touch()
            unshare(CLONE_NEWNET)
            mount("/proc/thread-self/ns/net", str(target), "", _MS_BIND)
            if _IPV6_SWITCH.exists():  # a kernel without IPv6 has nothing to switch off
                _IPV6_SWITCH.write_text("1")
            set_up("lo", True)

    _threaded(work)


def create_veth_pairs(cables: Iterable[VethPair]) -> None:
    """Make all veth pairs, with few ``ip -batch``; both ends are up afterwards.

    The two ends get different interface indices: with equal ones the kernel reports
    a lost carrier after 0.8 s instead of at once.
    """
    cables = list(cables)
    lines = []
    for index, cable in enumerate(cables):
        arp = "" if cable.arp else " arp off"
        lines.append(
            f"link add name {cable.a} address {cable.a_mac} mtu {cable.mtu} index {100_001 + 2 * index}"
            f" netns {cable.a_netns} up{arp} type veth peer name {cable.b} address {cable.b_mac}"
            f" mtu {cable.mtu} index {100_002 + 2 * index} netns {cable.b_netns}"
        )
    for start in range(0, len(lines), VETH_PAIRS_PER_BATCH):
        batch(["ip"], lines[start : start + VETH_PAIRS_PER_BATCH])
    far: dict[str, list[VethPair]] = {}
    for cable in cables:
        far.setdefault(cable.b_netns, []).append(cable)

    def work() -> None:
        for name, ending_here in far.items():
            _enter(name)
            for cable in ending_here:
                set_up(cable.b, True, cable.arp)

    _threaded(work)


def await_running(ends: Iterable[tuple[str, str]]) -> None:
    """Until (namespace, interface) ends of cables send what they are given.

    Where many cables come at once, the kernel takes up to a second to set the ends that were up
    first going, and drops what they send meanwhile without a word.  Raises LabError if it takes longer.
    """
    interfaces: dict[str, list[str]] = {}
    for name, interface in ends:
        interfaces.setdefault(name, []).append(interface)

    end = time.monotonic() + _TIMEOUT

    def work() -> None:
        for name, here in interfaces.items():
            _enter(name)
            with Netlink() as kernel:
                found = kernel.interfaces()
                for interface in here:
                    _await(kernel, found[interface], end)

    _threaded(work)


def _await(kernel: Netlink, card: Interface, end: float) -> None:
    """Until an interface is not starting any more, with an error at the time ``end``."""
    while card.starting:
        card = kernel.interface(card.index)
        if card.starting:
            if time.monotonic() > end:
                raise LabError(f"{card.name} has its cable, but does not run")
            time.sleep(_POLL_INTERVAL)


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
    """Feed lines to ``ip -batch`` or ``tc -batch``; LabError with its first complaint."""
    if not lines:
        return
    done = subprocess.run(
        [*program, "-batch", "-"], input="\n".join(lines), text=True, capture_output=True, check=False
    )
    if done.returncode:
        raise LabError(f"{program[0]}: {done.stderr.strip().splitlines()[0]}")


def set_up(interface: str, up: bool, arp: bool = True) -> None:
    """Set an interface of the calling thread's namespace up (without ARP if so wished) or down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sh14x", interface.encode(), 0)
        (flags,) = struct.unpack_from("h", fcntl.ioctl(handle, _SIOCGIFFLAGS, request), 16)
        flags = flags | _IFF_UP if up else flags & ~_IFF_UP
        flags |= 0 if arp else _IFF_NOARP
        fcntl.ioctl(handle, _SIOCSIFFLAGS, struct.pack("16sh14x", interface.encode(), flags))


def set_address(interface: str, address: str, prefix_length: int) -> None:
    """Give an interface of the calling thread's namespace its IPv4 address."""
    mask = (0xFFFFFFFF << (32 - prefix_length)) & 0xFFFFFFFF
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        for request, value in (
            (_SIOCSIFADDR, socket.inet_aton(address)),
            (_SIOCSIFNETMASK, mask.to_bytes(4, "big")),
        ):
            fcntl.ioctl(handle, request, struct.pack("16sHH4s8x", interface.encode(), socket.AF_INET, 0, value))


def set_address6(interface: str, address: str, prefix_length: int) -> None:
    """Switch IPv6 on at an interface of the calling thread's namespace and give it its address,
    usable at once; it neither listens to routers nor makes itself further addresses."""
    settings = Path("/proc/sys/net/ipv6/conf", interface)
    if not settings.exists():
        raise LabError("this kernel has no IPv6: use addresses of version 4")
    for name, value in (("accept_dad", 0), ("accept_ra", 0), ("addr_gen_mode", 1), ("disable_ipv6", 0)):
        (settings / name).write_text(str(value))
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as handle:
        packed = socket.inet_pton(socket.AF_INET6, address)
        request = struct.pack("16sIi", packed, prefix_length, socket.if_nametoindex(interface))
        fcntl.ioctl(handle, _SIOCSIFADDR, request)


def compute_checksums(interface: str) -> None:
    """Have an interface of the calling thread's namespace send packets with their checksums computed."""
    value = array("I", [_ETHTOOL_STXCSUM, 0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sP16x", interface.encode(), value.buffer_info()[0])
        fcntl.ioctl(handle, _SIOCETHTOOL, request)


def _enter(name: str) -> None:
    descriptor = os.open(path(name), os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _libc.setns(descriptor, CLONE_NEWNET):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(descriptor)


def _threaded(action: Callable[[], T]) -> T:
    """Run in a fresh thread, which takes its namespace with it when it ends."""
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
