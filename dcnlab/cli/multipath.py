"""Commands for several paths at once: parallel paths between two servers, and complete graphs."""

from __future__ import annotations

from typing import Annotated

import typer

from dcnlab.cli import options
from dcnlab.cli.app import app
from dcnlab.cli.show import JsonFlag, print_json, table
from dcnlab.cli.topologies import Topology
from dcnlab.lab import naming
from dcnlab.lab.errors import LabError, UsageError


@app.command()
def paths(
    spec: Topology,
    a: Annotated[str, typer.Argument(metavar="A", help="The source, a server.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The destination, a server.")],
    weak: Annotated[
        bool, typer.Option("--weak", help="On DCube: paths that may share switches but no server.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Parallel paths between two servers; checks that they are disjoint and as many as the maximum flow."""
    from addressing.multipath.parallel_paths import parallel_paths, shareable_nodes
    from dcnlab.cli.catalogue import fabric_of
    from dcnlab.evaluator.graph.path_check import check_parallel

    fabric = fabric_of(spec)
    source, destination = naming.two_servers(fabric, a, b)
    try:
        found = parallel_paths(fabric, source, destination, weak)
    except ValueError as error:
        raise UsageError(str(error)) from error
    verdict = check_parallel(
        fabric, source, destination, found, shareable_nodes(fabric, source, destination, weak)
    )
    names = [[fabric.name(node) for node in path] for path in found]
    if json:
        print_json(
            {
                "paths": names,
                "max_paths": verdict.max_paths,
                "certified": verdict.holds,
                "verdict": str(verdict),
            }
        )
    else:
        table(("links", "path"), [(len(path) - 1, " ".join(path)) for path in names])
        print(verdict)
    if not verdict.holds:
        raise LabError(f"the paths failed the check: {verdict}")


@app.command()
def complete_graph(
    spec: Topology,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The sending server.")],
    others: Annotated[
        list[str] | None,
        typer.Argument(help="The receiving servers; default: those of the family's own complete graph."),
    ] = None,
    budget: Annotated[float, options.seconds("Time limit of the search in seconds.")] = 20.0,
    json: JsonFlag = False,
) -> None:
    """Complete graph of servers for one-to-several traffic: edge-disjoint paths between every two servers."""
    from addressing.multipath.complete_graphs import complete_graph as search
    from addressing.multipath.construction import NoCompleteGraph
    from dcnlab.cli.catalogue import fabric_of
    from dcnlab.evaluator.graph.path_check import check_complete_graph

    fabric = fabric_of(spec)
    members = [naming.server(fabric, name) for name in (source, *(others or ()))]
    try:
        graph = search(fabric, members[0], members[1:], budget)
    except NoCompleteGraph as error:
        raise LabError(str(error)) from error
    verdict = check_complete_graph(fabric, graph.servers, graph.paths)
    servers = [fabric.name(server) for server in graph.servers]
    rows = [
        (fabric.name(x), fabric.name(y), [fabric.name(node) for node in path])
        for (x, y), path in graph.paths.items()
    ]
    if json:
        shown = [{"a": x, "b": y, "path": path} for x, y, path in rows]
        print_json(
            {
                "servers": servers,
                "method": graph.method,
                "paths": shown,
                "certified": verdict.holds,
                "verdict": str(verdict),
            }
        )
    else:
        print(f"{' '.join(servers)}, by {graph.method}")
        table(("from", "to", "links", "path"), [(x, y, len(path) - 1, " ".join(path)) for x, y, path in rows])
        print(verdict)
    if not verdict.holds:
        raise LabError(f"the paths failed the check: {verdict}")
