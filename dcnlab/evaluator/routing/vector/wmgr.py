"""WMGR by arrays: the word metric from one pass down the tree per destination."""

from __future__ import annotations

from typing import cast

from addressing.algorithms.wmgr_scan_search import Scan, Tree, next_slots, scanned_slots
from addressing.scheme import Scheme
from addressing.schemes.wmgr import Wmgr
from dcnlab.evaluator.graph.hop_graph import live_links
from dcnlab.evaluator.routing.forms import Rule
from topos.graph import IntArray, LinkState


def rule(scheme: Scheme, links: LinkState) -> Rule:
    """The first neighbour in the scan with the least word metric, if that is less than one's own."""
    wmgr = cast(Wmgr, scheme)
    slots, tree = wmgr.fabric.adjacency, Tree.of(wmgr.embedding)
    scan = Scan.of(slots, scanned_slots(slots, wmgr.scans), live_links(wmgr.fabric, links))

    def towards(destinations: IntArray) -> IntArray:
        return next_slots(destinations, tree, scan)

    return towards
