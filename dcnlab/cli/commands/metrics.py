"""``dcnlab metrics``: a lab for Prometheus."""

from __future__ import annotations

import contextlib
from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters.arguments import LabName
from dcnlab.cli.show import JsonFlag, print_json
from dcnlab.lab.client import Lab


@command("dcnlab metrics LAB", "dcnlab metrics LAB --port 9200")
def metrics(
    lab: LabName,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="TCP port on 127.0.0.1; 0: any free port.")
    ] = 9101,
    json: JsonFlag = False,
) -> None:
    """Serve a lab's metrics to Prometheus until the lab ends; Ctrl-C stops it.

    Links, ports, queues, agents, flow entries, convergence, processes; examples/grafana has a dashboard.
    """
    from dcnlab.lab.control import runtime
    from dcnlab.lab.errors import LabError
    from dcnlab.lab.metrics.exporter import serving

    attached = Lab.attach(lab)
    with serving(attached, port) as chosen, contextlib.suppress(KeyboardInterrupt):
        url = f"http://127.0.0.1:{chosen}/metrics"
        print_json({"url": url, "port": chosen}) if json else print(url, flush=True)
        try:
            for _ in attached.events(follow=True, kinds=("lab",)):
                """Until the lab ends."""
        except LabError:  # it has ended before it was asked
            if runtime.in_use(attached.path):
                raise
