"""``dcnlab exec``: run a program in a node, or in several."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from dcnlab.cli.app import command
from dcnlab.cli.from_classes.operations import asks
from dcnlab.cli.parameters.arguments import LabName
from dcnlab.cli.show import JsonFlag, print_json
from dcnlab.lab.control import runtime
from dcnlab.lab.foreground import run_here
from dcnlab.lab.methods.asking import perform
from dcnlab.lab.operations.exec import Exec

#: What patterns and lists of nodes have, and some names too, such as (1,1).
_SEVERAL = frozenset("*?[,")
_PATTERN = frozenset("*?[")


@command(
    "dcnlab exec LAB h1 ping -c3 h7",
    "dcnlab exec LAB h1 bash",
    "dcnlab exec LAB s0 ovs-ofctl -O OpenFlow13 dump-flows s0",
    "dcnlab exec LAB 'h*' ip route",
    "dcnlab exec --json LAB h0,h3 uname -r",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@asks(Exec)  # no more follows: the program has this process's descriptors, or runs in several nodes
def exec(
    lab: LabName,
    wanted: Exec,
    json: JsonFlag = False,
) -> None:
    """Run a program in a node of a lab, such as `ping -c3 h7` in h1, or in several nodes at once.

    In several, each line has the node's name before it, the program's input is empty, and the exit code is
    the largest. Options come before LAB: what follows NODE is the program's.
    """
    node, argv = wanted.node, list(wanted.words)
    argv = argv[1:] if argv[:1] == ["--"] else argv
    several = _SEVERAL.intersection(node)
    nodes = _matching(lab, node) if several or json else [node]
    if json or len(nodes) > 1 or _PATTERN.intersection(node):
        raise typer.Exit(_in_several(runtime.socket_path(lab), nodes, argv, json))
    raise typer.Exit(run_here(runtime.socket_path(lab), nodes[0], argv))


def _matching(lab: str, node: str) -> list[str]:
    from dcnlab.lab.operations.nodes import Nodes  # not needed for one node

    return [one.name for one in perform(lab, Nodes(node))]


def _in_several(path: Path, nodes: list[str], argv: list[str], json: bool) -> int:
    """Run a program in these nodes and show what it writes; the largest exit code."""
    from dcnlab.lab.several import Several  # not needed for one node

    kept: dict[str, tuple[list[str], list[str]]] = {node: ([], []) for node in nodes}

    def show(node: str, line: str, is_error: bool) -> None:
        if json:
            kept[node][is_error].append(line)
        else:
            text = line.removesuffix("\n")
            print(f"{node}: {text}", file=sys.stderr if is_error else sys.stdout, flush=True)

    codes = Several(path, argv, show).run(nodes)
    if json:
        rows = [
            {"node": node, "exit": code, "stdout": "".join(kept[node][0]), "stderr": "".join(kept[node][1])}
            for node, code in codes.items()
        ]
        print_json({"nodes": rows, "exit": max(codes.values())})
    return max(codes.values())
