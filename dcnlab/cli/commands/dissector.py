"""``dcnlab dissector``: a Wireshark dissector."""

from __future__ import annotations

from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters import completion
from dcnlab.lab.errors import UsageError


@command(
    "dcnlab dissector > ~/.local/lib/wireshark/plugins/dcnlab.lua",
    "dcnlab dissector LAB",
    "dcnlab dissector bcube:4,1 --scheme brp",
    custom=True,
)
def dissector(
    where: Annotated[
        str | None,
        typer.Argument(
            metavar="[LAB|TOPOLOGY]",
            help="Show labels with their length, and with the names of this network's servers.",
            autocompletion=completion.labs_and_topologies,
        ),
    ] = None,
    scheme: Annotated[str, typer.Option(help="The routing scheme (for a topology).")] = "",
) -> None:
    """Print a Wireshark dissector (Lua): the agents' control frames, and the labels in MAC addresses."""
    from dcnlab.lab.client import Lab
    from dcnlab.lab.control import runtime
    from dcnlab.lab.inspection.wireshark import lua

    if where is None or scheme:
        print(lua(where or "", scheme), end="")
    elif any(lab.name == where for lab in runtime.labs()):
        config = Lab.attach(where).config
        print(lua(config.topology, config.scheme), end="")
    else:
        raise UsageError(f"there is no running lab named {where}; for a topology, add --scheme")
