"""The order in which a node compares its neighbours, which decides WMGR's ties (Algorithm 2).

    built      by port number
    shortlex   by the neighbours' words: the shorter first, then the smaller
    revlex     the reverse of ShortLex
    searched   the best that a search from built and revlex finds (:mod:`wmgr_scan_search`)

The order does not change labels: the tree's letters always follow port numbers.
"""

from __future__ import annotations

from addressing.algorithms.freegroup import Embedding
from topos.fabric import Fabric

ORDERS = ("built", "shortlex", "revlex", "searched")

#: Per node its ports that have a link, in the order of the scan.
Scans = tuple[tuple[int, ...], ...]


def in_port_order(fabric: Fabric) -> Scans:
    """The ports of every node by number."""
    return tuple(tuple(port for port, _ in fabric.ports(node)) for node in range(fabric.size))


def by_word(fabric: Fabric, tree: Embedding, built: Scans, *, reverse: bool) -> Scans:
    """The ports of every node in ShortLex order of their neighbours' words, or the reverse; parallel
    links by port number."""
    ends = [{port: end.node for port, end in fabric.ports(node)} for node in range(fabric.size)]

    def rank(node: int, port: int) -> tuple[int, tuple[int, ...]]:
        word = tree.words[ends[node][port]]
        return len(word), word

    return tuple(
        tuple(sorted(ports, key=lambda port: rank(node, port), reverse=reverse))
        for node, ports in enumerate(built)
    )
