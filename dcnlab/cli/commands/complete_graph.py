"""``dcnlab complete-graph``: edge-disjoint paths between every two of several servers."""

from __future__ import annotations

from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters.arguments import Topology
from dcnlab.cli.parameters.durations import duration
from dcnlab.cli.show import JsonFlag, print_json, table
from dcnlab.lab import naming
from dcnlab.lab.errors import LabError


@command("dcnlab complete-graph hdcube:4,2 h0")
def complete_graph(
    spec: Topology,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The sending server.")],
    others: Annotated[
        list[str] | None,
        typer.Argument(help="The receiving servers; default: those of the family's own complete graph."),
    ] = None,
    budget: Annotated[float, duration("How long to search.", "--for", "--budget")] = 20.0,
    json: JsonFlag = False,
) -> None:
    """Complete graph of servers for one-to-several traffic: edge-disjoint paths between every two servers."""
    from addressing.multipath.complete_graphs import complete_graph as search
    from addressing.multipath.construction import NoCompleteGraph
    from dcnlab.cli.catalogue import fabric_of
    from dcnlab.evaluator.graph.paths.path_check import check_complete_graph

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
