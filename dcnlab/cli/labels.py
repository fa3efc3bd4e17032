"""The command about labels that nodes learn from each other: a whole fabric offline, or a lab's agents."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dcnlab.cli import options
from dcnlab.cli.app import app
from dcnlab.cli.show import JsonFlag, print_json, table

_COLUMNS = ("what", "ms", "advertisements", "acks", "retransmitted", "labels changed", "as wmgr's", "delivered")


@app.command()
def label(
    where: Annotated[str, typer.Argument(metavar="TOPOLOGY|LAB", help="A topology, or a running lab's name.")],
    root: Annotated[str, typer.Option(help="The root: h3, s0, a number, or centre (for a topology).")] = "0",
    cut: Annotated[
        list[str], typer.Option(help="Then cut link:h0-s1 or node:s3; may be repeated, one after the other.")
    ] = [],  # noqa: B006
    loss: options.FrameLoss = 0.0,
    duplicate: options.Duplicate = 0.0,
    jitter: options.Jitter = 0.0,
    seed: options.Seed = 1,
    json: JsonFlag = False,
) -> None:
    """Nodes learn their WMGR labels by messages; exit 1 unless they are the scheme's and all is delivered."""
    from dcnlab.lab import runtime
    from dcnlab.lab.autoconfig import labelling
    from dcnlab.lab.client import Lab

    if any(found.name == where for found in runtime.labs()):
        found = Lab.attach(where).ask("label")
    else:
        noise = (loss, duplicate, jitter * 1e-6)
        found = labelling.offline(where, root, cut, noise, seed)
    print_json(found) if json else _show(found)
    raise typer.Exit(0 if all(row["equal"] and row["lost"] == 0 for row in found["rounds"]) else 1)


def _show(found: dict[str, Any]) -> None:
    nodes = f"{found['nodes']} nodes, {found['links']} links"
    print(f"{found['topology']}: {nodes}; root {found['root']}, labels of at most {found['label_bits']} bits")
    table(
        _COLUMNS,
        [
            (
                row["what"], row["ms"],
                row["frames"].get("sent advertisement", 0), row["frames"].get("sent ack", 0),
                row["frames"].get("retransmitted", 0), _or_dash(row["changed"]),
                "yes" if row["equal"] else "NO",
                f"{row['pairs'] - row['lost']}/{row['pairs']}",
            )
            for row in found["rounds"]
        ],
    )  # fmt: skip


def _or_dash(value: int | None) -> str:
    return "-" if value is None else str(value)
