"""tcpdump in a node: which interfaces are the node's, and how tcpdump is told.

A server has a namespace of its own.  Switches share those of their shard, so that of
all interfaces there only a switch's own may be captured: by their indices.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from dcnlab.lab import python_process
from dcnlab.lab.emulation.running import interface
from dcnlab.lab.emulation.switches.openvswitch import CONTROLLER, Shard
from dcnlab.lab.errors import UsageError
from topos.fabric import Fabric

#: A user of tcpdump's own does not exist in a user namespace, and the lab has no other.
_AS_WE_ARE = ("-Z", "root")
#: What is captured instead of a node: the conversation of the switches and their controller.
CONTROLLER_NAME = "controller"


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
    request = {
        "interfaces": [(namespace, interface) for interface in interfaces],
        "expression": " ".join(expression), "show": None, "count": count, "pcapng": True,
    }  # fmt: skip
    return python_process.command("dcnlab.lab.inspection.conversation", json.dumps(request))


def snooping(shard: Shard, switch: str, options: Sequence[str], count: int | None) -> list[str]:
    """The command line that shows what one switch and its controller say; UsageError for what it cannot do."""
    if "-w" in options:
        path = str(shard.rundir / f"{switch}.snoop")
        return python_process.command("dcnlab.lab.inspection.snooping", path, str(count or 0))
    if count:
        raise UsageError("--switch with --count writes packets only: add -w FILE.pcap")
    return ["ovs-ofctl", "-O", "OpenFlow13", "snoop", switch]


def conversation(
    shards: Sequence[Shard], options: Sequence[str], count: int | None, expression: Sequence[str] = ()
) -> list[str]:
    """The command line that captures what the switches of these shards and their controller say.

    ``options`` are those of :func:`command`: with ``-w`` among them pcap is written."""
    chosen = f"tcp port {CONTROLLER[1]}"
    request = {
        "interfaces": [(shard.netns, "lo") for shard in shards],
        "expression": f"({chosen}) and ({' '.join(expression)})" if expression else chosen,
        "show": None if "-w" in options else list(options),
        "count": count,
    }
    return python_process.command("dcnlab.lab.inspection.conversation", json.dumps(request))
