"""Packets that the kernel dropped because an agent or a switch did not read them in time.

Of packet sockets, ``ss -0 -m`` shows the same counter as ``d``; it belongs to the socket: a new socket begins
at 0.  Of the agents' TUN devices it is the counter of what could not be sent.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import subprocess
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

from dcnlab.lab.emulation.running import Running, interface
from dcnlab.lab.instruments.counters import parse_columns
from hostagent.runtime.devices import TUN_NAME

#: Of linux/sock_diag.h and linux/packet_diag.h.
_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY = 4, 20
_SHOW_MEMORY, _MEMORY, _DROPS = 0x10, 6, 8
_REQUEST_DUMP, _ERROR, _DONE = 0x301, 2, 3
_HEADER, _MESSAGE, _ATTRIBUTE = 16, 16, 4
_CHUNK = 1 << 16
#: The column of /proc/net/dev.
_SENT_DROPPED = 11


def count() -> int:
    """The sum over this network namespace; OSError where the kernel does not tell."""
    return sum(_drops(body) for body in _sockets()) + _unread_by_agent()


def interfaces(running: Running) -> dict[str, list[str]]:
    """The interfaces of the lab's ports on this machine, by namespace."""
    found: dict[str, list[str]] = {}
    for node in (*running.servers, *running.switches):
        names = (interface(running.fabric, node, port) for port, _ in running.fabric.ports(node))
        found.setdefault(running.namespace(node), []).extend(names)
    return found


def refused(names: Iterable[str]) -> dict[str, int]:
    """Frames that the other end of a link did not take, by interface of the present namespace, if any."""
    columns = parse_columns(Path("/proc/thread-self/net/dev").read_text())
    return {name: number for name in names if name in columns and (number := columns[name][_SENT_DROPPED])}


def queues(running: Running) -> dict[str, set[str]]:
    """The interfaces with queues of which all losses are for want of room, by namespace."""
    found: dict[str, set[str]] = {}
    for link in running.fabric.links():
        shape = running.impairments.shape(link.index)
        if shape and not shape.loss:
            for namespace, name in running.local_ends(link):
                found.setdefault(namespace, set()).add(name)
    return found


def full(namespace: str, names: Container[str]) -> dict[str, int]:
    """Packets that found the queue of their interface full, by interface, if any.  A queue that was replaced
    counts from 0 again."""
    words = ["tc", "-n", namespace, "-s", "-j", "qdisc"]
    found = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    roots = (one for one in found if one.get("root") and one["dev"] in names)
    return {one["dev"]: one["drops"] for one in roots if one["drops"]}


def _unread_by_agent() -> int:
    """Packets of this server that its agent did not take from the TUN device."""
    columns = parse_columns(Path("/proc/thread-self/net/dev").read_text()).get(TUN_NAME)
    return columns[_SENT_DROPPED] if columns else 0


def _sockets() -> Iterator[bytes]:
    """What the kernel says of each packet socket."""
    body = struct.pack("=BBHIIII", socket.AF_PACKET, 0, 0, 0, _SHOW_MEMORY, 0, 0)
    head = struct.pack("=IHHII", _HEADER + len(body), _SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, 1, 0)
    with contextlib.closing(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG)) as kernel:
        kernel.send(head + body)
        while True:
            data = kernel.recv(_CHUNK)
            while data:
                size, kind = struct.unpack_from("=IH", data)
                if kind == _DONE:
                    return
                if kind == _ERROR:
                    number = -int(struct.unpack_from("=i", data, _HEADER)[0])
                    raise OSError(number, os.strerror(number))
                yield data[_HEADER:size]
                data = data[(size + 3) & ~3 :]


def _drops(body: bytes) -> int:
    at = _MESSAGE
    while at + _ATTRIBUTE <= len(body):
        size, kind = struct.unpack_from("=HH", body, at)
        if kind == _MEMORY and size >= _ATTRIBUTE + 4 * (_DROPS + 1):
            return int(struct.unpack_from("=I", body, at + _ATTRIBUTE + 4 * _DROPS)[0])
        at += (max(size, _ATTRIBUTE) + 3) & ~3
    return 0
