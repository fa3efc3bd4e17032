"""``dcnlab view``: a lab in the browser."""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters import completion
from dcnlab.cli.parameters.arguments import LabName
from dcnlab.cli.show import JsonFlag, print_json
from dcnlab.lab.client import Lab
from dcnlab.lab.errors import UsageError


@command(
    "dcnlab view LAB",
    "dcnlab view LAB --port 8080",
    "dcnlab view LAB --record lab.rec",
    "dcnlab view LAB other",
)
def view(
    lab: LabName,
    other: Annotated[
        str,
        typer.Argument(
            metavar="[OTHER]",
            help="Another lab beside it: one time, the same cut, the differences.",
            autocompletion=completion.labs,
        ),
    ] = "",
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

    if other and record:
        raise UsageError("--record writes one lab: record each by a `dcnlab view` of its own")
    labs = [Lab.attach(name) for name in (lab, other) if name]
    token, listener = new_token(), at_port(port)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/{token}/"
    print_json({"url": url}) if json else print(url)
    sys.stdout.flush()  # before the rest is imported: a browser that connects now waits
    if other:
        _serve_both(labs, token, listener)
    else:
        _serve(labs[0], token, listener, record)


def _serve(lab: Lab, token: str, listener: socket.socket, record: Path | None) -> None:
    from dcnlab.lab.api import server
    from dcnlab.lab.api.stream import Broadcast
    from dcnlab.lab.view.app import application
    from dcnlab.lab.view.recording import Recorder

    broadcast = Broadcast(lab)
    with Recorder(lab, record) if record else contextlib.nullcontext():
        server.run(application(lab, broadcast, token), listener, broadcast)


def _serve_both(labs: Sequence[Lab], token: str, listener: socket.socket) -> None:
    from dcnlab.cli.side_by_side import figures
    from dcnlab.lab.api import server
    from dcnlab.lab.api.stream import Broadcast
    from dcnlab.lab.view import beside

    broadcasts = list(map(Broadcast, labs))
    server.run(beside.of_labs(labs, broadcasts, token, figures), listener, *broadcasts)
