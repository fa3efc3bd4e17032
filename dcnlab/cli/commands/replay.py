"""``dcnlab replay``: a recording of a lab in the browser, without the lab."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.show import JsonFlag, print_json


@command("dcnlab replay lab.rec", "dcnlab replay lab.rec --html lab.html")
def replay(
    file: Annotated[Path, typer.Argument(help="A file that `dcnlab view LAB --record FILE` wrote.")],
    html: Annotated[
        Path | None, typer.Option(help="Write one self-contained page here; serve nothing.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="TCP port on 127.0.0.1; 0: any free port.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Show a recording of a lab in the page of `dcnlab view`, without the lab and without root."""
    from dcnlab.lab.api import server
    from dcnlab.lab.api.listening import at_port
    from dcnlab.lab.api.security import new_token
    from dcnlab.lab.errors import UsageError
    from dcnlab.lab.view import replay as page
    from dcnlab.lab.view.recording import read

    recording = read(file)
    if html is not None:
        try:
            html.write_text(page.html(recording), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{html}: {error.strerror}") from None
        said = {"written": str(html), "messages": len(recording.messages)}
        print_json(said) if json else print(f"{html}: {len(recording.messages)} messages")
        return
    token, listener = new_token(), at_port(port)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/{token}/"
    print_json({"url": url}) if json else print(url)
    sys.stdout.flush()
    server.run(page.application(recording, token), listener)
