"""``dcnlab explain``: the path of a packet in words."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.from_classes.operations import asks
from dcnlab.cli.parameters.arguments import LabOrTopology
from dcnlab.cli.show import JsonFlag, brief, print_json
from dcnlab.lab import naming
from dcnlab.lab.contract.switches import PathStep
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.methods.asking import perform
from dcnlab.lab.operations.explain import Explain
from dcnlab.lab.options.config import resolve
from topos.graph import ALL_UP


@command("dcnlab explain bcube:4,1 h0 h15 --scheme brp", "dcnlab explain LAB h0 h15")
@asks(Explain)
def explain(
    where: LabOrTopology,
    wanted: Explain,
    scheme: Annotated[str, typer.Option(help="The routing scheme (for a topology).")] = "",
    json: JsonFlag = False,
) -> None:
    """Explain the path of a packet: at each node the reason, the branches and the matching entry."""
    from dataclasses import asdict

    from dcnlab.lab.control import runtime
    from dcnlab.lab.inspection.explain import Follow, steps

    switches: Collection[str] = ()
    if not scheme and any(running.name == where for running in runtime.labs()):
        path_steps = perform(where, wanted)
    elif not scheme:
        raise UsageError(f"there is no lab named {where}; for a topology, add --scheme")
    else:
        fabric, bound = resolve(where, scheme)
        a, b = (naming.server(fabric, name, bound) for name in (wanted.a, wanted.b))
        path = steps(bound, a, b, ALL_UP, Follow(wanted.follow))
        path_steps = [PathStep.from_json({**asdict(step), "installed": None, "overrides": ""}) for step in path]
        switches = {node.name for node in fabric.nodes() if node.kind == "switch"}
    if json:
        print_json({"steps": path_steps})
    else:
        for step in path_steps:
            print(f"{step.node:6}{brief(step.reason)}")
            for branch in step.branches:
                print(f"{'':8}branch: {branch.weight:.4f} port {branch.port} to {branch.to}")
            if step.entry:
                print(f"{'':8}{_kind(step, switches)}: {brief(step.entry)}")
            if step.overrides:
                print(f"{'':8}overrides: {brief(step.overrides)}")
    if not path_steps[-1].delivered:
        raise LabError(f"not delivered: {path_steps[-1].reason}")
    if any(step.installed is False for step in path_steps):
        raise LabError("a switch does not have the entry that the scheme predicts")


def _kind(step: PathStep, predicted: Collection[str]) -> str:
    """Whether a step's entry is a server's rule, is ``predicted`` for a switch, or is installed."""
    if step.installed is None:
        return "entry" if step.node in predicted else "rule"
    return "installed" if step.installed else "NOT INSTALLED"
