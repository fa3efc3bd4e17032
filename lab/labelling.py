"""Distributed labelling for users: a fabric offline, with cuts, and whether all is as it should be."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import networkx as nx

from addressing.schemes.wmgr import Wmgr
from hostagent.labelnet import LabelNetwork, Outcome
from hostagent.virtual import Noise
from lab import naming
from lab.config import resolve
from lab.errors import UsageError
from topos.graph import Fabric

#: Pairs of nodes between which delivery is tried: all of them on small fabrics.
_PAIRS = 10_000
_KEY = b"dcnlab"


def offline(
    topology: str, root: str, cuts: Sequence[str], noise: tuple[float, float, float], seed: int
) -> dict[str, Any]:  # fmt: skip
    """Label a fabric from ``root``, then cut what is named, one after the other.

    Per round: virtual milliseconds until the last label, frames by kind, labels that
    changed, whether all are those of ``wmgr`` on what is up, and of the connected pairs
    that were tried those that Algorithm 2 on the learned labels does not serve.
    """
    fabric, scheme = resolve(topology, f"wmgr:root={root}")
    assert isinstance(scheme, Wmgr)
    network = LabelNetwork(fabric, scheme.root_node, seed=seed, noise=Noise(*noise), key=_KEY)
    chosen = [(cut, links_cut(fabric, cut)) for cut in cuts]
    rounds = [_round("start", scheme, network, network.start(), seed)]
    for cut, links in chosen:
        outcome = network.change(links, up=False)
        rounds.append(_round(f"cut {cut}", scheme, network, outcome, seed))
    return {
        "topology": fabric.spec,
        "nodes": fabric.size,
        "links": len(fabric.cables),
        "root": fabric.name(scheme.root_node),
        "label_bits": scheme.label_bits,
        "rounds": rounds,
    }


def links_cut(fabric: Fabric, text: str) -> tuple[int, ...]:
    """The links that ``link:h0-s1`` or ``node:s3`` names; UsageError with one line otherwise."""
    kind, colon, names = text.partition(":")
    if not colon or kind not in ("link", "node"):
        raise UsageError(f"what is cut is link:h0-s1 or node:s3, not {text!r}")
    return naming.links(fabric, kind, names.split("-") if kind == "link" else [names])


def _round(what: str, scheme: Wmgr, network: LabelNetwork, outcome: Outcome, seed: int) -> dict[str, Any]:
    bound = scheme.given(network.links) if network.links else scheme
    assert isinstance(bound, Wmgr)
    pairs = list(_connected_pairs(network, seed))
    return {
        "what": what,
        "ms": round(outcome.seconds * 1000, 3),
        "frames": dict(outcome.frames),
        "changed": outcome.changed,
        "equal": not network.differing(bound.embedding),
        "pairs": len(pairs),
        "lost": sum(not network.arrives(a, b) for a, b in pairs),
    }


def _connected_pairs(network: LabelNetwork, seed: int) -> Iterator[tuple[int, int]]:
    """Ordered pairs of nodes with a way between them: all, or as many as are tried, drawn with ``seed``."""
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(network.fabric.size))
    graph.add_edges_from((a.node, b.node) for a, b in network.wires.items())
    pieces = [sorted(piece) for piece in nx.connected_components(graph)]
    if sum(len(piece) * (len(piece) - 1) for piece in pieces) <= _PAIRS:
        yield from ((a, b) for piece in pieces for a in piece for b in piece if a != b)
        return
    draw, large = random.Random(seed), [piece for piece in pieces if len(piece) > 1]
    for piece in draw.choices(large, [len(piece) * (len(piece) - 1) for piece in large], k=_PAIRS):
        a, b = draw.sample(piece, 2)
        yield a, b
