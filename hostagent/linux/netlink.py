"""The part of rtnetlink that agents and labs need: set up interfaces, watch their carriers."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import struct
import sys
import time
from array import array
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Self

_NEWLINK, _DELLINK, _GETLINK, _SETLINK = 16, 17, 18, 19
_NEWADDR, _NEWROUTE = 20, 24
_NEWNSID, _GETNSID = 88, 90
_ERROR = 2
_REQUEST, _ACK, _DUMP = 0x1, 0x4, 0x300
#: Flags of requests: make what is not there; in the place of what is there, or only where nothing is.
CREATE, REPLACE, EXCLUSIVE = 0x400, 0x100, 0x200
_GROUP_LINK = 0x1
#: The same group, as a socket joins it later.
_SOL_NETLINK, _ADD_MEMBERSHIP, _LINKS = 270, 1, 1
_IFF_UP, _IFF_NOARP, _IFF_LOWER_UP = 0x1, 0x80, 0x10000
_IFLA_NAME, _IFLA_MTU, _IFLA_LINK, _IFLA_OPERSTATE, _IFLA_AF_SPEC, _IFLA_NET_NS_FD = 3, 4, 5, 16, 26, 28
_IFLA_LINKINFO, _INFO_KIND, _INFO_DATA, _IFLA_TARGET_NETNSID = 18, 1, 2, 46
_IFLA_TXQLEN, _IFLA_VXLAN_PORT = 13, 15
_IFLA_EXT_MASK, _SKIP_STATS = 29, 8
_NETNSA_NSID, _NETNSA_FD = 1, 3
_OPERSTATE_UP = 6
_IFLA_INET_CONF, _ACCEPT_LOCAL = 1, 23
_IFLA_INET6_CONF, _DISABLE_IPV6 = 2, 26
_IFLA_INET6_ADDR_GEN_MODE, _IFA_F_NODAD = 8, 0x02
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_RTA_DST, _RTA_OIF, _RTA_PREFSRC = 1, 4, 7
_MAIN_TABLE, _PROTO_STATIC, _SCOPE_LINK, _UNICAST = 254, 4, 253, 1
_BUFFER = 1 << 16
#: Seconds between two looks at an interface that is starting.
_POLL_INTERVAL = 0.001

_HEADER = struct.Struct("=IHHII")
_LINK = struct.Struct("=BxHiII")
_ADDRESS = struct.Struct("=BBBBI")
_ROUTE = struct.Struct("=BBBBBBBBI")
_ATTRIBUTE = struct.Struct("=HH")
_GENERIC = struct.Struct("=Bxxx")
_SIOCETHTOOL, _ETHTOOL_STXCSUM = 0x8946, 0x17
_OF_INTERFACE = frozenset({_IFLA_NAME, _IFLA_MTU, _IFLA_LINK, _IFLA_OPERSTATE, _IFLA_AF_SPEC})


@dataclass(frozen=True, slots=True)
class Interface:
    """An interface as the kernel describes it."""

    index: int
    name: str
    mtu: int
    flags: int
    #: The operational state (RFC 2863), in Linux's numbers.
    state: int
    #: Of an end of a veth pair: the index of the other end; 0 for others.
    peer: int = 0
    #: The settings of each protocol, as the kernel packs them.
    settings: bytes = b""

    @property
    def is_set_up(self) -> bool:
        """Whether somebody has set it up, with a carrier or without."""
        return bool(self.flags & _IFF_UP)

    @property
    def up(self) -> bool:
        """Whether it is up and has a carrier."""
        return self.flags & (_IFF_UP | _IFF_LOWER_UP) == _IFF_UP | _IFF_LOWER_UP

    @property
    def starting(self) -> bool:
        """Whether it is an end of a veth pair and has a carrier, but the kernel still drops packets to be sent.

        The state of a VXLAN device, which is its own peer, stays unknown.
        """
        return self.up and self.state != _OPERSTATE_UP and self.peer not in (0, self.index)

    @property
    def no_arp(self) -> bool:
        """Whether it does not use ARP."""
        return bool(self.flags & _IFF_NOARP)

    @property
    def speaks_ipv6(self) -> bool:
        """Whether IPv6 is on there; False in a kernel without it."""
        of_ipv6 = _attributes(self.settings, 0, {socket.AF_INET6}).get(socket.AF_INET6, b"")
        values = _attributes(of_ipv6, 0, {_IFLA_INET6_CONF}).get(_IFLA_INET6_CONF, b"")
        return bool(values) and not struct.unpack_from("=i", values, 4 * _DISABLE_IPV6)[0]


class _Socket:
    """A routing socket in the current network namespace; a context manager."""

    socket: socket.socket

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()


class Netlink(_Socket):
    """Reads interfaces from the kernel; sets addresses and routes."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC)
        self.socket.bind((0, 0))

    def interfaces(self) -> dict[str, Interface]:
        """All interfaces of the namespace, by name."""
        bodies = self._dump(_GETLINK, _NEWLINK, _asking())
        return {interface.name: interface for interface in (_interface(_NEWLINK, body) for body in bodies)}

    def interface(self, index: int) -> Interface:
        """One interface; this request also makes Linux 6.8 complete the start of an interface."""
        self._send(_GETLINK, 0, _asking(index))
        [(kind, body)] = _messages(self.socket.recv(_BUFFER))
        _raise_refusal(kind, body)
        return _interface(kind, body)

    def await_start(self, index: int, patience: float) -> Interface:
        """One interface, once it has no carrier or the kernel sends what it is given there; after ``patience``
        seconds as it is then."""
        end = time.monotonic() + patience
        while (interface := self.interface(index)).starting and time.monotonic() < end:
            time.sleep(_POLL_INTERVAL)
        return interface

    def set_up(self, index: int, *, arp: bool, queue: int | None = None) -> None:
        """Bring an interface up, with or without ARP, with a queue of so many packets."""
        length = b"" if queue is None else attribute(_IFLA_TXQLEN, struct.pack("=I", queue))
        self._set_up(index, 0 if arp else _IFF_NOARP, length)

    def set_up_tun(self, index: int, mtu: int) -> None:
        """Bring a TUN device up that accepts packets from this host's own addresses."""
        accept = attribute(_ACCEPT_LOCAL, struct.pack("=I", 1))
        settings = attribute(socket.AF_INET, attribute(_IFLA_INET_CONF, accept))
        attributes = attribute(_IFLA_MTU, struct.pack("=I", mtu)) + attribute(_IFLA_AF_SPEC, settings)
        self._set_up(index, _IFF_NOARP, attributes)

    def _set_up(self, index: int, flags: int, attributes: bytes) -> None:
        body = _LINK.pack(socket.AF_UNSPEC, 0, index, _IFF_UP | flags, _IFF_UP | _IFF_NOARP)
        self.request(_SETLINK, 0, body + attributes)

    def move(self, index: int, namespace: int) -> None:
        """Move an interface to another network namespace, an open descriptor; it is down there."""
        body = _LINK.pack(socket.AF_UNSPEC, 0, index, 0, 0)
        self.request(_SETLINK, 0, body + attribute(_IFLA_NET_NS_FD, struct.pack("=I", namespace)))

    def add_address(self, index: int, address: bytes) -> None:
        """Assign an IPv4 address (four bytes) to an interface, as a /32."""
        body = _ADDRESS.pack(socket.AF_INET, 32, 0, 0, index)
        attributes = attribute(_IFA_LOCAL, address) + attribute(_IFA_ADDRESS, address)
        self.request(_NEWADDR, CREATE | REPLACE, body + attributes)

    def add_default_route(self, index: int, source: bytes) -> None:
        """Add the IPv4 default route by an interface, with the address ``source``."""
        body = _ROUTE.pack(socket.AF_INET, 0, 0, 0, _MAIN_TABLE, _PROTO_STATIC, _SCOPE_LINK, _UNICAST, 0)
        attributes = attribute(_RTA_OIF, struct.pack("=I", index)) + attribute(_RTA_PREFSRC, source)
        self.request(_NEWROUTE, CREATE | REPLACE, body + attributes)

    def without_own_ipv6(self, index: int) -> None:
        """Have an interface make no IPv6 address by itself, and send nothing to find routers."""
        settings = attribute(socket.AF_INET6, attribute(_IFLA_INET6_ADDR_GEN_MODE, b"\1"))
        self._set_up(index, _IFF_NOARP, attribute(_IFLA_AF_SPEC, settings))

    def add_address6(self, index: int, address: bytes) -> None:
        """Assign an IPv6 address (16 bytes) to an interface, as a /128."""
        body = _ADDRESS.pack(socket.AF_INET6, 128, _IFA_F_NODAD, 0, index)
        attributes = attribute(_IFA_LOCAL, address) + attribute(_IFA_ADDRESS, address)
        self.request(_NEWADDR, CREATE | REPLACE, body + attributes)

    def add_route6(self, index: int, network: bytes, length: int) -> None:
        """Add a route to an IPv6 network by an interface."""
        body = _ROUTE.pack(socket.AF_INET6, length, 0, 0, _MAIN_TABLE, _PROTO_STATIC, 0, _UNICAST, 0)
        attributes = attribute(_RTA_OIF, struct.pack("=I", index)) + attribute(_RTA_DST, network)
        self.request(_NEWROUTE, CREATE | REPLACE, body + attributes)

    # --- other namespaces: the kernel knows them by numbers, also when no process is in them any more ---

    def number_namespace(self, namespace: int) -> None:
        """Give a network namespace, an open descriptor, a number in the current one, unless it has one."""
        attributes = attribute(_NETNSA_NSID, struct.pack("=i", -1))
        attributes += attribute(_NETNSA_FD, struct.pack("=I", namespace))
        with contextlib.suppress(FileExistsError):
            self.request(_NEWNSID, 0, _GENERIC.pack(socket.AF_UNSPEC) + attributes)

    def namespaces(self) -> list[int]:
        """The numbers of all network namespaces that have one here."""
        numbers: list[int] = []
        for body in self._dump(_GETNSID, _NEWNSID, _GENERIC.pack(socket.AF_UNSPEC)):
            value = _attributes(body, _GENERIC.size, {_NETNSA_NSID}).get(_NETNSA_NSID)
            numbers += struct.unpack("=i", value) if value else ()
        return numbers

    def vxlan_ports(self, namespace: int) -> dict[int, int]:
        """The UDP port of each VXLAN device in a namespace, by the device's index."""
        body = _LINK.pack(socket.AF_UNSPEC, 0, 0, 0, 0) + _target(namespace)
        ports = {}
        for link in self._dump(_GETLINK, _NEWLINK, body):
            about = _attributes(link, _LINK.size, {_IFLA_LINKINFO}).get(_IFLA_LINKINFO, b"")
            info = _attributes(about, 0, {_INFO_KIND, _INFO_DATA})
            if info.get(_INFO_KIND, b"").rstrip(b"\0") == b"vxlan":
                value = _attributes(info.get(_INFO_DATA, b""), 0, {_IFLA_VXLAN_PORT})[_IFLA_VXLAN_PORT]
                ports[_interface(_NEWLINK, link).index] = int.from_bytes(value, "big")
        return ports

    def remove(self, index: int, namespace: int | None = None) -> None:
        """Remove an interface of this namespace, or of another one."""
        target = b"" if namespace is None else _target(namespace)
        self.request(_DELLINK, 0, _LINK.pack(socket.AF_UNSPEC, 0, index, 0, 0) + target)

    # --- messages -----------------------------------------------------------------

    def _dump(self, kind: int, answers: int, body: bytes) -> Iterator[bytes]:
        """The bodies of all answers to a request; raises OSError if it is refused."""
        self._send(kind, _DUMP, body)
        while True:
            for answer, content in _messages(self.socket.recv(_BUFFER)):
                if answer != answers:
                    _raise_refusal(answer, content)
                    return
                yield content

    def _send(self, kind: int, flags: int, body: bytes) -> None:
        size = _HEADER.size + len(body)
        self.socket.send(_HEADER.pack(size, kind, _REQUEST | flags, 0, 0) + body)

    def request(self, kind: int, flags: int, body: bytes) -> None:
        """Send a request and wait for its acknowledgement; raises OSError if it is refused."""
        self._send(kind, flags | _ACK, body)
        for answer, content in _messages(self.socket.recv(_BUFFER)):
            _raise_refusal(answer, content)


class CarrierWatch(_Socket):
    """Reports interfaces of this namespace that lose or regain their carrier."""

    def __init__(self, opened: socket.socket | None = None, listening: bool = True) -> None:
        """``opened`` was opened so before; one that is not ``listening`` reports nothing yet."""
        self.socket = opened or socket.socket(
            socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
        )
        if opened is None:
            self.socket.bind((0, _GROUP_LINK if listening else 0))

    def listen(self) -> None:
        """Have the kernel report changes from now on."""
        self.socket.setsockopt(_SOL_NETLINK, _ADD_MEMBERSHIP, _LINKS)

    def ask(self) -> None:
        """Ask for all interfaces as they are now: :meth:`events` returns them too."""
        request = _asking()
        size = _HEADER.size + len(request)
        self.socket.send(_HEADER.pack(size, _GETLINK, _REQUEST | _DUMP, 0, 0) + request)

    def events(self) -> Iterator[Interface]:
        """The interfaces that have changed since the last call.

        If the kernel had to drop messages: all interfaces as they are now.
        """
        while True:
            try:
                data = self.socket.recv(_BUFFER)
            except BlockingIOError:
                return
            except OSError:
                self.ask()
                continue
            for kind, body in _messages(data):
                if kind in (_NEWLINK, _DELLINK):
                    yield _interface(kind, body)


def _raise_refusal(kind: int, body: bytes) -> None:
    """Raise OSError for an answer that refuses a request."""
    (code,) = struct.unpack_from("=i", body)
    if kind == _ERROR and code:
        raise OSError(-code, f"rtnetlink: {os.strerror(-code)}")


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(type, body) of each message of a datagram."""
    while len(data) >= _HEADER.size:
        size, kind, _, _, _ = _HEADER.unpack_from(data)
        yield kind, data[_HEADER.size : size]
        data = data[_padded(size) :]


def _interface(kind: int, body: bytes) -> Interface:
    _, _, index, flags, _ = _LINK.unpack_from(body)
    attributes = _attributes(body, _LINK.size, _OF_INTERFACE)
    name = attributes.get(_IFLA_NAME, b"").rstrip(b"\0").decode(errors="replace")
    mtu = int.from_bytes(attributes.get(_IFLA_MTU, b""), sys.byteorder)
    state = int.from_bytes(attributes.get(_IFLA_OPERSTATE, b""), sys.byteorder)
    peer = int.from_bytes(attributes.get(_IFLA_LINK, b""), sys.byteorder)
    settings = attributes.get(_IFLA_AF_SPEC, b"")
    return Interface(index, name, mtu, flags if kind == _NEWLINK else 0, state, peer, settings)


def _attributes(data: bytes, at: int, wanted: Set[int]) -> dict[int, bytes]:
    """The values of the wanted attributes among those that begin at ``at``; a launch reads a million."""
    values: dict[int, bytes] = {}
    unpack, end = _ATTRIBUTE.unpack_from, len(data) - _ATTRIBUTE.size
    while at <= end:
        size, kind = unpack(data, at)
        if kind in wanted:
            values[kind] = data[at + 4 : at + size]
            if len(values) == len(wanted):
                break
        at += (size + 3) & ~3 or 4
    return values


def attribute(kind: int, value: bytes) -> bytes:
    """An attribute of a message, padded to the next one."""
    size = _ATTRIBUTE.size + len(value)
    return _ATTRIBUTE.pack(size, kind) + value + bytes(_padded(size) - size)


def _asking(index: int = 0) -> bytes:
    """A request for an interface, 0 for all, without counters, which the kernel would have to add up."""
    mask = attribute(_IFLA_EXT_MASK, struct.pack("=I", _SKIP_STATS))
    return _LINK.pack(socket.AF_UNSPEC, 0, index, 0, 0) + mask


def _target(namespace: int) -> bytes:
    """The attribute that says in which namespace an interface is."""
    return attribute(_IFLA_TARGET_NETNSID, struct.pack("=i", namespace))


def _padded(size: int) -> int:
    return (size + 3) & ~3


def compute_checksums(interface: str) -> None:
    """Switch transmit checksum offload off at an interface of the calling thread's namespace."""
    value = array("I", [_ETHTOOL_STXCSUM, 0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as handle:
        request = struct.pack("16sP16x", interface.encode(), value.buffer_info()[0])
        fcntl.ioctl(handle, _SIOCETHTOOL, request)
