"""``dcnlab restore``: bring a failed link or node back."""

from __future__ import annotations

from dcnlab.cli.app import command
from dcnlab.cli.arguments import LabName
from dcnlab.cli.link_change import Kind, Names, change
from dcnlab.cli.show import JsonFlag


@command("dcnlab restore LAB link h0 s4", "dcnlab restore LAB node h12", quick=True)
def restore(lab: LabName, kind: Kind, names: Names, json: JsonFlag = False) -> None:
    """Bring a failed link or node back; return when the lab has converged.

    A link that was cut by itself stays cut when its node is restored; one whose node is cut comes up
    with the node.
    """
    change("restore", lab, kind, names, json)
