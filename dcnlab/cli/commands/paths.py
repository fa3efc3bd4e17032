"""``dcnlab paths``: parallel paths between two servers."""

from __future__ import annotations

from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters.arguments import Topology
from dcnlab.cli.show import JsonFlag, print_json, table
from dcnlab.lab import naming
from dcnlab.lab.errors import LabError, UsageError


@command("dcnlab paths bcube:4,1 h0 h15")
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
    from dcnlab.evaluator.graph.paths.path_check import check_parallel

    fabric = fabric_of(spec)
    source, destination = naming.two_servers(fabric, a, b)
    try:
        parallel = parallel_paths(fabric, source, destination, weak)
    except ValueError as error:
        raise UsageError(str(error)) from error
    verdict = check_parallel(
        fabric, source, destination, parallel, shareable_nodes(fabric, source, destination, weak)
    )
    names = [[fabric.name(node) for node in path] for path in parallel]
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
