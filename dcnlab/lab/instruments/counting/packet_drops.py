"""Packets that the kernel dropped because an agent or a switch did not read them in time.

Of the agents' TUN devices it is the counter of what could not be sent.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Container, Iterable
from pathlib import Path

from dcnlab.lab.emulation.running import Running, interface
from dcnlab.lab.instruments.counting.counters import parse_columns
from dcnlab.lab.instruments.packets import packet_sockets
from hostagent.runtime.devices import TUN_NAME

#: The column of /proc/net/dev.
_SENT_DROPPED = 11


def count() -> int:
    """The sum over this network namespace; OSError where the kernel does not tell."""
    with contextlib.closing(packet_sockets.asking()) as kernel:
        return sum(dropped for _, dropped in packet_sockets.read(kernel)) + _unread_by_agent()


def interfaces(running: Running) -> dict[str, list[str]]:
    """The interfaces of the lab's ports on this machine, by namespace."""
    by_place: dict[str, list[str]] = {}
    for node in (*running.servers, *running.switches):
        names = (interface(running.fabric, node, port) for port, _ in running.fabric.ports(node))
        by_place.setdefault(running.namespace(node), []).extend(names)
    return by_place


def refused(names: Iterable[str]) -> dict[str, int]:
    """Frames that the other end of a link did not take, by interface of the present namespace, if any."""
    columns = parse_columns(Path("/proc/thread-self/net/dev").read_text())
    return {name: number for name in names if name in columns and (number := columns[name][_SENT_DROPPED])}


def queues(running: Running) -> dict[str, set[str]]:
    """The interfaces with queues of which all losses are for want of room, by namespace."""
    by_place: dict[str, set[str]] = {}
    for link in running.fabric.links():
        for node, (namespace, name) in running.local_ends(link).items():
            shape = running.impairments.shape((link.index, node))
            if shape and not shape.loss:
                by_place.setdefault(namespace, set()).add(name)
    return by_place


def full(namespace: str, names: Container[str]) -> dict[str, int]:
    """Packets that found the queue of their interface full, by interface, if any.  A queue that was replaced
    counts from 0 again."""
    argv = ["tc", "-n", namespace, "-s", "-j", "qdisc"]
    statistics = json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
    roots = (one for one in statistics if one.get("root") and one["dev"] in names)
    return {one["dev"]: one["drops"] for one in roots if one["drops"]}


def _unread_by_agent() -> int:
    """Packets of this server that its agent did not take from the TUN device."""
    columns = parse_columns(Path("/proc/thread-self/net/dev").read_text()).get(TUN_NAME)
    return columns[_SENT_DROPPED] if columns else 0
