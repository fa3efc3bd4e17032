"""The nodes that Mininet made for a topology.

Mininet hands the topology to them as a parameter, and no controller gets its network.
"""

from __future__ import annotations

from collections.abc import Iterable

from mininet.node import Node

from dcnlab.lab.mininet.topo import FabricTopo


def alive() -> set[Node]:
    """All nodes of Mininet in this program."""
    return set(Node.outToNode.values())


def of(topo: FabricTopo) -> dict[str, Node]:
    """The hosts and switches of a topology, by name."""
    nodes = ((node, getattr(node, "topo", None) or node.params.get("fabric")) for node in alive())
    return {node.name: node for node, made_for in nodes if made_for is topo}


def servers(topo: FabricTopo) -> list[Node]:
    """The hosts of a topology."""
    names = set(topo.hosts())
    return [node for name, node in of(topo).items() if name in names]


def userspace(topo: FabricTopo) -> bool:
    """Whether a switch of a topology uses the userspace datapath."""
    return any(getattr(node, "datapath", "") == "user" for node in of(topo).values())


def compute_checksums(hosts: Iterable[Node]) -> None:
    """Have hosts send whole checksums: the userspace datapath passes partial ones on, and TCP drops them."""
    for host in hosts:
        for interface in host.intfNames():
            host.pexec(["ethtool", "-K", interface, "tx", "off"])
