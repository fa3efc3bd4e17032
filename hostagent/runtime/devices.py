"""The devices of an agent: the TUN device to its host, a packet socket per interface, its namespace."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import socket
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from addressing.fields import ipv6 as wide_addresses
from hostagent.linux.mounts import PROC
from hostagent.linux.namespaces import CLONE_NEWNET, set_namespace
from hostagent.linux.netlink import CarrierWatch, Interface, Netlink, compute_checksums

if TYPE_CHECKING:
    from hostagent.runtime.acceleration import Acceleration

TUN_NAME = "dcn0"

_TUNSETIFF, _TUNSETOFFLOAD, _TUNSETVNETHDRSZ = 0x400454CA, 0x400454D0, 0x400454D8
_TUNSETIFINDEX, _TUNGETIFF, _TUNSETPERSIST, _TUNSETFILTEREBPF = 0x400454DA, 0x800454D2, 0x400454CB, 0x800454E1
#: How often the device is tried: a program in the host may take its name at any moment.
_ATTEMPTS = 1000
#: Seconds for an interface to start.
_PATIENCE = 10.0
_PACKET, _MTU = 1 << 16, 1500
_IFF_TUN, _IFF_NO_PI, _IFF_VNET_HDR, _IFF_TUN_EXCL = 0x0001, 0x1000, 0x4000, 0x8000
#: Packets may have a checksum still to be computed, and may be TCP super-packets (with ECN).
_OFFLOADS = 0x01 | 0x02 | 0x04 | 0x08
_SOL_PACKET, _PACKET_VNET_HDR, _PACKET_IGNORE_OUTGOING = 263, 15, 23
_ETH_P_IP, _ETH_P_IPV6, _ETH_P_ALL, _NOTHING = 0x0800, 0x86DD, 0x0003, 0
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
_SOCKET_BUFFER = 8 << 20
_MAX_DESCRIPTORS = 1 << 20
#: Asked by netlink first: a file of settings takes the longer to find, the more namespaces there are.
_CONF, _DISABLED = Path("sys/net/ipv6/conf"), "disable_ipv6"

PacketSocket = socket.socket


@dataclass(frozen=True)
class Nic:
    """An interface: the number of its port, its name and index, and its packet sockets."""

    port: int
    name: str
    index: int
    socket: socket.socket
    mtu: int = _MTU
    #: Where ``socket`` takes IPv4 only: those of IPv6 and of control protocols, one per EtherType.
    control: tuple[PacketSocket, ...] = ()
    #: What sends where ``socket`` takes IPv4 only: the kernel would take what that sends for IPv4.
    sender: PacketSocket | None = None

    @property
    def sockets(self) -> tuple[PacketSocket, ...]:
        """All packet sockets."""
        return (self.socket, *self.control, *((self.sender,) if self.sender is not None else ()))


@dataclass(frozen=True)
class Devices:
    """What an agent holds open in its namespace, which need not be entered again.

    The host's owner may have removed interfaces: those are not among ``nics``, and their ports are ``missing``.
    """

    tun: int
    nics: tuple[Nic, ...]
    carriers: CarrierWatch
    #: The ports with a carrier when the devices were opened; ``carriers`` reports later changes.
    up: frozenset[int]
    #: While the TUN device has no address: the socket to assign one, and the device's index.
    netlink: Netlink | None = None
    tun_index: int = 0
    #: Whether the programs of the fast path are attached.
    accelerated: bool = False
    missing: frozenset[int] = frozenset()
    #: The interface of each other port when the devices were opened.
    opened: Mapping[int, Interface] = field(default_factory=dict)
    #: The MTU of the TUN device when it was opened.
    mtu: int = _MTU
    #: Whether the host speaks IPv6 as well, and its further IPv4 addresses.
    ipv6: bool = False
    further: tuple[bytes, ...] = ()

    @property
    def interfaces(self) -> dict[int, int]:
        """The interface index of each port, and of the TUN device under port 0."""
        return {nic.port: nic.index for nic in self.nics} | {0: self.tun_index}

    def assign_address(self, address: bytes) -> None:
        """Give the TUN device its addresses, the default route, and with IPv6 one to all servers."""
        assert self.netlink is not None
        _assign(self.netlink, self.tun_index, (address, *self.further), self.ipv6)

    def close(self) -> None:
        """Close everything; the TUN device stays until its namespace ends."""
        os.close(self.tun)
        for nic in self.nics:
            for each in nic.sockets:
                each.close()
        self.carriers.close()
        if self.netlink is not None:
            self.netlink.close()


def open_devices(
    namespace: str,
    ports: Mapping[int, str],
    address: bytes | None,
    acceleration: Acceleration | None = None,
    assignable: bool = False,
    offloads: bool = True,
    held: int | None = None,
    ipv6: bool = False,
    further: tuple[bytes, ...] = (),
    proc: Path = PROC,
    listening: bool = True,
) -> Devices:
    """Set up a server's namespace for its agent, and open the agent's devices.

    ``ports`` are the names of the interfaces; ``address`` is the server's IPv4 address, None if it is assigned
    later; with ``assignable`` it may be assigned again.  With ``acceleration`` the kernel forwards as well, if
    the programs can be attached.  Without ``offloads`` packets have the size of frames and computed checksums,
    those too that the kernel forwards from the host's own stack.  With ``ipv6`` the host has the IPv6 address
    that contains its IPv4 address, too, if the kernel has IPv6.  ``held`` is a descriptor of the TUN device
    of an agent that has ended, which is used if the host has that device still.  ``proc`` is where settings are
    written.  The kernel does not report changes of carriers yet unless ``listening``.  Raises OSError.
    """
    with inside(namespace), contextlib.ExitStack() as undo:
        with Netlink() as netlink:
            tun = _own_tun(netlink, held, acceleration.tun_index if acceleration is not None else 0)
            undo.callback(os.close, tun)
            existing = netlink.interfaces()
            missing = frozenset(port for port, name in ports.items() if name not in existing)
            ports = {port: name for port, name in ports.items() if port not in missing}
            if not existing["lo"].up:
                netlink.set_up(existing["lo"].index, arp=True)
            for name in ports.values():
                # One that is down without ARP was up before: its link was cut, and stays so.
                if not existing[name].no_arp:
                    netlink.set_up(existing[name].index, arp=False)
            if not offloads:
                disable_segmentation_offload(tun)
                for name in ports.values():
                    compute_checksums(name)
            ipv6 = ipv6 and _kernel_has_ipv6()
            if existing[TUN_NAME].speaks_ipv6:
                (proc / _CONF / "all" / _DISABLED).write_text("1")
            if ipv6:
                netlink.without_own_ipv6(existing[TUN_NAME].index)
                for name in ("lo", TUN_NAME):
                    (proc / _CONF / name / _DISABLED).write_text("0")
            tun_index = existing[TUN_NAME].index
            smallest = min((existing[name].mtu for name in ports.values()), default=_MTU)
            addresses = () if address is None else (address, *further)
            _configure_tun(netlink, tun_index, addresses, smallest, ipv6)
            interfaces = {port: existing[name].index for port, name in ports.items()} | {0: tun_index}
            accelerated = acceleration is not None and _attach(acceleration, netlink, interfaces)
            nic_of = {port: existing[name] for port, name in ports.items()}
            watch, opened = _watch(undo, netlink, nic_of, listening)
        kinds: tuple[int, ...] = (_ETH_P_ALL,)
        if acceleration is not None and accelerated:
            # A socket for every EtherType would see each packet of the fast path before the kernel forwards it.
            kinds = (_ETH_P_IP, *((_ETH_P_IPV6,) if ipv6 else ()), *acceleration.control_ethertypes)
        nics = []
        for port, name in ports.items():
            first, *control = (undo.enter_context(_open_packet_socket(name, kind)) for kind in kinds)
            sender = undo.enter_context(_open_packet_socket(name, _NOTHING)) if control else None
            index, mtu = existing[name].index, existing[name].mtu
            nics.append(Nic(port, name, index, first, mtu, tuple(control), sender))
        later = undo.enter_context(Netlink()) if address is None or assignable else None
        undo.pop_all()  # everything is open, and stays open
    up = frozenset(port for port, interface in opened.items() if interface.up)
    return Devices(
        tun, tuple(nics), watch, up, later, tun_index, accelerated, missing, opened, smallest, ipv6, further
    )


def _watch(
    undo: contextlib.ExitStack, netlink: Netlink, nics: Mapping[int, Interface], listening: bool
) -> tuple[CarrierWatch, dict[int, Interface]]:
    """Watch the carriers of these interfaces until ``undo`` closes; the interfaces as they are now.

    What was set up just before is not reported: it would wake each of a thousand agents once.  To ask for an
    interface that is starting completes that, which the kernel reports (others take up to a second, and drop
    what is sent until then); so it is asked for before as well.
    """
    for nic in nics.values():
        if not nic.up or nic.starting:
            netlink.await_start(nic.index, _PATIENCE)
    # Before they are read, so that no change is missed.
    watch = undo.enter_context(CarrierWatch(listening=listening))
    return watch, {port: netlink.interface(nic.index) for port, nic in nics.items()}


def _attach(acceleration: Acceleration, netlink: Netlink, interfaces: Mapping[int, int]) -> bool:
    try:
        acceleration.attach(netlink, interfaces)
    except OSError:  # no clsact, no cls_bpf, an index that is not unique: the agent forwards alone
        return False
    return True


@functools.cache
def _kernel_has_ipv6() -> bool:
    """Once per process: in each further namespace a name in /proc/sys takes longer to look up."""
    return (PROC / _CONF).is_dir()


@contextlib.contextmanager
def inside(namespace: str) -> Iterator[None]:
    """Run the body in the network namespace of a file, then return to the own one."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _enter(os.open(namespace, os.O_RDONLY | os.O_CLOEXEC))
        yield
    finally:
        _enter(home)


def ranges_excluding(keep: set[int]) -> list[tuple[int, int]]:
    """The arguments of ``os.closerange`` that close all descriptors but these."""
    edges = sorted(keep | {-1, _MAX_DESCRIPTORS})
    # os.closerange treats an empty range at 0 as everything
    return [(below + 1, above) for below, above in pairwise(edges) if above > below + 1]


def _enter(descriptor: int) -> None:
    try:
        set_namespace(descriptor, CLONE_NEWNET)
    finally:
        os.close(descriptor)


def _own_tun(netlink: Netlink, held: int | None, index: int) -> int:
    """The host's TUN device: that of ``held``, that of agents that have ended with their supervisor, or a new
    one in the place of whatever has its name."""
    if held is not None and _has_device(held):
        return _drained(os.dup(held))
    for _ in range(_ATTEMPTS):
        with contextlib.suppress(OSError):
            return _open_tun(index)
        with contextlib.suppress(OSError):  # another process may be as quick
            if (taken := netlink.interfaces().get(TUN_NAME)) is not None:
                with contextlib.suppress(OSError):  # somebody has it open, or it is no such device
                    if index in (0, taken.index):
                        return _open_tun(index, new=False)
                netlink.remove(taken.index)
    return _open_tun(index)


def _has_device(tun: int) -> bool:
    """Whether the device of a descriptor exists under its name."""
    try:
        request = fcntl.ioctl(tun, _TUNGETIFF, bytes(40))
    except OSError:  # somebody has removed it
        return False
    return request[:16].rstrip(b"\0") == TUN_NAME.encode()


def _drained(tun: int) -> int:
    """The descriptor, without what has waited there for the agent before."""
    with contextlib.suppress(OSError):
        while os.read(tun, _PACKET):
            pass
    return tun


def _open_tun(index: int = 0, new: bool = True) -> int:
    """A new TUN device, of the interface index ``index`` unless that is 0; OSError where one has its name.
    Otherwise the one that has it, if nobody has that open.

    It is persistent: thousands go with their namespaces, all at once.  To remove one with its last descriptor
    takes the kernel 15 ms, and a supervisor holds hundreds of these.
    """
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if index:
            fcntl.ioctl(tun, _TUNSETIFINDEX, struct.pack("I", index))
        flags = _IFF_TUN | _IFF_NO_PI | _IFF_VNET_HDR | (_IFF_TUN_EXCL if new else 0)
        fcntl.ioctl(tun, _TUNSETIFF, struct.pack("16sH22x", TUN_NAME.encode(), flags))
        fcntl.ioctl(tun, _TUNSETPERSIST, 1)
        if not new:
            fcntl.ioctl(tun, _TUNSETFILTEREBPF, struct.pack("i", -1))  # of a program in the host
        fcntl.ioctl(tun, _TUNSETVNETHDRSZ, struct.pack("i", 10))
        fcntl.ioctl(tun, _TUNSETOFFLOAD, _OFFLOADS)
    except OSError:
        os.close(tun)
        raise
    return tun


def _configure_tun(netlink: Netlink, index: int, addresses: tuple[bytes, ...], mtu: int, ipv6: bool) -> None:
    netlink.set_up_tun(index, mtu)  # the agent's ICMP errors to its own host come from the host's address
    if addresses:
        _assign(netlink, index, addresses, ipv6)


def _assign(netlink: Netlink, index: int, addresses: tuple[bytes, ...], wide: bool) -> None:
    """Assign addresses, of which the first is that of what the host sends."""
    servers = wide_addresses.NETWORK
    for address in addresses:
        netlink.add_address(index, address)
    netlink.add_default_route(index, addresses[0])
    if wide:
        for address in reversed(addresses):  # the kernel takes the one that was added last
            number = wide_addresses.embed(int.from_bytes(address, "big"))
            netlink.add_address6(index, number.to_bytes(16, "big"))
        netlink.add_route6(index, servers.network_address.packed, servers.prefixlen)


def disable_segmentation_offload(tun: int) -> None:
    """Have the host's packets come in the size of frames, with computed checksums."""
    fcntl.ioctl(tun, _TUNSETOFFLOAD, 0)


def _open_packet_socket(name: str, kind: int) -> socket.socket:
    nic = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC, 0)
    nic.setsockopt(_SOL_PACKET, _PACKET_VNET_HDR, 1)
    nic.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
    for force, plain in ((_SO_RCVBUFFORCE, socket.SO_RCVBUF), (_SO_SNDBUFFORCE, socket.SO_SNDBUF)):
        try:
            nic.setsockopt(socket.SOL_SOCKET, force, _SOCKET_BUFFER)
        except PermissionError:  # not root: as much as net.core.*mem_max allows
            nic.setsockopt(socket.SOL_SOCKET, plain, _SOCKET_BUFFER)
    nic.bind((name, kind))
    return nic
