"""WMGR on Cayley graphs, vectorised: first letters from the group's own tables, without Diff."""

from __future__ import annotations

from typing import cast

import numpy as np

from addressing.scheme import Scheme
from addressing.schemes.wmgr_cayley import WmgrCayley
from dcnlab.evaluator.graph.hop_graph import attachment_points
from dcnlab.evaluator.routing.forms import Rule, TableCounts, Tables
from dcnlab.evaluator.routing.tables.prefix_counts import WIDTH, Trie
from dcnlab.evaluator.routing.tables.table_counts import one_next_hop, with_local
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


def always_shortest(scheme: Scheme) -> bool:
    """Normal forms are shortest words, unless failures are known and paths are repaired."""
    return not scheme.known


def symmetric(scheme: Scheme) -> bool:
    """The path from u to v is the normal form of u^-1 v."""
    return True


def table_counts(scheme: Scheme) -> Tables | None:
    """The fewest prefixes of the labels; None where failures are known, or with more than 64 bits or ports."""
    cayley, most = cast(WmgrCayley, scheme), int(np.diff(scheme.fabric.adjacency.start).max(initial=0))
    coding = cayley.structure.coding
    if scheme.known or max(coding.bits, most) > WIDTH:
        return None
    labels = np.array(coding.labels, dtype=np.uint64)
    order = np.argsort(labels)
    trie = Trie.of(labels[order], coding.bits)
    bit = np.zeros(most + 1, dtype=np.uint64)
    bit[sorted(range(1, most + 1), key=repr)] = np.uint64(1) << np.arange(most, dtype=np.uint64)

    def transit(nodes: IntArray) -> TableCounts:
        decisions = np.stack([bit[_ports(cayley, node)][order] for node in nodes.tolist()])
        return one_next_hop(*trie.prefixes(decisions).T)

    return with_local(cayley, transit)


def _ports(scheme: WmgrCayley, node: int) -> IntArray:
    """Per element the port of a node towards it; 0 for the node's own element."""
    group, under = scheme.structure.group, scheme.underlying
    number = under.vertex(node)
    if number is None:
        return np.array(
            [under.completion(node, under.node(v)) for v in group.vertices.tolist()], dtype=np.int32
        )
    here = int(group.ranks[number])
    ports = np.array([*(under.port(number, letter) for letter in group.generators), 0], dtype=np.int32)
    return ports[group.first[group.translated(int(group.inverse[here]))]]
