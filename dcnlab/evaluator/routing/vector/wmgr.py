"""WMGR, vectorised: the word metric by one pass down the tree per destination."""

from __future__ import annotations

from typing import cast

from addressing.algorithms.wmgr_scan_search import Scan, Tree, next_slots, scanned_slots
from addressing.scheme import Scheme
from addressing.schemes.wmgr import Wmgr
from dcnlab.evaluator.graph.hop_graph import live_links
from dcnlab.evaluator.routing.forms import Rule
from topos.graph import IntArray, LinkState


def rule(scheme: Scheme, known_down: LinkState) -> Rule:
    """The first neighbour in scan order with the smallest word metric, if smaller than the node's own."""
    wmgr = cast(Wmgr, scheme)
    adjacency, tree = wmgr.fabric.adjacency, Tree.of(wmgr.embedding)
    scan = Scan.of(adjacency, scanned_slots(adjacency, wmgr.scans), live_links(wmgr.fabric, known_down))

    def towards(destinations: IntArray) -> IntArray:
        return next_slots(destinations, tree, scan)

    return towards
