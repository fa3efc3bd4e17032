"""CLOT (Wang et al.), sections 7.3, 7.4 and 9: deadlock, livelock, and the diameter in the conclusion."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import networkx as nx

from addressing.header import Forward, Header
from addressing.registry import bind
from dcnlab.papers.claim import Claim, Experiment, Reading, Row
from dcnlab.papers.clot.distances import COUNTED, between_servers
from dcnlab.papers.measure import routed
from topos.families.torus import Torus
from topos.registry import fabric

_PAPER = "Wang et al., CLOT"
#: Per node and destination the next nodes.
NextNodes = Callable[[int, int], list[int]]
_SIDE = 4


def waiting_in_circles(size: int, following: NextNodes, wraps: Callable[[int, int], bool]) -> int:
    """The channels that lie on a cycle of the channel dependency graph, with two virtual channels per link:
    packets change to the second when they wrap around."""
    dependencies: nx.DiGraph[tuple[int, int, bool]] = nx.DiGraph()
    for source, to in itertools.permutations(range(size), 2):
        waiting: list[tuple[int, tuple[int, int, bool] | None]] = [(source, None)]
        seen = set()
        while waiting:
            at, before = waiting.pop()
            for node in following(at, to) if at != to else ():
                channel = (at, node, wraps(at, node) or (before is not None and before[2]))
                if before is not None:
                    dependencies.add_edge(before, channel)
                if channel not in seen:
                    seen.add(channel)
                    waiting.append((node, channel))
    return sum(len(part) for part in nx.strongly_connected_components(dependencies) if len(part) > 1)


def _mesh(at: int, to: int) -> list[int]:
    """All neighbours in a square mesh that are nearer to the destination, as POW has it."""
    here, there = divmod(at, _SIDE), divmod(to, _SIDE)
    steps = [(int(a < b) - int(a > b)) for a, b in zip(here, there, strict=True)]
    return [at + step * scale for step, scale in zip(steps, (_SIDE, 1), strict=True) if step]


def _torus() -> tuple[int, NextNodes, Callable[[int, int], bool]]:
    """A square torus with the rule of the scheme pow."""
    scheme = bind("pow", fabric(f"torus:{_SIDE}x{_SIDE}"))
    network, torus = scheme.fabric, scheme.fabric.family
    assert isinstance(torus, Torus)

    def following(at: int, to: int) -> list[int]:
        actions = [action for action, _ in scheme.next_hops(at, Header(scheme.label(to)))]
        ends = [network.peer(at, action.port) for action in actions if isinstance(action, Forward)]
        return [end.node for end in ends if end is not None]

    def wraps(at: int, node: int) -> bool:
        return any(abs(a - b) > 1 for a, b in zip(torus.coordinates(at), torus.coordinates(node), strict=True))

    return network.size, following, wraps


def _rows() -> Iterator[Row]:
    how = "channels on cycles of the channel dependency graph, from all pairs; networkx"
    mesh = waiting_in_circles(_SIDE**2, _mesh, lambda _a, _b: False)
    for name, waiting in (
        (f"mesh of {_SIDE} x {_SIDE}", mesh),
        (f"torus:{_SIDE}x{_SIDE}", waiting_in_circles(*_torus())),
    ):
        claim = Claim(
            f"deadlock-{name}", _PAPER, f"channels that can wait for each other in a circle, {name}", 0, how,
            source='section 7.3: "ensures POW is deadlock free in the mesh sub-network"; two virtual channels',
        )  # fmt: skip
        yield Row(claim, waiting)
    for spec in ("clot:4x4", "clot:8x8", "clot:4x4x4"):
        lengths, servers = routed(spec, "pow"), fabric(spec).servers
        claim = Claim(
            f"livelock-{spec}", _PAPER, f"ordered pairs of {spec} that POW delivers, of all choices, %", 100,
            "exact over all pairs, with the weights of the rule", tolerance=1e-6, source="section 7.4",
        )  # fmt: skip
        yield Row(claim, None if lengths is None else 100 * lengths.mass / (servers * (servers - 1)))
    for k in (4, 6, 8, 10, 12, 16):
        claim = Claim(
            f"halves-{k}", _PAPER, f"diameter of CLOT over that of the torus, k = {k}, n = 3", 0.5,
            "exact over all pairs of servers", tolerance=0.05,
            source='section 9: "halves the network diameter"',
        )  # fmt: skip
        diameter = between_servers("torus", k, 3, "links").diameter
        ratios = {
            name: between_servers("clot", k, 3, hops).diameter / diameter for name, hops in COUNTED.items()
        }
        yield Row.by_reading(claim, *(Reading(name, ratio) for name, ratio in ratios.items()))


EXPERIMENTS = (
    Experiment("clot-routing", _PAPER, "deadlock, livelock and the diameter (sections 7 and 9)", _rows),
)
