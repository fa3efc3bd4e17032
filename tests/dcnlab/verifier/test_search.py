"""What becomes of packets in random graphs of states, against networkx and against every choice tried."""

from __future__ import annotations

import itertools

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from dcnlab.verifier.search import ASKS, LOOPS, LOST, UNKNOWN, Ending, Graph, Kind, Step

SIZE = 6
endings = st.builds(Ending, st.sampled_from(list(Kind)), st.integers(0, 2))
copies = st.lists(st.one_of(st.integers(0, SIZE - 1), endings), max_size=3).map(tuple)
steps = st.lists(copies, min_size=1, max_size=3).map(tuple)
networks = st.lists(steps, min_size=SIZE, max_size=SIZE)
FLAG = {Kind.asks: ASKS, Kind.unknown: UNKNOWN}


def reach(network: list[Step[int]]) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(SIZE))
    for state, alternatives in enumerate(network):
        graph.add_edges_from((state, copy) for alternative in alternatives for copy in alternative)
    return graph


def lost(network: list[Step[int]], choice: tuple[int, ...], state: int, visited: tuple[int, ...] = ()) -> bool:
    """Whether no copy arrives, asks, loops or becomes unknown where each state has chosen."""
    if state in visited:
        return False
    alternative = network[state][choice[state] % len(network[state])]
    return all(
        copy.kind is Kind.lost if isinstance(copy, Ending) else lost(network, choice, copy, (*visited, state))
        for copy in alternative
    )


@given(networks)
def test_flags_and_arrivals_are_those_of_the_definition(network: list[Step[int]]) -> None:
    graph: Graph[int] = Graph(network.__getitem__)
    numbers = graph.add(range(SIZE))
    solution, plain = graph.solve(), reach(network)
    cyclic = {node for node in range(SIZE) if any(node in nx.descendants(plain, n) | {n} for n in plain[node])}
    for state, number in zip(range(SIZE), numbers, strict=True):
        seen = {state} | nx.descendants(plain, state)
        ends = [node for node in seen if isinstance(node, Ending)]
        flags = LOOPS if seen & cyclic else 0
        for end in ends:
            flags |= FLAG.get(end.kind, 0)
        assert solution.flags[number] & ~LOST == flags
        assert solution.arrivals(number) == {end.node for end in ends if end.kind is Kind.arrives}
        choices = itertools.product(range(3), repeat=SIZE)
        assert bool(solution.flags[number] & LOST) == any(lost(network, one, state) for one in choices)


@given(networks, st.lists(st.tuples(st.integers(0, SIZE - 1), steps), max_size=12))
def test_changes_are_taken_over_as_if_all_was_computed_again(
    network: list[Step[int]], changes: list[tuple[int, Step[int]]]
) -> None:
    graph: Graph[int] = Graph(network.__getitem__)
    graph.add([0])
    solution = graph.solve()
    for state, step in changes:
        network[state] = step
        before = dict(enumerate(solution.flags)), [*map(solution.arrivals, range(len(graph.states)))]
        known = [number for number, one in enumerate(graph.states) if one == state]
        other = solution.change(known)
        whole: Graph[int] = Graph(network.__getitem__)
        numbers = whole.add(graph.states)
        expected = whole.solve()
        assert solution.cyclic == {numbers.index(number) for number in expected.cyclic}
        for number, same in enumerate(numbers):
            assert solution.flags[number] == expected.flags[same]
            assert solution.arrivals(number) == expected.arrivals(same)
        after = dict(enumerate(solution.flags)), [*map(solution.arrivals, range(len(graph.states)))]
        assert other or before == after


@given(networks)
def test_paths_are_witnesses(network: list[Step[int]]) -> None:
    graph: Graph[int] = Graph(network.__getitem__)
    numbers = graph.add(range(SIZE))
    solution, plain = graph.solve(), reach(network)
    for number in numbers:
        if solution.flags[number] & LOOPS:
            path = solution.loop(number)
            assert path[0] == number
            assert path[-1] in path[:-1]
            assert all(graph.states[b] in plain[graph.states[a]] for a, b in itertools.pairwise(path))
        for host in solution.arrivals(number):
            path, end = solution.path(number, Ending(Kind.arrives, host).__eq__)
            assert end is None or end.node == host
            assert end is not None
            assert end in plain[graph.states[path[-1]]]
