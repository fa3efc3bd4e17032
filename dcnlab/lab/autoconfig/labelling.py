"""Distributed labelling (WMGR): offline with failures, and in labs; labels are compared with the scheme's."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from addressing.scheme import Scheme
from addressing.schemes.wmgr import Wmgr
from dcnlab.lab import naming
from dcnlab.lab.autoconfig.side import Concluded, Protocol, ServerOutcomes, Side
from dcnlab.lab.errors import UsageError
from dcnlab.lab.options.config import resolve
from hostagent.client import AgentPool
from hostagent.protocols.labelling.frames import Label
from hostagent.protocols.labelling.network import LabellingNetwork, LabellingOutcome
from hostagent.virtual import Noise
from topos.fabric import Fabric

#: The most pairs of nodes between which delivery is tested.
_PAIRS = 10_000
_KEY = b"dcnlab"
#: Seconds until all servers of a lab must have labels.
TIMEOUT = 30.0


def offline(
    topology: str, root: str, cuts: Sequence[str], noise: tuple[float, float, float], seed: int
) -> dict[str, Any]:  # fmt: skip
    """Label a fabric from ``root``, then fail the links of each cut, one cut after the other.

    Per round: virtual milliseconds until the last label, frames by kind, labels that
    changed, whether all are those of ``wmgr`` on what is up, and of the connected pairs
    that were tried those that Algorithm 2 on the learned labels does not serve.
    """
    fabric, scheme = resolve(topology, f"wmgr:root={root}")
    assert isinstance(scheme, Wmgr)
    network = LabellingNetwork(fabric, scheme.root_node, seed=seed, noise=Noise(*noise), key=_KEY)
    chosen = [(cut, parse_cut(fabric, cut)) for cut in cuts]
    rounds = [_round("start", scheme, network, network.start(), seed)]
    for cut, links in chosen:
        outcome = network.change(links, up=False)
        rounds.append(_round(f"cut {cut}", scheme, network, outcome, seed))
    return {
        "topology": fabric.spec,
        "nodes": fabric.size,
        "links": len(fabric.link_ends),
        "root": fabric.name(scheme.root_node),
        "label_bits": scheme.label_bits,
        "rounds": rounds,
    }


# --- in a lab ---------------------------------------------------------------------


class LabellingSide(Side):
    """Labelling at the agents of this machine."""

    def __init__(self, agents: AgentPool, scheme: Wmgr, servers: frozenset[int]) -> None:
        self._agents, self._scheme, self._servers = agents, scheme, servers
        self._before: Counter[str] = Counter()

    def runs(self, node: int) -> bool:
        return node in self._servers

    def prepare(self) -> None:
        self._agents.forget_labels()
        self._before = frames(self._agents)

    def begin(self, epoch: int) -> None:
        self._agents.label(self._scheme.root_node)

    def finish(self) -> ServerOutcomes:
        last = self._agents.wait_labels(expected(self._scheme, self._servers), TIMEOUT)
        wrong = mislabelled(self._agents, self._scheme, self._servers) if last is None else []
        return ServerOutcomes(self._agents.labelled_at, wrong, frames(self._agents) - self._before)


class Labelling(Protocol):
    """Labelling in a lab."""

    def enable(self, agents: AgentPool, scheme: Scheme) -> None:
        agents.enable("labelling", root=_wmgr(scheme).root_node)

    def origin(self, scheme: Scheme) -> int:
        return _wmgr(scheme).root_node

    def side(self, agents: AgentPool, scheme: Scheme, servers: frozenset[int]) -> Side:
        return LabellingSide(agents, _wmgr(scheme), servers)

    def wrong(self, scheme: Scheme, nodes: Sequence[int]) -> str:
        names = ", ".join(map(scheme.fabric.name, nodes[:5]))
        return f"{len(nodes)} servers have not learned the label that wmgr gives them: {names}"

    def timed(self, concluded: Concluded | None, at: Mapping[int, float], begun: float) -> tuple[float, float]:
        return begun, round((max(at.values()) - begun) * 1000, 3)


def _wmgr(scheme: Scheme) -> Wmgr:
    assert isinstance(scheme, Wmgr)  # the only scheme that names this protocol
    return scheme


def expected(scheme: Wmgr, servers: Iterable[int]) -> dict[int, Label]:
    """The label that each of these servers should learn."""
    return {node: Label.of(scheme.embedding, node) for node in servers}


def mislabelled(agents: AgentPool, scheme: Wmgr, servers: Iterable[int]) -> list[int]:
    """The servers whose label differs from the scheme's."""
    learned = agents.labels
    return sorted(node for node, label in expected(scheme, servers).items() if learned.get(node) != label)


def frames(agents: AgentPool) -> Counter[str]:
    """The labelling frames that the servers have sent, by kind; the keys are those of offline rounds."""
    sent = agents.sent("labelling").items()
    return Counter({kind if kind == "retransmitted" else f"sent {kind}": count for kind, count in sent})


def parse_cut(fabric: Fabric, text: str) -> tuple[int, ...]:
    """The links that ``link:h0-s1`` or ``node:s3`` names; UsageError with one line otherwise."""
    kind, colon, names = text.partition(":")
    if not colon or kind not in ("link", "node"):
        raise UsageError(f"a cut is written as link:h0-s1 or node:s3, not {text!r}")
    return naming.links(fabric, kind, names.split("-") if kind == "link" else [names])


def _round(
    what: str, scheme: Wmgr, network: LabellingNetwork, outcome: LabellingOutcome, seed: int
) -> dict[str, Any]:
    bound = scheme.with_failures(network.links) if network.links else scheme
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


def _connected_pairs(network: LabellingNetwork, seed: int) -> Iterator[tuple[int, int]]:
    """Ordered pairs of connected nodes: all, or a sample drawn with ``seed``."""
    import networkx as nx  # a fifth of a second, which a launch must not wait for

    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(network.fabric.size))
    graph.add_edges_from((a.node, b.node) for a, b in network.peers.items())
    pieces = [sorted(piece) for piece in nx.connected_components(graph)]
    if sum(len(piece) * (len(piece) - 1) for piece in pieces) <= _PAIRS:
        yield from ((a, b) for piece in pieces for a in piece for b in piece if a != b)
        return
    draw, large = random.Random(seed), [piece for piece in pieces if len(piece) > 1]
    for piece in draw.choices(large, [len(piece) * (len(piece) - 1) for piece in large], k=_PAIRS):
        a, b = draw.sample(piece, 2)
        yield a, b
