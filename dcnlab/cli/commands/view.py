"""``dcnlab view``: a lab in the browser."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.arguments import LabName
from dcnlab.cli.show import JsonFlag, print_json
from dcnlab.lab.client import Lab
from dcnlab.lab.errors import UsageError


@command("dcnlab view LAB", "dcnlab view LAB --port 8080")
def view(
    lab: LabName,
    port: Annotated[int, typer.Option(min=0, max=65535, help="TCP port on 127.0.0.1; 0: any free port.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Serve a live view of a lab for the browser, at a secret address on 127.0.0.1; Ctrl-C stops it."""
    import socket

    import uvicorn

    from dcnlab.lab.view.app import application, new_token

    token = new_token()
    served = application(Lab.attach(lab), token)
    try:
        listener = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise UsageError(f"port {port}: {error.strerror}: choose another --port") from None
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/{token}/"
    print_json({"url": url}) if json else print(url)
    sys.stdout.flush()
    config = uvicorn.Config(served, log_level="warning", access_log=False, timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])
    raise KeyboardInterrupt  # uvicorn swallows the Ctrl-C that ended it while it was idle
