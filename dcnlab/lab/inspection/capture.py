"""tcpdump in a node: which interfaces are the node's, and how tcpdump is told.

A server has a namespace of its own.  Switches share those of their shard, so that of
all interfaces there only a switch's own may be captured: by their indices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dcnlab.lab.emulation.launch import interface
from dcnlab.lab.errors import UsageError
from topos.fabric import Fabric

#: A user of tcpdump's own does not exist in a user namespace, and the lab has no other.
_AS_WE_ARE = ("-Z", "root")


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
    return ["tcpdump", *_AS_WE_ARE, "-n", "-i", where, *options, *([chosen] if chosen else [])]
