"""Deadlock freedom: cycles in channel dependency graphs, built from the rules and searched by networkx."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import networkx as nx
import pytest

from addressing.header import Forward, Header
from addressing.scheme import Scheme
from hostagent.flowcontrol.escape import Escape
from tests.addressing.cases import bound, failures
from tests.topos.graphs import graph
from topos.families.torus import Torus
from topos.graph import ALL_UP, LinkState

#: A buffer: (sending server, its port, receiving server, virtual channel).
Buffer = tuple[int, int, int, int]

CASES = [
    ("clot:4x4", "pow"),
    ("clot:2x6", "pow"),
    ("clot:4x2x4", "pow"),
    ("clot:4x4x4", "pow"),
    ("novacube:4x4", "pow"),
    ("torus:5", "pow"),
    ("torus:3x5", "pow"),
    ("torus:3x3x3", "dor"),
    ("torus:2x2x2x2", "dor"),
    ("clot:4x4", "shortest"),
    ("bcube:3,1", "shortest"),
    ("hypercube:3", "wmgr"),
]


def candidates(scheme: Scheme, escape: Escape, at: int, to: int) -> Iterator[tuple[int, int]]:
    """(port, next server) of all next hops of the scheme's rule."""
    for action, _ in scheme.next_hops(at, Header(scheme.label(to))):
        assert isinstance(action, Forward)
        end = escape.leg(at, action.port, scheme.label(to))
        assert end is not None
        yield action.port, end.node


def adaptive(scheme: Scheme) -> nx.DiGraph:
    """The channel dependency graph with one virtual channel and no escape channel."""
    escape, dependencies = Escape(scheme), nx.DiGraph()
    servers = range(scheme.fabric.servers)
    for at, to in itertools.permutations(servers, 2):
        for port, node in candidates(scheme, escape, at, to):
            if node != to:
                for after, further in candidates(scheme, escape, node, to):
                    dependencies.add_edge((at, port, node, 0), (node, after, further, 0))
    return dependencies


def escaping(scheme: Scheme) -> nx.DiGraph:
    """The channel dependency graph of the escape channel.  Packets never leave that channel, so this is
    also the extended channel dependency graph of Duato's theorem."""
    escape, dependencies = Escape(scheme), nx.DiGraph()
    for at, to in itertools.permutations(range(scheme.fabric.servers), 2):
        for descending in (False, True):
            for leg in escape.routes(at, to, descending):
                for after in escape.routes(leg.server, to, escape.down(at, leg.server)):
                    dependencies.add_edge(
                        (at, leg.port, leg.server, 1), (leg.server, after.port, after.server, 1)
                    )
    return dependencies


def datelines(scheme: Scheme, orderly: bool) -> nx.DiGraph:
    """The channel dependency graph with two virtual channels, where packets change to the second when a
    coordinate wraps around; with ``orderly`` they change back in every dimension (dimension order)."""
    torus, escape, dependencies = scheme.fabric.family, Escape(scheme), nx.DiGraph()
    assert isinstance(torus, Torus)

    def after(before: Buffer | None, at: int, port: int, node: int) -> Buffer:
        channel = before[3] if before is not None else 0
        if orderly and before is not None and (before[1] - 1) // 2 != (port - 1) // 2:
            channel = 0
        here, there = torus.coordinates(at), torus.coordinates(node)
        wraps = any(abs(x - y) > 1 for x, y in zip(here, there, strict=True))
        return at, port, node, 1 if wraps else channel

    for source, to in itertools.permutations(range(scheme.fabric.servers), 2):
        waiting: list[tuple[int, Buffer | None]] = [(source, None)]
        seen = set()
        while waiting:
            at, before = waiting.pop()
            for port, node in candidates(scheme, escape, at, to) if at != to else ():
                buffer = after(before, at, port, node)
                if before is not None:
                    dependencies.add_edge(before, buffer)
                if (to, buffer) not in seen:
                    seen.add((to, buffer))
                    waiting.append((node, buffer))
    return dependencies


@pytest.mark.parametrize(("spec", "name"), CASES)
def test_the_escape_channel_has_no_cycle_and_reaches_all_servers(spec: str, name: str) -> None:
    scheme = bound(spec, name)
    assert nx.is_directed_acyclic_graph(escaping(scheme))
    assert Escape(scheme).unreached() == []


@pytest.mark.parametrize("spec", ["clot:4x4", "clot:4x2x4", "torus:3x5", "torus:5x5", "novacube:4x4"])
@pytest.mark.parametrize("seed", range(4))
def test_the_escape_channel_under_failures(spec: str, seed: int) -> None:
    """It has no cycle, and connects all servers that links between servers still connect."""
    intact = bound(spec, "pow")
    links = failures(intact.fabric, seed, 0.2, splitting=True)
    scheme = intact.with_failures(links)
    escape = Escape(scheme)
    assert nx.is_directed_acyclic_graph(escaping(scheme))
    joined = graph(intact.fabric, links).subgraph(range(intact.fabric.servers))
    pieces = {node: number for number, nodes in enumerate(nx.connected_components(joined)) for node in nodes}
    assert not [(a, b) for a, b in escape.unreached() if pieces[a] == pieces[b]]


@pytest.mark.parametrize("links", [ALL_UP, LinkState(frozenset({0, 5, 17}))])
def test_escape_routes_are_shortest_among_those_that_never_go_up_after_down(links: LinkState) -> None:
    scheme = bound("clot:4x4", "pow").with_failures(links)
    escape = Escape(scheme)
    for to in range(16):
        states = nx.DiGraph()
        for at in range(16):
            for port, _ in scheme.fabric.ports(at, links):
                end = escape.leg(at, port, scheme.label(to))
                if end is not None:
                    down = escape.down(at, end.node)
                    states.add_edges_from(((at, before), (end.node, down)) for before in {False, down})
        for at in set(range(16)) - {to}:
            wanted = min(
                nx.shortest_path_length(states, (at, False), (to, down))
                for down in (False, True)
                if (to, down) in states and nx.has_path(states, (at, False), (to, down))
            )
            taken, descending, here = 0, False, at
            while here != to:
                leg = escape.routes(here, to, descending)[0]
                assert not (descending and not escape.down(here, leg.server))
                descending = escape.down(here, leg.server)
                here, taken = leg.server, taken + 1
            assert taken == wanted


def test_one_virtual_channel_can_deadlock_and_so_can_pow_with_datelines() -> None:
    """Why the second channel is an escape channel: adaptive routing has cycles that datelines do not cut."""
    for spec in ("torus:5", "torus:4x4", "clot:4x4"):
        assert not nx.is_directed_acyclic_graph(adaptive(bound(spec, "pow")))
    assert not nx.is_directed_acyclic_graph(datelines(bound("torus:4x4", "pow"), orderly=False))
    assert not nx.is_directed_acyclic_graph(adaptive(bound("torus:4x4", "dor")))
    assert nx.is_directed_acyclic_graph(datelines(bound("torus:4x4", "dor"), orderly=True))
    assert nx.is_directed_acyclic_graph(datelines(bound("torus:3x5", "dor"), orderly=True))
