"""Permanent neighbours: plain hosts know each other's hardware addresses from the start.

So hosts that have never spoken reach each other while no controller runs.  The kernel exempts permanent
neighbours from the limit of its table.  A host needs an entry for every other one; where all hosts
together would need more than ``MAX_ENTRIES``, they ask by ARP and neighbour discovery instead, and the
controller answers.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from addressing.fields import ipv6
from addressing.scheme import Scheme
from controller.beside import LaterHost
from controller.hosts import answering
from dcnlab.lab.emulation.namespaces import netns
from hostagent.linux.netlink import Netlink

#: Those of 512 hosts; an entry takes about 3 microseconds and 500 bytes of the kernel.
MAX_ENTRIES = 1 << 18

_HEADER, _NEIGHBOUR, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=BxxxIHBB"), struct.Struct("=HH")
_NEWNEIGH, _ERROR = 28, 2
_REQUEST, _ACK, _CREATE, _REPLACE = 0x1, 0x4, 0x400, 0x100
_PERMANENT = 0x80
_DESTINATION, _HARDWARE = 1, 2
_INDEX_AT = _HEADER.size + 4
_SEQUENCE_AT, _FLAGS_AT = 8, 6
_DATAGRAM = 1 << 15
_FAMILIES = {4: (socket.AF_INET, 4), 6: (socket.AF_INET6, 16)}

#: The hardware address of each server, by number.
Addresses = Mapping[int, int]


def addresses(scheme: Scheme) -> Addresses:
    """The hardware addresses under which plain hosts reach the servers; empty where hosts ask for them."""
    fabric = scheme.fabric
    hosts = _hosts(scheme)
    if hosts * fabric.servers > MAX_ENTRIES:
        return {}
    return {server: answering.address(scheme, server) for server in range(fabric.servers)} if hosts else {}


def _hosts(scheme: Scheme) -> int:
    return sum(map(scheme.fabric.is_end_host, range(scheme.fabric.servers)))


def install(
    scheme: Scheme,
    known: Addresses,
    interfaces: Iterable[tuple[str, str]],
    further: Mapping[int, Sequence[int]],
    later: Iterable[LaterHost] = (),
) -> None:
    """Have plain hosts know these servers, and hosts that came later; ``interfaces`` has the namespace and the
    interface of each host, ``further`` servers' further IPv4 addresses.

    What a host knew before is replaced.
    """
    each = ((server, ip) for server in known for ip in (scheme.ipv4(server), *further.get(server, ())))
    entries = [*((ip, known[server]) for server, ip in each), *((host.ip, host.mac) for host in later)]
    if not entries:
        return
    versions = netns.usable_versions(scheme.ip_versions)
    if _hosts(scheme) * scheme.fabric.servers * len(versions) > MAX_ENTRIES:
        versions = versions[:1]  # hosts ask for the hardware addresses of the other one
    templates = [_messages(entries, version) for version in versions]
    for namespace, name in interfaces:
        netns.inside(namespace, partial(_send, templates, name))


def _messages(entries: Sequence[tuple[int, int]], version: int) -> NDArray[np.uint8]:
    """One message per IPv4 address and hardware address, as rows of bytes; the interface is to be filled in."""
    family, size = _FAMILIES[version]
    rows = bytearray()
    for address, hardware in entries:
        ip = address if version == 4 else ipv6.embed(address)
        body = _NEIGHBOUR.pack(family, 0, _PERMANENT, 0, 0)
        body += _ATTRIBUTE.pack(4 + size, _DESTINATION) + ip.to_bytes(size, "big")
        body += _ATTRIBUTE.pack(4 + 6, _HARDWARE) + hardware.to_bytes(6, "big") + bytes(2)
        rows += _HEADER.pack(_HEADER.size + len(body), _NEWNEIGH, _REQUEST | _CREATE | _REPLACE, 0, 0) + body
    return np.frombuffer(rows, np.uint8).reshape(len(entries), -1).copy()


def _send(templates: list[NDArray[np.uint8]], interface: str) -> None:
    """Send the messages to the kernel for an interface of the calling thread's namespace, unless the host's
    owner has removed it or taken it down; OSError if the kernel refuses one."""
    with Netlink() as netlink:
        device = netlink.interfaces().get(interface)
    if device is None or not device.is_set_up:
        return
    index = np.frombuffer(struct.pack("=I", device.index), np.uint8)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC) as kernel:
        kernel.bind((0, 0))
        for rows in templates:
            rows[:, _INDEX_AT : _INDEX_AT + 4] = index
            step = _DATAGRAM // rows.shape[1]
            for start in range(0, len(rows), step):
                part = rows[start : start + step].copy()
                part[-1, _FLAGS_AT] |= _ACK  # one acknowledgement for all; refusals are always reported
                kernel.send(part.tobytes())
                _check(kernel.recv(_DATAGRAM))


def _check(answer: bytes) -> None:
    (code,) = struct.unpack_from("=i", answer, _HEADER.size)
    if code:
        raise OSError(-code, f"permanent neighbours: {os.strerror(-code)}")
