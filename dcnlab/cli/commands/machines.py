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
    serve = "serve"
    rejoin = "rejoin"


@command(
    "dcnlab machines init",
    "dcnlab machines init --host 10.0.0.1 --folder ~/cluster",
    "dcnlab machines serve --host 10.0.0.2 --socket /run/dcnlab.machine",
    "dcnlab machines rejoin LAB",
    "dcnlab machines rejoin LAB m2",
)
def machines(
    action: Annotated[
        Action,
        typer.Argument(
            help="init: make a key and a certificate; serve: run parts; rejoin: launch a lost part again."
        ),
    ],
    lab: Annotated[str, typer.Argument(help="rejoin: the lab.", show_default=False)] = "",
    machine: Annotated[
        str,
        typer.Argument(help="rejoin: the machine, such as m2; without it all lost ones.", show_default=False),
    ] = "",
    host: Annotated[
        str,
        typer.Option(
            help="init: the scheduler's address, for the commands that are printed; serve: this machine's."
        ),
    ] = "HOST",
    socket: Annotated[
        Path | None, typer.Option(help="serve: the Unix socket at which it listens.", show_default=False)
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="init: where to write them; by default where labs look for them.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Make a key and a certificate for a Dask cluster, serve parts of labs, or launch a lost part again.

    init prints the commands that start the cluster.  Labs demand TLS, because a scheduler runs code for
    everybody who reaches it.

    serve makes a machine of this one without Dask: `dcnlab up --machines unix:PATH,PATH...` reaches it
    through its socket, which ssh can forward.  It ends with Ctrl-C, and its parts with it.

    rejoin is for a machine whose worker has ended and was started again.  Links that you have cut stay cut.
    """
    from dcnlab.lab.errors import UsageError

    if action is Action.rejoin:
        if not lab:
            raise UsageError("machines rejoin: name the lab, as `dcnlab ps` shows it")
        _rejoin(lab, machine, json)
    elif lab:
        raise UsageError(f"machines {action} takes no {lab!r}")
    elif action is Action.serve:
        _serve(host, socket)
    else:
        _init(host, folder, json)


def _rejoin(name: str, machine: str, json: bool) -> None:
    from dcnlab.lab.client import Lab

    answer = Lab.attach(name).rejoin(machine)
    if json:
        print_json(answer)
        return
    print(f"{', '.join(answer.machines)} back in {name} after {answer.seconds:.3f} s; tables and agents follow")


def _serve(host: str, socket: Path | None) -> None:
    from dcnlab.lab.errors import UsageError
    from dcnlab.lab.machines.transport import unix_socket

    if socket is None or host == "HOST":
        raise UsageError("machines serve: give --socket PATH, and --host with this machine's address")
    unix_socket.serve(socket.absolute(), host)


def _init(host: str, folder: Path | None, json: bool) -> None:
    from dcnlab.lab.machines.certificates import Certificates

    made = Certificates(folder.expanduser().resolve()) if folder is not None else Certificates.default()
    made.create()
    address = f"tls://{host}:8786"
    options = " ".join(made.options)
    commands = {
        "scheduler": f"dask scheduler --host {host} --port 8786 {options}",
        "worker": f"dask worker {address} --no-nanny --nthreads 1 {options}",
        "lab": f"dcnlab up bcube:4,1 --scheme brp --machines {address} -d",
    }
    if json:
        print_json({"folder": str(made.folder), **commands})
        return
    print(f"wrote a key and a certificate to {made.folder}: copy it to every machine, and to nobody else")
    print(f"the scheduler, on {host}:   {commands['scheduler']}")
    print(f"on each machine, as root:  {commands['worker']}")
    print(f"then:                      {commands['lab']}")
