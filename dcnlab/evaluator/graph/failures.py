"""Failed links and nodes: sizes parsed from text (``links=5%,nodes=2%``), members drawn with a seed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from topos.fabric import Fabric
from topos.graph import ALL_UP, LinkState
from topos.spec import SpecError
from topos.words import counted

#: The kinds of elements that can fail.
KINDS = ("links", "nodes", "servers", "switches", "switch-links", "server-links")
#: The text of no failures, as the empty text.
NONE = "none"


@dataclass(frozen=True)
class Failures:
    """The failed nodes, and the links that are down: failed links and all links of failed nodes."""

    links: LinkState = ALL_UP
    nodes: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        """True when anything failed."""
        return bool(self.links)


def parse(text: str) -> Mapping[str, float]:
    """Parse ``links=5%,nodes=3``: per kind a share (below 1) or a number; a bare ``5%`` means links, ``none``
    nothing.  Links are those of servers too; ``switch-links`` join switches, ``server-links`` have a server.

    Raises SpecError with one line.
    """
    wanted: dict[str, float] = {}
    if text.strip() == NONE:
        return wanted
    for part in filter(None, (part.strip() for part in text.split(","))):
        if part == NONE:
            raise SpecError("failures: none stands alone: leave it out")
        kind, equals, amount = part.partition("=")
        kind, amount = (kind, amount) if equals else ("links", part)
        if kind not in KINDS:
            raise SpecError(f"failures: unknown kind {kind!r}: write {', '.join(f'{k}=5%' for k in KINDS)}")
        if kind in wanted:
            raise SpecError(f"failures: {kind} is given twice")
        wanted[kind] = _amount(amount)
    return wanted


def note(texts: Iterable[str]) -> str:
    """Which links ``links`` are, where some of the failures have them; else empty."""
    if not any("links" in parse(text) for text in texts):
        return ""
    return "failed links are those of servers too; switch-links leaves these out"


def of_servers(fabric: Fabric, failed: Failures) -> int:
    """The number of links that are down and have a server at an end."""
    ends = fabric.link_ends[sorted(failed.links.down)][:, [0, 2]]
    return int((ends < fabric.servers).any(axis=1).sum())


def in_words(links: int, at_servers: int, nodes: int) -> str:
    """How many links are down, how many of these at servers, and how many nodes have lost all."""
    return (
        f"failed: {counted(links, 'link')} ({at_servers} of servers); {counted(nodes, 'node')} lost all links"
    )


def _amount(text: str) -> float:
    try:
        value = float(text.removesuffix("%")) / 100 if text.endswith("%") else int(text)
    except ValueError:
        raise SpecError(f"failures: {text!r} is neither a percentage nor a whole number") from None
    if not 0 <= value < (1 if text.endswith("%") else math.inf):
        raise SpecError(
            f"failures: {text} is out of range: write a number from 0, or a share from 0% to below 100%"
        )
    return value


def draw(fabric: Fabric, text: str, seed: int) -> Failures:
    """Draw a failure set of the sizes in ``text``, each kind uniformly.

    A share is rounded to the nearest whole number of elements.  The same seed, text and fabric
    give the same set.  Each kind has its own random stream, so a change in the number of one
    kind does not change the others.
    """
    of_server = (fabric.link_ends[:, [0, 2]] < fabric.servers).any(axis=1)
    pools: dict[str, Sequence[int]] = {
        "links": range(len(fabric.link_ends)),
        "switch-links": np.flatnonzero(~of_server).tolist(),
        "server-links": np.flatnonzero(of_server).tolist(),
        "nodes": range(fabric.size),
        "servers": range(fabric.servers),
        "switches": range(fabric.servers, fabric.size),
    }
    chosen: dict[str, list[int]] = {kind: [] for kind in KINDS}
    for kind, amount in parse(text).items():
        pool = pools[kind]
        count = round(amount * len(pool)) if amount < 1 else int(amount)
        if count > len(pool):
            raise SpecError(f"failures: {fabric.spec} has only {len(pool)} {kind}, not {count}")
        order = np.random.default_rng([seed, KINDS.index(kind)]).permutation(len(pool))
        chosen[kind] = [pool[i] for i in order[:count].tolist()]
    nodes = frozenset(chosen["nodes"] + chosen["servers"] + chosen["switches"])
    links = chosen["links"] + chosen["switch-links"] + chosen["server-links"]
    down = frozenset(links).union(*(fabric.links_of(node) for node in nodes))
    return Failures(LinkState(down), nodes)
