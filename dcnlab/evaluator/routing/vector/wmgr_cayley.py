"""WMGR on Cayley graphs, vectorised: first letters from the group's own tables, without Diff."""

from __future__ import annotations

from typing import cast

import numpy as np

from addressing.scheme import Scheme
from addressing.schemes.wmgr_cayley import WmgrCayley
from dcnlab.evaluator.graph.hop_graph import attachment_points
from dcnlab.evaluator.routing.forms import Rule, TableCounts, Tables
from dcnlab.evaluator.routing.prefix_counts import WIDTH, Trie, Words
from dcnlab.evaluator.routing.table_counts import one_next_hop, with_local
from topos.graph import NONE, IntArray, LinkState


def rule(scheme: Scheme, known_down: LinkState) -> Rule:
    """Towards vertex d, vertex v uses the first letter of v^-1 d = (d^-1 v)^-1."""
    fabric, bound = scheme.fabric, cast(WmgrCayley, scheme)
    group, under = bound.structure.group, bound.underlying
    last, final = attachment_points(fabric)
    nodes = np.array([under.node(vertex) for vertex in group.vertices.tolist()], dtype=np.int32)
    elements = np.full(fabric.size, NONE, dtype=np.int32)
    elements[nodes] = np.arange(group.order, dtype=np.int32)
    ports = np.array(
        [
            [under.port(vertex, letter) for letter in group.generators] + [0]
            for vertex in group.vertices.tolist()
        ],
        dtype=np.int32,
    )
    letters, everyone = group.first[group.inverse], np.arange(group.order)
    start = fabric.adjacency.start[nodes].astype(np.int32)
    between = [node for node in range(fabric.servers, fabric.size) if under.vertex(node) is None]

    def towards(destinations: IntArray) -> IntArray:
        out = np.full((len(destinations), fabric.size), NONE, dtype=np.int32)
        for row, vertex in zip(out, last[destinations], strict=True):
            letter = letters[group.translated(int(group.inverse[elements[vertex]]))]
            row[nodes] = start + ports[everyone, letter] - 1
            for node in between:
                row[node] = fabric.adjacency.start[node] + under.completion(node, int(vertex)) - 1
        out[np.arange(len(out)), last[destinations]] = final[destinations]
        return out

    return towards


def table_counts(scheme: Scheme) -> Tables | None:
    """The fewest prefixes of the labels; None where failures are known, or with more than 64 bits or ports."""
    cayley, family = cast(WmgrCayley, scheme), cast(SymmetricGraph, scheme.fabric.family)
    group, coding = cayley.structure.group, cayley.structure.coding
    if scheme.known or max(coding.bits, len(group.generators)) > WIDTH:
        return None
    order = np.argsort(np.array(coding.labels, dtype=np.uint64))
    trie = Trie.of(np.array(coding.labels, dtype=np.uint64)[order], coding.bits)
    ranked = sorted(range(len(group.generators)), key=repr)
    bit = np.zeros(len(ranked) + 1, dtype=np.uint64)
    bit[ranked] = np.uint64(1) << np.arange(len(ranked), dtype=np.uint64)

    def decisions(node: int) -> Words:
        here = int(group.ranks[family.vertex(node)])
        onward = bit[group.first[group.translated(int(group.inverse[here]))]]
        onward[here] = 0
        return onward[order]

    def transit(nodes: IntArray) -> TableCounts:
        return one_next_hop(*trie.prefixes(np.stack([decisions(node) for node in nodes.tolist()])).T)

    return with_local(cayley, transit)
