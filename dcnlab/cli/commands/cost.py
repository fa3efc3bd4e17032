"""``dcnlab cost``: price and power of networks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dcnlab.cli import completion
from dcnlab.cli.app import command
from dcnlab.cli.show import JsonFlag, print_json, table
from dcnlab.lab.errors import UsageError
from topos.spec import SpecError


@command("dcnlab cost", "dcnlab cost bcube:8,1 fattree:16")
def cost(
    topologies: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TOPOLOGY]...",
            help="Topologies (default: the DCube paper's comparison).",
            autocompletion=completion.topologies,
        ),
    ] = None,
    servers: Annotated[
        str, typer.Option(help="Comma-separated numbers of servers for the comparison.")
    ] = "2048,4096,8192,12288",
    prices: Annotated[
        Path | None, typer.Option(help="YAML price list in the format of dcnlab/evaluator/prices.yaml.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Count the switches, ports and cables of networks, and compute their price and power."""
    from dcnlab.evaluator.cost import bill, comparison, design, read_prices
    from topos.registry import parse

    try:
        listed = read_prices(prices)
        if topologies:
            designs = [design(parse(text)) for text in topologies]
        else:
            designs = [one for size in _sizes(servers) for one in comparison(size)]
        bills = [bill(one, listed).as_dict() for one in designs]
    except SpecError as error:
        raise UsageError(str(error)) from error
    if json:
        print_json(bills)
        return
    columns = ("name", "servers", "switches", "switch_size", "server_ports", "cables", "price", "watts")
    rows = [[f"{x:,.0f}" if isinstance(x := one[key], float) else x for key in columns] for one in bills]
    table(("network", "servers", "switches", "switch ports", "server ports", "cables", "price", "watts"), rows)


def _sizes(text: str) -> list[int]:
    if not all(part.strip().isdecimal() for part in text.split(",")):
        raise UsageError(f"--servers {text}: write numbers, such as 2048,4096")
    return [int(part) for part in text.split(",")]
