"""``dcnlab replay``: a recording of a lab in the browser, without the lab."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.show import JsonFlag, print_json


@command(
    "dcnlab replay lab.rec",
    "dcnlab replay lab.rec --html lab.html",
    "dcnlab replay one.rec two.rec --html both.html",
)
def replay(
    file: Annotated[Path, typer.Argument(help="A file that `dcnlab view LAB --record FILE` wrote.")],
    other: Annotated[
        Path | None, typer.Argument(help="Another recording beside it: one time, and the differences.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write one self-contained page here; serve nothing.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="TCP port on 127.0.0.1; 0: any free port.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Show a recording of a lab in the page of `dcnlab view`, without the lab and without root."""
    from dcnlab.cli.side_by_side import figures
    from dcnlab.lab.api import server
    from dcnlab.lab.api.listening import at_port
    from dcnlab.lab.api.security import new_token
    from dcnlab.lab.errors import UsageError
    from dcnlab.lab.view import beside
    from dcnlab.lab.view import replay as page
    from dcnlab.lab.view.recording import read

    recordings = [read(one) for one in (file, other) if one is not None]
    if html is not None:
        text = beside.html(recordings, figures) if other else page.html(recordings[0])
        try:
            html.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{html}: {error.strerror}") from None
        messages = sum(len(one.messages) for one in recordings)
        print_json({"written": str(html), "messages": messages}) if json else print(
            f"{html}: {messages} messages"
        )
        return
    token, listener = new_token(), at_port(port)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/{token}/"
    print_json({"url": url}) if json else print(url)
    sys.stdout.flush()
    if other:
        server.run(beside.of_recordings(recordings, token, figures), listener)
    else:
        server.run(page.application(recordings[0], token), listener)
