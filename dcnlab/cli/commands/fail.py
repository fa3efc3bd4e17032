"""``dcnlab fail``: take down a link or a node."""

from __future__ import annotations

from dcnlab.cli.app import command
from dcnlab.cli.arguments import LabName
from dcnlab.cli.link_change import Kind, Names, change
from dcnlab.cli.show import JsonFlag


@command("dcnlab fail LAB link h0 s4", "dcnlab fail LAB node h12", quick=True)
def fail(lab: LabName, kind: Kind, names: Names, json: JsonFlag = False) -> None:
    """Take down a link, or all links of a node; return when the lab has converged."""
    change("fail", lab, kind, names, json)
