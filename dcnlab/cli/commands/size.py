"""``dcnlab size``: the instance of each family that has a wanted size."""

from __future__ import annotations

from typing import Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters import completion, options
from dcnlab.cli.show import JsonFlag, print_json, table
from dcnlab.lab.errors import UsageError
from topos.spec import SpecError


@command(
    "dcnlab size --servers 1000", "dcnlab size --budget 30k bcube dcell fattree",
    "dcnlab size --switches 320x16 fattree jellyfish xpander",
)  # fmt: skip
def size(
    families: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FAMILY]...", help="Families (default: all).", autocompletion=completion.topologies
        ),
    ] = None,
    servers: Annotated[int, options.number("About so many servers.", 0, options.MAX_COUNT)] = 0,
    budget: Annotated[str, typer.Option(help="About so many dollars: 200000, 200k or 1.5M.")] = "",
    switches: Annotated[str, typer.Option(help="At most these switches: 320x48 is 320 of 48 ports.")] = "",
    prices: options.PriceList = None,
    json: JsonFlag = False,
) -> None:
    """Propose the instance of each family that has a wanted size.

    Of instances that come equally near, it is the cheapest. jellyfish and xpander take the switches and the
    servers of the proposed fat tree.
    """
    from dcnlab.evaluator.cost import read_prices
    from dcnlab.evaluator.sizing import proposals, read

    try:
        proposed = proposals(read(servers, budget, switches), read_prices(prices), families or ())
    except SpecError as error:
        raise UsageError(str(error)) from error
    if json:
        print_json([one.bill.as_dict() | {"topology": one.family.spec, "off": one.off} for one in proposed])
        return
    rows = [
        (one.family.spec, parts.servers, parts.switches, parts.switch_ports, parts.server_ports, parts.cables,
         f"{one.bill.price:,.0f}", f"{one.off:+.1%}")
        for one in proposed for parts in (one.bill.design,)
    ]  # fmt: skip
    heading = ("topology", "servers", "switches", "switch ports", "server ports", "cables", "price", "off by")
    table(heading, rows) if rows else print("no family has an instance of about that size")
    raise typer.Exit(0 if proposed else 1)
