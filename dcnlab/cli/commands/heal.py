"""An alias of `dcnlab restore`."""

from __future__ import annotations

from dcnlab.cli.app import command
from dcnlab.cli.arguments import LabName
from dcnlab.cli.link_change import Kind, Names, change
from dcnlab.cli.show import JsonFlag


@command("dcnlab restore LAB link h0 s4", hidden=True, quick=True)
def heal(lab: LabName, kind: Kind, names: Names, json: JsonFlag = False) -> None:
    """Alias of `restore`."""
    change("restore", lab, kind, names, json)
