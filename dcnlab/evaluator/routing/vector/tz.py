"""Thorup-Zwick routing, vectorised: a search from every destination, and one from every landmark."""

from __future__ import annotations

from typing import cast

import numpy as np

from addressing.scheme import Scheme
from addressing.schemes.tz import Tz
from dcnlab.evaluator.graph.distances import UNREACHABLE, distance_rows
from dcnlab.evaluator.graph.hop_graph import attachment_points, hop_graph, live_links
from dcnlab.evaluator.graph.nearest import bfs_next_hops_each
from dcnlab.evaluator.routing.forms import Rule, TableCounts, Tables
from dcnlab.evaluator.routing.table_counts import one_next_hop, with_local
from topos.graph import NONE, IntArray, LinkState


def rule(scheme: Scheme, known_down: LinkState) -> Rule | None:
    """A shortest path from nodes that store the destination, else towards its landmark.

    None where nodes react to failures that the control plane does not know.
    """
    bound = cast(Tz, scheme)
    if known_down.down - bound.known.down:
        return None
    fabric, landmarks = bound.fabric, np.array(bound.landmarks, dtype=np.int32)
    graph, usable = hop_graph(fabric, bound.known), live_links(fabric, bound.known)
    vertices, final = attachment_points(fabric)
    everywhere = np.zeros(fabric.size, np.int32)

    def towards_each(roots: IntArray) -> IntArray:
        out = np.full((len(roots), fabric.size), NONE, np.int32)
        adjacency = fabric.adjacency
        bfs_next_hops_each(out, roots, adjacency.start, adjacency.peer, usable, usable, everywhere)
        return out

    to_landmarks = towards_each(landmarks)

    def towards(destinations: IntArray) -> IntArray:
        last = vertices[destinations]
        rows, numbers = np.arange(len(last)), bound.nearest[last]
        distance = distance_rows(graph, last)
        stored = (distance < bound.radius[last][:, None]) & (distance != UNREACHABLE)
        # The landmark knows the next hop as well: it stores the vertex, or finds the port in the label.
        stored[rows, landmarks[numbers]] = True
        out = np.where(stored, towards_each(last), to_landmarks[numbers])
        out[rows, last] = final[destinations]
        return out

    return towards


def table_counts(scheme: Scheme) -> Tables | None:
    """One entry per vertex of the node's cluster and one per landmark of all other vertices; a landmark has
    one per port in the labels of its vertices.  None where landmarks represent their vertices."""
    tz = cast(Tz, scheme)
    if tz.represented:
        return None
    graph, vertices = hop_graph(scheme.fabric, scheme.known), np.array(tz.vertices)
    nearest, radius = tz.nearest[vertices], tz.radius[vertices]
    _, landmark_bits, port_bits = tz.widths
    numbers = {landmark: number for number, landmark in enumerate(tz.landmarks)}

    def count(node: int, distance: IntArray) -> tuple[int, int]:
        other = vertices != node
        stored = other & (distance < radius)
        served = set(nearest[other & ~stored].tolist())
        entries, compared = int(stored.sum()), int(stored.sum()) * sum(tz.widths)
        own = numbers.get(node)
        if own in served:
            served.remove(own)
            labels = map(tz.vertex_label, vertices[other & (nearest == own)].tolist())
            ports = len({label & (1 << port_bits) - 1 for label in labels})
            entries, compared = entries + ports, compared + ports * (landmark_bits + port_bits)
        return entries + len(served), compared + len(served) * landmark_bits

    def transit(nodes: IntArray) -> TableCounts:
        rows = distance_rows(graph, nodes)[:, vertices].astype(np.int32)
        rows[rows == UNREACHABLE] = scheme.fabric.size
        return one_next_hop(*np.array([count(*pair) for pair in zip(nodes.tolist(), rows, strict=True)]).T)

    return with_local(tz, transit)
