"""``dcnlab impair``: delay, loss, bandwidth and errors of links, while a lab runs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dcnlab.cli import completion
from dcnlab.cli.app import command
from dcnlab.cli.arguments import LabName
from dcnlab.cli.show import JsonFlag, print_json, table
from dcnlab.lab.client import Lab
from dcnlab.lab.errors import UsageError

#: Rows that a table shows.
_SHOWN = 20


@command(
    "dcnlab impair LAB link h0 s4 --delay 5ms --jitter 1ms --loss 1% --rate 50Mbit",
    "dcnlab impair LAB link h* s4 --loss 1%",
    "dcnlab impair LAB all --rate 100Mbit",
    "dcnlab impair LAB all --clear",
    "dcnlab impair LAB",
    quick=True,
)
def impair(
    lab: LabName,
    kind: Annotated[
        str,
        typer.Argument(
            metavar="link|node|all",
            help="A link, a node with all its links, or all links.",
            autocompletion=completion.kinds,
        ),
    ] = "",
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="A [B [NUMBER]]",
            help="The two nodes of the link, which may be patterns, a port such as s0:3, or the node.",
            autocompletion=completion.nodes,
        ),
    ] = None,
    delay: Annotated[str, typer.Option(help="One-way delay, such as 5ms.")] = "",
    jitter: Annotated[str, typer.Option(help="By how much the delay varies, such as 1ms.")] = "",
    loss: Annotated[str, typer.Option(help="Share of packets that are lost, such as 1%.")] = "",
    rate: Annotated[str, typer.Option(help="Bandwidth, such as 50Mbit.")] = "",
    duplicate: Annotated[str, typer.Option(help="Share of packets that arrive twice, such as 1%.")] = "",
    reorder: Annotated[str, typer.Option(help="Share of packets that overtake delayed ones.")] = "",
    corrupt: Annotated[str, typer.Option(help="Share of packets that get a wrong bit.")] = "",
    clear: Annotated[bool, typer.Option("--clear", help="Return to the values of the launch.")] = False,
    json: JsonFlag = False,
) -> None:
    """Change delay, loss, rate and errors of links, in both directions; without a link, show them.

    Values that are not given stay as they are; the value `none` removes an impairment, and so does 0
    where it is no rate.  A change does not lose queued packets, except where netem is added to a rate that the
    launch gave.  Without netem in the kernel, htb imposes the rate, eBPF loss (as root), and a process of the
    lab the others.
    """
    given = {
        "delay": delay, "jitter": jitter, "loss": loss, "rate": rate,
        "duplicate": duplicate, "reorder": reorder, "corrupt": corrupt,
    }  # fmt: skip
    values = {name: value for name, value in given.items() if value}
    if kind and not values and not clear:
        raise UsageError("say what to change, such as --loss 1%, or --clear")
    if (values or clear) and not kind:
        raise UsageError("say which links: `link A B`, `node A` or `all`")
    if values and clear:
        raise UsageError("--clear takes no other values")
    words: dict[str, Any] = (
        {"kind": kind, "names": names or [], "values": values, "clear": clear} if kind else {}
    )
    found = Lab.attach(lab).ask("impair", **words)
    if json:
        print_json(found)
    else:
        _show(found["links"])


def _show(links: list[dict[str, Any]]) -> None:
    rows = [("-".join(one["link"]), _text(one)) for one in links[:_SHOWN]]
    if not rows:
        print("no link has impairments")
        return
    table(("link", "impairments"), rows)
    if len(links) > _SHOWN:
        print(f"and {len(links) - _SHOWN} more")


def _text(one: dict[str, Any]) -> str:
    values = (f"{name} {value} ({one['by'][name]})" for name, value in one["impairments"].items())
    return ", ".join(values) or "none"
