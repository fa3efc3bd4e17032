"""``dcnlab machines``: what labs on several machines need."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.show import JsonFlag, print_json


class Action(StrEnum):
    """What to do."""

    init = "init"


@command("dcnlab machines init", "dcnlab machines init --host 10.0.0.1 --folder ~/cluster")
def machines(
    action: Annotated[Action, typer.Argument(help="init: make a key and a certificate.")],
    host: Annotated[
        str, typer.Option(help="The scheduler's address, for the commands that are printed.")
    ] = "HOST",
    folder: Annotated[
        Path | None, typer.Option(help="Where to write them; by default where labs look for them.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Make a key and a certificate for a Dask cluster, and print the commands that start it.

    Labs demand TLS, because a scheduler runs code for everybody who reaches it.
    """
    from dcnlab.lab.machines.certificates import Certificates

    found = Certificates(folder.expanduser().resolve()) if folder is not None else Certificates.default()
    found.create()
    address = f"tls://{host}:8786"
    options = " ".join(found.options)
    commands = {
        "scheduler": f"dask scheduler --host {host} --port 8786 {options}",
        "worker": f"dask worker {address} --no-nanny --nthreads 1 {options}",
        "lab": f"dcnlab up bcube:4,1 --scheme brp --machines {address} -d",
    }
    if json:
        print_json({"folder": str(found.folder), **commands})
        return
    print(f"wrote a key and a certificate to {found.folder}: copy it to every machine, and to nobody else")
    print(f"the scheduler, on {host}:   {commands['scheduler']}")
    print(f"on each machine, as root:  {commands['worker']}")
    print(f"then:                      {commands['lab']}")
