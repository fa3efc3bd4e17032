"""``dcnlab explain``: the path of a packet in words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Any

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters import completion
from dcnlab.cli.parameters.arguments import LabOrTopology
from dcnlab.cli.show import JsonFlag, brief, print_json
from dcnlab.lab import naming
from dcnlab.lab.client import Lab
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.inspection.explain import Follow
from dcnlab.lab.options.config import resolve
from topos.graph import ALL_UP


@command("dcnlab explain bcube:4,1 h0 h15 --scheme brp", "dcnlab explain LAB h0 h15")
def explain(
    where: LabOrTopology,
    a: Annotated[str, typer.Argument(metavar="A", help="The source.", autocompletion=completion.servers)],
    b: Annotated[str, typer.Argument(metavar="B", help="The destination.", autocompletion=completion.servers)],
    scheme: Annotated[str, typer.Option(help="The routing scheme (for a topology).")] = "",
    follow: Annotated[
        Follow, typer.Option(help="Where several next hops have weights: the heaviest, or the first.")
    ] = Follow.heaviest,
    json: JsonFlag = False,
) -> None:
    """Explain the path of a packet: at each node the reason, the branches and the matching entry."""
    from dataclasses import asdict

    from dcnlab.lab.control import runtime
    from dcnlab.lab.inspection.explain import steps

    switches: Collection[str] = ()
    if not scheme and any(path_steps.name == where for path_steps in runtime.labs()):
        path_steps: Sequence[dict[str, Any]] = Lab.attach(where).explain(a, b, follow.value)
    elif not scheme:
        raise UsageError(f"there is no lab named {where}; for a topology, add --scheme")
    else:
        fabric, bound = resolve(where, scheme)
        ends = naming.server(fabric, a, bound), naming.server(fabric, b, bound)
        path = steps(bound, *ends, ALL_UP, follow)
        path_steps = [{**asdict(step), "installed": None, "overrides": ""} for step in path]
        switches = {node.name for node in fabric.nodes() if node.kind == "switch"}
    if json:
        print_json({"steps": path_steps})
    else:
        for step in path_steps:
            print(f"{step['node']:6}{brief(step['reason'])}")
            for branch in step["branches"]:
                print(f"{'':8}branch: {branch['weight']:.4f} port {branch['port']} to {branch['to']}")
            if step["entry"]:
                print(f"{'':8}{_kind(step, switches)}: {brief(step['entry'])}")
            if step["overrides"]:
                print(f"{'':8}overrides: {brief(step['overrides'])}")
    if not path_steps[-1]["delivered"]:
        raise LabError(f"not delivered: {path_steps[-1]['reason']}")
    if any(step["installed"] is False for step in path_steps):
        raise LabError("a switch does not have the entry that the scheme predicts")


def _kind(step: dict[str, Any], predicted: Collection[str]) -> str:
    """Whether a step's entry is a server's rule, is ``predicted`` for a switch, or is installed."""
    if step["installed"] is None:
        return "entry" if step["node"] in predicted else "rule"
    return "installed" if step["installed"] else "NOT INSTALLED"
