"""``dcnlab view``: a lab in the browser."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.arguments import LabName
from dcnlab.cli.show import JsonFlag, print_json
from dcnlab.lab.client import Lab


@command("dcnlab view LAB", "dcnlab view LAB --port 8080")
def view(
    lab: LabName,
    port: Annotated[int, typer.Option(min=0, max=65535, help="TCP port on 127.0.0.1; 0: any free port.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Serve a live view of a lab for the browser, at a secret address on 127.0.0.1; Ctrl-C stops it.

    The page uses the interface of `dcnlab api`, which is at api/ below that address.
    """
    from dcnlab.lab.api import server
    from dcnlab.lab.api.security import new_token
    from dcnlab.lab.api.stream import Broadcast
    from dcnlab.lab.view.app import application

    attached, token = Lab.attach(lab), new_token()
    broadcast = Broadcast(attached)
    served = application(attached, broadcast, token)
    listener = server.at_port(port)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/{token}/"
    print_json({"url": url}) if json else print(url)
    sys.stdout.flush()
    server.run(served, listener, broadcast)
