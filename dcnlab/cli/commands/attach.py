"""``dcnlab attach``: an interface of the machine as a port of a switch."""

from __future__ import annotations

from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.arguments import LabName, NodeName
from dcnlab.cli.show import JsonFlag, print_json
from dcnlab.lab.client import Lab

Interface = Annotated[
    str, typer.Argument(metavar="INTERFACE", help="A network interface of the machine that runs the switch.")
]


@command("dcnlab attach LAB s0 eth1", "dcnlab attach LAB s0 veth1 --as h1", "dcnlab attach LAB s0 eth1 --json")
def attach(
    lab: LabName,
    switch: NodeName,
    interface: Interface,
    host: Annotated[str, typer.Option("--as", help="Give the interface the port of this plain host.")] = "",
    json: JsonFlag = False,
) -> None:
    """Make an interface of the machine a port of a switch, until the lab ends (docs/outside.md)."""
    found = Lab.attach(lab).attach_interface(switch, interface, host)
    if json:
        print_json(found)
        return
    print(f"{interface} is port {found['port']} of {found['switch']}")
    if host:
        place = f"give the machine behind it address {found['ipv4']} and MAC address {found['mac']}"
        print(f"it has the place of {found['host']}: {place}")
    else:
        print("no entry of the scheme names this port: add entries, or use a controller of your own")
