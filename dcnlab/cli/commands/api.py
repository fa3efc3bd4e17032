"""``dcnlab api``: a lab over HTTP."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters.arguments import LabName
from dcnlab.cli.show import JsonFlag, print_json
from dcnlab.lab.client import Lab
from dcnlab.lab.errors import UsageError


@command(
    "dcnlab api LAB",
    "dcnlab api LAB --port 8080",
    "dcnlab api LAB --unix lab.sock",
    custom=True,
)
def api(
    lab: LabName,
    port: Annotated[int, typer.Option(min=0, max=65535, help="TCP port on 127.0.0.1; 0: any free port.")] = 0,
    unix: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Listen at this Unix socket instead; it needs no token.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Serve a lab over HTTP: network, tables, failures, measurements, events; Ctrl-C stops it.

    The address that it prints shows all requests in a browser, and openapi.json below it describes them.
    """
    if unix is not None and port:
        raise UsageError("choose --port or --unix")
    from dcnlab.lab.api import server
    from dcnlab.lab.api.app import application
    from dcnlab.lab.api.listening import at_path, at_port
    from dcnlab.lab.api.security import new_token
    from dcnlab.lab.api.stream import Broadcast

    attached = Lab.attach(lab)
    broadcast, token = Broadcast(attached), "" if unix else new_token()
    with contextlib.ExitStack() as stack:
        if unix:
            listener = stack.enter_context(at_path(unix))
            where = {"unix": str(unix.absolute()), "url": "http://localhost/", "token": ""}
        else:
            listener = at_port(port)
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/{token}/"
            where = {"url": url, "token": token}
        print_json(where) if json else print(f"curl --unix-socket {unix} http://localhost/lab" if unix else url)
        sys.stdout.flush()
        server.run(application(attached, broadcast, token), listener, broadcast)
