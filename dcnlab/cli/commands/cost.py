"""``dcnlab cost``: price and power of networks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters import completion, options
from dcnlab.cli.parameters.spec_lists import schemes_of
from dcnlab.cli.show import JsonFlag, cell, print_json, table
from dcnlab.lab.errors import UsageError
from topos.spec import SpecError

if TYPE_CHECKING:
    from topos.fabric import Fabric


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
    prices: options.PriceList = None,
    scheme: Annotated[
        str,
        typer.Option(
            help="Comma-separated schemes, also optimal: what they carry of --traffic, and the price of that.",
            autocompletion=completion.schemes,
        ),
    ] = "",
    traffic: Annotated[str, typer.Option(help="Traffic pattern for --scheme.")] = "all-to-all",
    flows: options.Flows = "hashed",
    gap: options.Gap = "1%",
    paths: options.Paths = "",
    seed: options.Seed = 1,
    json: JsonFlag = False,
) -> None:
    """Count the switches, ports and cables of networks, and compute their price and power.

    With --scheme also theta: the multiple of the traffic that a scheme carries, where the busiest server sends,
    or receives, at the rate of one link.
    """
    if scheme and not topologies:
        raise UsageError("--scheme: name the topologies")
    from dcnlab.evaluator.cost import bill, comparison, design, read_prices
    from dcnlab.evaluator.metrics import Conditions, models
    from dcnlab.evaluator.optimum.beside import thetas
    from dcnlab.evaluator.seeds import network_of
    from topos.registry import fabric, parse, with_seed

    try:
        listed = read_prices(prices)
        if topologies:
            designs = [design(parse(with_seed(text, seed)), text) for text in topologies]
        else:
            designs = [one for size in _sizes(servers) for one in comparison(size)]
        bills = [bill(one, listed).as_dict() for one in designs]
        for text, one in zip(topologies or (), bills, strict=False):
            one.update(network_of(text, seed), seed=seed)
        for text, one in zip(topologies or (), bills, strict=False):
            carried = partial(thetas, pattern=traffic, seed=seed, flows=flows, gap=gap, paths=paths)
            one.update(
                _carried(fabric(with_seed(text, seed)), schemes_of(scheme), carried, one) if scheme else {}
            )
    except SpecError as error:
        raise UsageError(str(error)) from error
    if json:
        print_json(bills)
        return
    columns = ("name", "servers", "switches", "switch_size", "server_ports", "cables", "price", "watts")
    shown = ["metres"] if any(one["metres"] for one in bills) else []
    shown += [key for key in bills[0] if key.startswith(("theta", "price_per"))]
    rows = [
        [f"{x:,.0f}" if isinstance(x := one[key], float) else x for key in columns]
        + [cell(one[key]) for key in shown]
        for one in bills
    ]
    heading = ("network", "servers", "switches", "switch ports", "server ports", "cables", "price", "watts")
    table((*heading, *shown), rows)
    if scheme:
        print(models(["share"], Conditions(flows=flows))["share"])


def _carried(
    fabric: Fabric,
    schemes: list[str],
    carried: Callable[[Fabric, list[str]], dict[str, float]],
    bill: dict[str, Any],
) -> dict[str, float]:
    """Per scheme its theta, and the price per server that sends at the rate of a link."""
    prices: dict[str, float] = {}
    for name, theta in carried(fabric, schemes).items():
        prices[f"theta {name}"] = theta
        prices[f"price_per_rate {name}"] = bill["price"] / (bill["servers"] * theta)
    return prices


def _sizes(text: str) -> list[int]:
    if not all(part.strip().isdecimal() for part in text.split(",")):
        raise UsageError(f"--servers {text}: write numbers, such as 2048,4096")
    return [int(part) for part in text.split(",")]
