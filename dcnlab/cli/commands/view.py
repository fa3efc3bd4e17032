"""``dcnlab view``: a lab in the browser."""

from __future__ import annotations

import contextlib
import socket
import sys
from pathlib import Path
from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.arguments import LabName
from dcnlab.cli.show import JsonFlag, print_json
from dcnlab.lab.client import Lab


@command("dcnlab view LAB", "dcnlab view LAB --port 8080", "dcnlab view LAB --record lab.rec")
def view(
    lab: LabName,
    port: Annotated[int, typer.Option(min=0, max=65535, help="TCP port on 127.0.0.1; 0: any free port.")] = 0,
    record: Annotated[
        Path | None, typer.Option(help="Also write a recording here, for `dcnlab replay`.", metavar="FILE")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Serve a live view of a lab for the browser, at a secret address on 127.0.0.1; Ctrl-C stops it.

    The page uses the interface of `dcnlab api`, which is at api/ below that address.
    """
    from dcnlab.lab.api.listening import at_port
    from dcnlab.lab.api.security import new_token

    attached, token, listener = Lab.attach(lab), new_token(), at_port(port)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/{token}/"
    print_json({"url": url}) if json else print(url)
    sys.stdout.flush()  # before the rest is imported: a browser that connects now waits
    _serve(attached, token, listener, record)


def _serve(lab: Lab, token: str, listener: socket.socket, record: Path | None) -> None:
    from dcnlab.lab.api import server
    from dcnlab.lab.api.stream import Broadcast
    from dcnlab.lab.view.app import application
    from dcnlab.lab.view.recording import Recorder

    broadcast = Broadcast(lab)
    with Recorder(lab, record) if record else contextlib.nullcontext():
        server.run(application(lab, broadcast, token), listener, broadcast)
