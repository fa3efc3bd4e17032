"""``dcnlab label``: WMGR labels that nodes learn from their neighbours, offline or in a lab."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters import options
from dcnlab.cli.show import JsonFlag, print_json, table

_COLUMNS = (
    "event", "ms", "advertisements", "acks", "retransmitted", "labels changed", "equal to wmgr", "delivered",
)  # fmt: skip


@command("dcnlab label bcube:4,1 --root s0 --cut link:h0-s0")
def label(
    where: Annotated[str, typer.Argument(metavar="TOPOLOGY|LAB", help="A topology, or a running lab's name.")],
    root: Annotated[str, typer.Option(help="With a topology: the root, as h3, s0, a number, or centre.")] = "0",
    cut: Annotated[
        list[str],
        typer.Option(help="With a topology: then cut link:h0-s1 or node:s3; repeat for further cuts."),
    ] = [],  # noqa: B006
    loss: options.FrameLoss = 0.0,
    duplicate: options.Duplicate = 0.0,
    jitter: options.Jitter = 0.0,
    seed: options.Seed = 1,
    json: JsonFlag = False,
) -> None:
    """Let nodes learn their WMGR labels from neighbours (WMGR, section IV-A).

    Exits with 1 unless all labels equal those of the scheme wmgr and all packets arrive."""
    from dcnlab.lab.autoconfig import labelling
    from dcnlab.lab.control import runtime

    if any(lab.name == where for lab in runtime.labs()):
        from dcnlab.cli.from_classes.measurements import with_bar
        from dcnlab.lab.measurement.label import Label

        result = with_bar(where, Label(), json).to_json()
    else:
        noise = (loss, duplicate, jitter * 1e-6)
        result = labelling.offline(where, root, cut, noise, seed)
    print_json(result) if json else _show(result)
    if partial := result.get("partial"):
        if not json:
            print(f"partial: {partial}")
        raise typer.Exit(130)
    raise typer.Exit(0 if all(row["equal"] and row["lost"] == 0 for row in result["rounds"]) else 1)


def _show(result: dict[str, Any]) -> None:
    nodes = f"{result['nodes']} nodes, {result['links']} links"
    print(
        f"{result['topology']}: {nodes}; root {result['root']}, labels of at most {result['label_bits']} bits"
    )
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
            for row in result["rounds"]
        ],
    )  # fmt: skip


def _or_dash(value: int | None) -> str:
    return "-" if value is None else str(value)
