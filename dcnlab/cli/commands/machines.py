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
    rejoin = "rejoin"


@command(
    "dcnlab machines init",
    "dcnlab machines init --host 10.0.0.1 --folder ~/cluster",
    "dcnlab machines rejoin LAB",
    "dcnlab machines rejoin LAB m2",
)
def machines(
    action: Annotated[
        Action,
        typer.Argument(help="init: make a key and a certificate; rejoin: launch a lost part again."),
    ],
    lab: Annotated[str, typer.Argument(help="rejoin: the lab.", show_default=False)] = "",
    machine: Annotated[
        str,
        typer.Argument(help="rejoin: the machine, such as m2; without it all lost ones.", show_default=False),
    ] = "",
    host: Annotated[
        str, typer.Option(help="init: the scheduler's address, for the commands that are printed.")
    ] = "HOST",
    folder: Annotated[
        Path | None, typer.Option(help="init: where to write them; by default where labs look for them.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Make a key and a certificate for a Dask cluster, or launch the lost part of a lab again.

    init prints the commands that start the cluster.  Labs demand TLS, because a scheduler runs code for
    everybody who reaches it.

    rejoin is for a machine whose worker has ended and was started again.  Links that you have cut stay cut.
    """
    from dcnlab.lab.errors import UsageError

    if action is Action.rejoin:
        if not lab:
            raise UsageError("machines rejoin: name the lab, as `dcnlab ps` shows it")
        _rejoin(lab, machine, json)
    elif lab:
        raise UsageError(f"machines init takes no {lab!r}")
    else:
        _init(host, folder, json)


def _rejoin(name: str, machine: str, json: bool) -> None:
    from dcnlab.lab.client import Lab

    found = Lab.attach(name).rejoin(machine)
    if json:
        print_json(found)
        return
    print(f"{', '.join(found.machines)} back in {name} after {found.seconds:.3f} s; tables and agents follow")


def _init(host: str, folder: Path | None, json: bool) -> None:
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
