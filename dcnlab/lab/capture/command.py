"""tcpdump in a node: which interfaces are the node's, and how tcpdump is told.

A server has a namespace of its own.  Switches share those of their shard, so that of
all interfaces there only a switch's own may be captured: by their indices.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dcnlab.lab import python_process
from dcnlab.lab.capture.merging import Merged
from dcnlab.lab.contract.codec import encode
from dcnlab.lab.emulation.links import delays
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.running import interface
from dcnlab.lab.emulation.switches.openvswitch import CONTROLLER
from dcnlab.lab.emulation.switches.shards import Shard
from dcnlab.lab.errors import UsageError
from dcnlab.lab.options.controller_choice import MOST_REMOTES
from topos.fabric import Fabric

if TYPE_CHECKING:
    from dcnlab.lab.running.local_machine import LocalMachine

#: A user of tcpdump's own does not exist in a user namespace, and the lab has no other.
_AS_WE_ARE = ("-Z", "root")
#: What is captured instead of a node: the conversation of the switches and their controller.
CONTROLLER_NAME = "controller"


@dataclass(frozen=True)
class Wanted:
    """What to capture: at a node or one port of it, or what switches and their controller say."""

    node: str
    port: int | None
    options: tuple[str, ...]
    count: int | None
    expression: tuple[str, ...]
    switch: str


def requested(lab: LocalMachine, wanted: Wanted) -> tuple[str, Sequence[str]]:
    """The node in which to capture what is wanted, and the command line."""
    if wanted.node == CONTROLLER_NAME:
        return _controller(lab, wanted)
    node, options = lab.node(wanted.node), wanted.options
    namespace = lab.running.namespace(node)
    if "-w" in options and wanted.port is None:
        interfaces = _interfaces(lab, node, namespace)
        return wanted.node, all_interfaces(namespace, interfaces, wanted.expression, wanted.count)
    if wanted.count:
        options = (*options, "-c", str(wanted.count))

    def index(interface: str) -> int:
        return netns.inside(namespace, lambda: socket.if_nametoindex(interface))

    return wanted.node, command(lab.fabric, node, wanted.port, index, options, wanted.expression)


def _interfaces(lab: LocalMachine, node: int, namespace: str) -> list[str]:
    """The interfaces of a node: all of a server's namespace, which a switch shares with others."""
    if lab.fabric.is_server(node):
        names = [name for _, name in netns.inside(namespace, socket.if_nameindex)]
        return [name for name in names if not name.startswith(delays.PREFIX)]
    return [interface(lab.fabric, node, port) for port, _ in lab.fabric.ports(node)]


def _controller(lab: LocalMachine, wanted: Wanted) -> tuple[str, Sequence[str]]:
    """Return a switch, and the command that captures there what switches, all or one, and controller say."""
    shards = lab.running.shards
    if not shards:
        raise UsageError("this lab has no switches, so nobody talks to a controller")
    if not wanted.switch:
        argv = conversation(shards, wanted.options, wanted.count, wanted.expression)
        return shards[0].bridges[0].name, argv
    node = lab.node(wanted.switch)
    if wanted.expression or lab.fabric.is_server(node):
        raise UsageError("--switch takes the name of a switch, and no filter")
    switch = lab.fabric.name(node)
    return switch, snooping(lab.running.shard(switch), switch, wanted.options, wanted.count)


def command(
    fabric: Fabric,
    node: int,
    port: int | None,
    index: Callable[[str], int],
    options: Sequence[str] = (),
    expression: Sequence[str] = (),
) -> list[str]:
    """tcpdump's command line at a port of a node, or at all of them.

    ``index`` gives the number of an interface; UsageError where the node has no such port.
    """
    ports = [number for number, _ in fabric.ports(node)]
    if port is not None and port not in ports:
        raise UsageError(f"{fabric.name(node)} has no port {port}: it has {', '.join(map(str, ports))}")
    where = "any" if port is None else interface(fabric, node, port)
    chosen = " ".join(expression)
    if port is None and not fabric.is_server(node):
        own = " or ".join(f"ifindex {index(interface(fabric, node, number))}" for number in ports)
        chosen = f"({own}) and ({chosen})" if chosen else own
    return [
        "tcpdump",
        *_AS_WE_ARE,
        "--immediate-mode",
        "-n",
        "-i",
        where,
        *options,
        *(["--", chosen] if chosen else []),  # an expression is never an option
    ]


def all_interfaces(
    namespace: str, interfaces: Sequence[str], expression: Sequence[str], count: int | None
) -> list[str]:
    """The command line that writes what these interfaces of a namespace see as pcapng, each with its own kind
    of header.  tcpdump's interface ``any`` would leave out Ethernet addresses, and labels with them."""
    pairs = [(namespace, interface) for interface in interfaces]
    return _merged(Merged(pairs, " ".join(expression), None, count, pcapng=True))


def snooping(shard: Shard, switch: str, options: Sequence[str], count: int | None) -> list[str]:
    """The command line that shows what one switch and its controller say; UsageError for what it cannot do."""
    if "-w" in options:
        path = str(shard.rundir / f"{switch}.snoop")
        return python_process.command("dcnlab.lab.capture.snooping", path, str(count or 0))
    if count:
        raise UsageError("--switch with --count writes packets only: add -w FILE.pcap")
    return ["ovs-ofctl", "-O", "OpenFlow13", "snoop", switch]


def conversation(
    shards: Sequence[Shard], options: Sequence[str], count: int | None, expression: Sequence[str] = ()
) -> list[str]:
    """The command line that captures what the switches of these shards and their controller say.

    ``options`` are those of :func:`command`: with ``-w`` among them pcap is written."""
    chosen = f"tcp portrange {CONTROLLER[1]}-{CONTROLLER[1] + MOST_REMOTES - 1}"
    written = "-w" in options
    return _merged(
        Merged(
            [(shard.netns, "lo") for shard in shards],
            f"({chosen}) and ({' '.join(expression)})" if expression else chosen,
            None if written else list(options),
            count,
        )
    )


def _merged(wanted: Merged) -> list[str]:
    return python_process.command("dcnlab.lab.capture.conversation", json.dumps(encode(wanted)))
