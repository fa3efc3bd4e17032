"""WMGR on Cayley graphs, vectorised: first letters from the group's own tables, without Diff."""

from __future__ import annotations

from typing import cast

import numpy as np

from addressing.scheme import Scheme
from addressing.schemes.wmgr_cayley import WmgrCayley
from dcnlab.evaluator.graph.hop_graph import attachment_points
from dcnlab.evaluator.routing.forms import Rule
from topos.graph import NONE, IntArray, LinkState
from topos.vertices import SymmetricGraph


def rule(scheme: Scheme, known_down: LinkState) -> Rule:
    """Towards vertex d, vertex v uses the first letter of v^-1 d = (d^-1 v)^-1."""
    fabric, group = scheme.fabric, cast(WmgrCayley, scheme).structure.group
    family = cast(SymmetricGraph, fabric.family)
    last, final = attachment_points(fabric)
    nodes = np.array([family.node_of(vertex) for vertex in group.vertices.tolist()], dtype=np.int32)
    elements = np.full(fabric.size, NONE, dtype=np.int32)
    elements[nodes] = np.arange(group.order, dtype=np.int32)
    ports = np.array([family.port_of(letter + 1) for letter in group.generators] + [0], dtype=np.int32)
    offset = ports[group.first[group.inverse]] - 1
    start = fabric.adjacency.start[nodes].astype(np.int32)

    def towards(destinations: IntArray) -> IntArray:
        out = np.full((len(destinations), fabric.size), NONE, dtype=np.int32)
        for row, vertex in zip(out, last[destinations], strict=True):
            row[nodes] = start + offset[group.translated(int(group.inverse[elements[vertex]]))]
        out[np.arange(len(out)), last[destinations]] = final[destinations]
        return out

    return towards
