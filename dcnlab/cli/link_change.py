"""What `fail`, `restore` and its alias `heal` share."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from dcnlab.cli import completion
from dcnlab.cli.show import print_json
from dcnlab.lab.client import Lab
from dcnlab.lab.operations.answers import LinkChange

#: Names that one line lists.
_SHOWN = 4

Kind = Annotated[
    str,
    typer.Argument(
        metavar="link|node", help="A link, or a node with all its links.", autocompletion=completion.kinds
    ),
]
Names = Annotated[
    list[str],
    typer.Argument(
        metavar="A [B [NUMBER]]",
        help="The two nodes of the link, a port such as s0:3, or the node.",
        autocompletion=completion.nodes,
    ),
]


def change(op: str, lab: str, kind: str, names: list[str], json: bool) -> None:
    """Fail or restore a link or node of a lab, and show how long the lab took to converge."""
    found = Lab.attach(lab).ask(op, kind=kind, names=names)
    if json:
        print_json(found)
    else:
        print(_changed(found))
        if "repair" in found:
            print(_tables(found))
        for note in LinkChange.from_json(found).notes():
            print(note, file=sys.stderr)
        if found["silent"]:
            print(_silent(found["silent"]), file=sys.stderr)


def _changed(found: dict[str, Any]) -> str:
    """One line about a link that has failed or was restored."""
    detection = found["detection_ms"]
    detected = "no change" if detection is None else f"detected after {detection} ms"
    done = "restored" if found["up"] else "failed"
    return f"{done}: {detected}, converged after {found['converged_ms']} ms"


def _silent(names: list[str]) -> str:
    """One line about agents that do not answer."""
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    verbs = ("agent", "does", "its") if len(names) == 1 else ("agents", "do", "their")
    return "{} {} {} not answer: {} links count as down until then".format(verbs[0], shown, *verbs[1:])


def _tables(found: dict[str, Any]) -> str:
    """One line about the tables of a scheme that repairs split clusters."""
    repair = found["repair"]
    text = f"tables: {found['flow_mods']} flow mods at {found['switches']} switches in {found['tables_ms']} ms"
    if not repair["split_clusters"]:
        return f"{text}; no cluster is split"
    return (
        f"{text}; split clusters: {repair['split_clusters']} ({repair['reclustered']} with a new prefix,"
        f" {repair['on_backup_path']} on backup paths);"
        f" extra entries per switch: {repair['extra_entries_max']} at most"
    )
