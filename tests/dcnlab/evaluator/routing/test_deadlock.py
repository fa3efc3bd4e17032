"""Channel dependency graphs: against routes walked one by one with networkx, and known results."""

from __future__ import annotations

import itertools
import json

import networkx as nx
import numpy as np
import pytest

from addressing.header import Forward, Header
from addressing.registry import bind
from addressing.scheme import Scheme, path
from dcnlab.evaluator.deadlock.analysis import Deadlock, analyse
from dcnlab.evaluator.deadlock.channels import of_links
from dcnlab.evaluator.deadlock.datelines import second_channels
from dcnlab.evaluator.deadlock.senders import along
from dcnlab.evaluator.graph import failures
from hostagent.flowcontrol.virtual_channels import read
from tests.lab.lines import dcnlab
from topos.graph import ALL_UP, LinkState
from topos.registry import fabric

#: A directed link: the node and the port by which it leaves.
Link = tuple[int, int]


def walked(scheme: Scheme, to: int, down: LinkState = ALL_UP) -> set[tuple[Link, Link]]:
    """What waits for what on all routes to a server, by asking the rule at every state."""
    network = scheme.fabric
    dependencies: set[tuple[Link, Link]] = set()
    todo: list[tuple[int, Header, Link | None]] = [
        (server, header, None)
        for server in range(network.servers)
        if server != to
        for header, _ in scheme.headers(server, to, down)
    ]
    seen = set(todo)
    while todo:
        at, header, came = todo.pop()
        for action, weight in scheme.act(at, header, down):
            if not isinstance(action, Forward) or not weight:
                continue
            end = network.peer(at, action.port)
            if end is None or network.link_at(at, action.port) in down.down:
                continue
            here = (at, action.port)
            if came is not None:
                dependencies.add((came, here))
            state = (end.node, action.arrival(header, scheme.tag_bits, end.number), here)
            if state not in seen:
                seen.add(state)
                todo.append(state)
    return dependencies


def graph_of(scheme: Scheme, down: LinkState = ALL_UP) -> nx.DiGraph:
    graph = nx.DiGraph()
    for to in range(scheme.fabric.servers):
        graph.add_edges_from(walked(scheme, to, down))
    return graph


def links_of(deadlock: Deadlock, scheme: Scheme) -> list[Link]:
    start = scheme.fabric.adjacency.start
    return [(int(tail), int(c - start[tail] + 1)) for c, tail in enumerate(deadlock.channels.tail)]


CASES = [
    ("torus:4x4", "dor"), ("torus:5", "dor"), ("torus:3x3", "pow"), ("clot:4x2", "pow"), ("bcube:3,1", "brp"),
    ("bcube:3,1", "wmgr"), ("bcube:3,1", "updown"), ("bcube:3,1", "ksp:k=3"), ("dcell:3,1", "dfr"),
    ("fattree:4", "ecmp"), ("jellyfish:6,8,4", "ecmp"), ("dragonfly:3,1,1", "valiant"), ("hdcube:3,1", "dcube"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "name"), CASES)
def test_dependencies_and_shortest_cycles_are_those_of_walked_routes(spec: str, name: str) -> None:
    scheme = bind(name, fabric(spec))
    expected, deadlock = graph_of(scheme), analyse(scheme)
    assert deadlock.dependencies == expected.number_of_edges()
    girth = min(
        (len(cycle) for cycle in shortest_cycles(expected)),
        default=0,
    )
    assert len(deadlock.cycle) == girth
    links = links_of(deadlock, scheme)
    for (one, destination), (other, _) in itertools.pairwise([*deadlock.cycle, *deadlock.cycle[:1]]):
        assert (links[one], links[other]) in walked(scheme, destination)
    cyclic = [part for part in nx.strongly_connected_components(expected) if len(part) > 1]
    assert deadlock.cyclic == sum(map(len, cyclic))


def shortest_cycles(graph: nx.DiGraph) -> list[list[Link]]:
    """A shortest cycle through every channel that is on one."""
    cycles = []
    for node in graph:
        closed = [
            nx.shortest_path(graph, following, node)
            for following in graph[node]
            if nx.has_path(graph, following, node)
        ]
        if closed:
            cycles.append(min(closed, key=len))
    return cycles


@pytest.mark.parametrize(("spec", "name"), CASES)
def test_no_layer_has_a_cycle(spec: str, name: str) -> None:
    scheme = bind(name, fabric(spec))
    deadlock = analyse(scheme)
    assert deadlock.layers >= 1 + bool(deadlock.cycle)
    for layer in range(deadlock.layers):
        graph = nx.DiGraph()
        for to in np.flatnonzero(deadlock.layer == layer).tolist():
            graph.add_edges_from(walked(scheme, to))
        assert nx.is_directed_acyclic_graph(graph)


@pytest.mark.parametrize(
    ("spec", "name", "length"),
    [
        ("torus:4x4", "pow", 4),  # CLOT's probabilistic routing: a ring of four
        ("torus:4x4", "dor", 4),  # rings close at the wraparound links
        ("torus:7", "dor", 7),
        ("bcube:4,1", "updown", 0),  # up*/down* has none by construction
        ("jellyfish:8,12,4", "updown", 0),
        ("fattree:4", "ecmp", 0),  # up, then down
        ("bcube:4,1", "brp", 0),  # digits are corrected in one order
        ("bcube:4,1", "wmgr", 0),
    ],
)
def test_known_results(spec: str, name: str, length: int) -> None:
    assert len(analyse(bind(name, fabric(spec))).cycle) == length


def test_two_virtual_channels_are_enough_on_a_ring() -> None:
    assert analyse(bind("dor", fabric("torus:9"))).layers == 2


def crossed(scheme: Scheme, here: Link, to: int) -> tuple[Link, bool]:
    """A link, and whether a packet there must still cross the wraparound link of its ring: followed step by
    step."""
    network, port = scheme.fabric, here[1]
    dimension, radices = (port - 1) // 2, network.family.torus_radices
    goal, node = network.family.coordinates(to)[dimension], here[0]
    while network.family.coordinates(node)[dimension] != goal:
        before = network.family.coordinates(node)[dimension]
        node = network.peer(node, port).node
        if abs(network.family.coordinates(node)[dimension] - before) == radices[dimension] - 1 > 1:
            return here, True
    return here, False


@pytest.mark.parametrize(
    ("spec", "name", "length"),
    [
        ("torus:4x4", "dor", 0),  # two virtual channels are enough in any number of dimensions
        ("torus:5x3x4", "dor", 0),
        ("torus:9", "dor", 0),
        ("torus:4x4", "pow", 4),  # also in CLOT's mesh, away from wraparound links
        ("torus:3x5", "pow", 4),
    ],
)
def test_datelines_on_a_torus(spec: str, name: str, length: int) -> None:
    scheme = bind(name, fabric(spec))
    graph = nx.DiGraph()
    for to in range(scheme.fabric.servers):
        for one, other in walked(scheme, to):
            graph.add_edge(crossed(scheme, one, to), crossed(scheme, other, to))
    deadlock = analyse(scheme)
    assert min(map(len, shortest_cycles(graph)), default=0) == length
    assert deadlock.datelines is not None
    assert len(deadlock.datelines) == length
    assert deadlock.virtual_channels == (
        (deadlock.layers, "destination") if length or deadlock.layers == 2 else (2, "datelines")
    )


@pytest.mark.parametrize("spec", ["torus:2x4", "torus:5x3", "torus:6"])
def test_labs_tell_datelines_apart_as_the_analysis_does(spec: str) -> None:
    network = fabric(spec)
    channels = of_links(network)
    second, choose = second_channels(network, channels), read("datelines", network).choose
    assert second is not None
    linked = channels.head >= 0  # where a side is two nodes, a port of each has no link
    hops = list(zip(channels.tail[linked].tolist(), channels.head[linked].tolist(), strict=True))
    for to in range(network.servers):
        assert [choose(at, following, to) for at, following in hops] == second(to)[linked].tolist()


def test_what_is_sent_along_a_cycle_waits_in_it() -> None:
    scheme = bind("dor", fabric("torus:4x4"))
    deadlock = analyse(scheme, switching="credits")
    for (channel, to), (following, _) in itertools.pairwise([*deadlock.cycle, *deadlock.cycle[:1]]):
        sources = [source for source, end in along(scheme, deadlock) if end == to]
        hops = [(int(deadlock.channels.tail[c]), int(deadlock.channels.head[c])) for c in (channel, following)]
        assert hops[0][0] in sources
        for source in sources:
            nodes = path(scheme, source, to)
            assert nodes is not None
            assert set(hops) <= set(itertools.pairwise(nodes))


def test_other_networks_have_no_datelines() -> None:
    assert analyse(bind("pow", fabric("clot:4x4"))).datelines is None


@pytest.mark.parametrize(("spec", "name"), [("bcube:3,1", "shortest"), ("jellyfish:6,8,4", "ecmp")])
def test_routes_after_failures(spec: str, name: str) -> None:
    network = fabric(spec)
    down = failures.draw(network, "links=15%", 2).links
    scheme = bind(name, network)
    expected = graph_of(scheme.with_failures(down), down)
    assert analyse(scheme, down).dependencies == expected.number_of_edges()


@pytest.mark.parametrize(("spec", "name"), [("clot:4x2", "pow"), ("bcube:3,1", "brp"), ("dcell:3,1", "dfr")])
def test_channels_between_servers_are_those_of_routes_without_their_switches(spec: str, name: str) -> None:
    scheme = bind(name, fabric(spec))
    network = scheme.fabric
    graph = nx.DiGraph()
    for to in range(network.servers):
        waits = nx.DiGraph(walked(scheme, to))
        legs: dict[Link, set[int]] = {}
        ends: dict[tuple[Link, int], set[Link]] = {}
        for first in [*waits]:
            if not network.is_server(first[0]):
                continue
            inner = [first]
            while inner:
                link = inner.pop()
                head = network.peer(*link)
                assert head is not None
                if network.is_server(head.node):
                    legs.setdefault(first, set()).add(head.node)
                    ends.setdefault((first, head.node), set()).add(link)
                else:
                    inner += list(waits[link])
        for (first, server), last in ends.items():
            for link in last:
                for following in waits[link]:
                    for beyond in legs.get(following, ()):
                        graph.add_edge((first[0], server), (server, beyond))
    deadlock = analyse(scheme, switching="credits")
    assert deadlock.dependencies == graph.number_of_edges()
    assert bool(deadlock.cycle) is not nx.is_directed_acyclic_graph(graph)


def test_the_command_shows_a_cycle_and_its_exit_code_says_so() -> None:
    ended = dcnlab("deadlock", "torus:4x4", "--scheme", "dor")
    assert ended.returncode == 1
    assert "h0 - h4" in ended.stdout
    free = dcnlab("deadlock", "bcube:4,1", "--scheme", "brp", "--switching", "credits", "--json")
    assert free.returncode == 0
    assert json.loads(free.stdout)["deadlock_free"] is True
