"""``dcnlab automaton``: the word-difference automata of a Cayley graph and their sizes."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters import options
from dcnlab.cli.parameters.arguments import Topology
from dcnlab.cli.parameters.durations import duration
from dcnlab.cli.show import JsonFlag, print_json, table
from dcnlab.lab.errors import UsageError
from topos.bases.cayley import CayleyGraph

if TYPE_CHECKING:
    from addressing.automata.group import Group


class GroupSource(StrEnum):
    """What the group is computed from."""

    graph = "graph"
    presentation = "presentation"


@command("dcnlab automaton transposition:6 --order search")
def automaton(
    topology: Topology,
    order: Annotated[
        str, typer.Option(help="Order of letters: natural, lex, colex, search, or ports such as 2.1.3.")
    ] = "natural",
    seconds: Annotated[
        float, duration("With --order search: how long to search.", "--for", "--seconds")
    ] = 10.0,
    seed: options.Seed = 1,
    source: Annotated[
        GroupSource,
        typer.Option("--from", help="Breadth-first search on the graph, or Knuth-Bendix completion."),
    ] = GroupSource.graph,
    group: Annotated[
        str,
        typer.Option(help="The Cayley graph that the network is a copy of (star:4): find its generators."),
    ] = "",
    json: JsonFlag = False,
) -> None:
    """Word-difference automaton of a Cayley graph: its size in comparison with a full table."""
    from addressing.automata.sizes import measure

    spec, family = _graph(group or topology)
    generators = _discovered(topology, group, family) if group else None
    ports, trials = _order(family, order, seed, seconds)
    started = time.perf_counter()
    structure = _group(family, ports, source)
    result: dict[str, Any] = {
        "topology": spec,
        **({} if generators is None else {"copy": topology, "generators": generators}),
        "order": list(ports),
        "letters": list(structure.names),
        "trials": trials,
        "from": source.value,
        **measure(structure).as_dict(),
        "seconds": time.perf_counter() - started,
    }
    if json:
        print_json(result)
    else:
        _show(result)


def _graph(topology: str) -> tuple[str, CayleyGraph]:
    """The topology's full specification, and the Cayley graph under it."""
    from addressing.automata.underlying import underlying
    from dcnlab.cli.catalogue import fabric_of

    family = fabric_of(topology).family
    cayley = underlying(family)
    if cayley is None:
        raise UsageError(f"{topology} has no known Cayley graph: only Cayley graphs have these automata")
    return family.spec, cayley.graph


def _discovered(topology: str, group: str, graph: CayleyGraph) -> dict[str, dict[str, str]]:
    """Per node of a copy of a Cayley graph the neighbour by each generator."""
    from addressing.automata.discovery import discover
    from addressing.automata.group import GroupError
    from addressing.automata.presentations import of_family
    from dcnlab.cli.catalogue import fabric_of

    network = fabric_of(topology)
    nodes = [node for node in range(network.size) if not network.is_end_host(node)]
    numbers = {node: number for number, node in enumerate(nodes)}
    rows = [[numbers[end.node] for _, end in network.ports(node) if end.node in numbers] for node in nodes]
    try:
        presentation = of_family(graph)
    except GroupError as error:
        raise UsageError(str(error)) from error
    following = discover(rows, presentation) if len(nodes) == graph.vertices else None
    if following is None:
        raise UsageError(f"{topology} is no copy of {group}: no choice of generators satisfies its relators")
    names = [network.name(node) for node in nodes]
    return {
        names[number]: {graph.letters[letter]: names[end] for letter, end in sorted(row.items())}
        for number, row in enumerate(following)
    }


def _order(family: CayleyGraph, text: str, seed: int, seconds: float) -> tuple[tuple[int, ...], int]:
    """The order of letters, and how many orders were tried to find it."""
    from addressing.automata import orders
    from topos.family import ParameterError

    try:
        orders.check(family, text)
    except ParameterError as error:
        raise UsageError(str(error)) from error
    if text != "search":
        return orders.read(family, text), 1
    end, tried = time.monotonic() + seconds, []
    for trial in orders.search(family, seed):
        tried.append(trial)
        if time.monotonic() >= end:
            break
    return min(tried, key=lambda trial: trial.states).order, len(tried)


def _group(family: CayleyGraph, ports: tuple[int, ...], source: GroupSource) -> Group:
    """The group, computed from ``source``."""
    from addressing.automata import completion, group, presentations

    if source is GroupSource.graph:
        return group.of_graph(family, ports)
    try:
        return completion.complete(presentations.of_family(family, ports)).group()
    except group.GroupError as error:
        raise UsageError(str(error)) from error


def _show(result: dict[str, Any]) -> None:
    print(f"{result['topology']}: {result['elements']} elements, diameter {result['diameter']}")
    if "copy" in result:
        first, row = next(iter(result["generators"].items()))
        ends = ", ".join(f"{letter} to {end}" for letter, end in row.items())
        print(f"{result['copy']}: generators found for all links; from {first}: {ends}")
    print(f"letters in order: {' '.join(result['letters'])} (orders tried: {result['trials']})")
    rows = [
        (name, size["states"], size["transitions"], size["bits"], f"{size['bits'] / result['table_bits']:.3g}")
        for name, size in (
            ("Diff", result["diff"]),
            ("Diff, trimmed", result["trimmed"]),
            ("word acceptor", result["acceptor"]),
        )
    ]
    rows.insert(1, ("Diff, differences of rules only", result["rule_differences"], "-", "-", "-"))
    ratio = f"{result['rules_to_table']:.3g}"
    rows.append((f"{result['rules']} rewriting rules", "-", "-", result["rule_bits"], ratio))
    rows.append(("full table", "-", result["table_entries"], result["table_bits"], "1"))
    table(("", "states", "transitions", "bits", "relative to full table"), rows)
    print(f"labels of {result['label_bits']} bits; {result['seconds']:.2f} s")
