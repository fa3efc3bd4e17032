"""The command that measures throughput between two servers: iperf3, or Multipath TCP beside TCP."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from dcnlab.cli.app import app
from dcnlab.cli.running import LabName
from dcnlab.cli.show import JsonFlag, print_json, progress_bar, table
from dcnlab.lab.client import Lab
from dcnlab.lab.errors import UsageError


@app.command()
def iperf(
    lab: LabName,
    a: Annotated[str, typer.Argument(metavar="A", help="The server that sends.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The server that receives.")],
    seconds: Annotated[
        float, typer.Option(min=0.1, help="How long; of iperf3 whole seconds, rounded up.")
    ] = 3.0,
    parallel: Annotated[int, typer.Option(min=1, max=64, help="Connections side by side.")] = 1,
    udp: Annotated[bool, typer.Option("--udp", help="UDP at 100 Mb/s.")] = False,
    mptcp: Annotated[
        bool, typer.Option("--mptcp", help="One Multipath TCP connection over all parallel ways, beside TCP.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Throughput from A to B by iperf3; or of one connection over one way and over all (--mptcp)."""
    running = Lab.attach(lab)
    if mptcp and (udp or parallel > 1):
        raise UsageError("--mptcp is one connection: leave out --udp and --parallel")
    if mptcp:
        with progress_bar(quiet=json or not sys.stderr.isatty()) as bar:
            found = running.mptcp(a, b, seconds, lambda said: bar(0, 2, said["measuring"]))
        print_json(found) if json else _show(found)
        raise typer.Exit(0 if found["mptcp"]["subflows"] == found["paths"] else 1)
    found = running.iperf(a, b, seconds, udp, parallel)
    print_json(found) if json else table(("figure", "value"), list(found.items()))


def _show(found: dict[str, Any]) -> None:
    rows = [(name, found[name]["subflows"], found[name]["mbps"]) for name in ("tcp", "mptcp")]
    table(("connection", "subflows", "Mb/s"), rows)
    print(f"mptcp : tcp = {found['ratio']} over {found['paths']} parallel ways")
