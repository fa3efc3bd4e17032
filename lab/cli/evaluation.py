"""Commands that evaluate and compare schemes offline."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from lab.cli.app import app
from lab.cli.offline import Topology
from lab.cli.show import JsonFlag, as_json, table
from lab.errors import UsageError
from topos.registry import SpecError


class Hops(StrEnum):
    """What a path's length counts."""

    links = "links"
    servers = "servers"


class Aware(StrEnum):
    """What schemes know of failures."""

    yes = "yes"
    no = "no"


@app.command()
def evaluate(
    topology: Topology,
    scheme: Annotated[str, typer.Option(help="Schemes, separated by commas.")] = "",
    pairs: Annotated[str, typer.Option(help="servers, all, from:NODE or sample:N.")] = "servers",
    failures: Annotated[str, typer.Option(help="Such as links=5%,nodes=2%.")] = "",
    seed: Annotated[int, typer.Option(help="Of failures and samples.")] = 1,
    aware: Annotated[Aware, typer.Option(help="Whether schemes know of the failures.")] = Aware.yes,
    hops: Annotated[Hops, typer.Option(help="Count links, or arrivals at servers.")] = Hops.links,
    json: JsonFlag = False,
) -> None:
    """Evaluate schemes offline: path length, stretch, table entries and bits, delivery."""
    from evaluator.evaluate import evaluate as run

    try:
        report = run(
            topology,
            _schemes(scheme),
            pairs=pairs,
            failures=failures,
            seed=seed,
            aware=aware.value,
            hops=hops.value,
        ).as_dict()
    except SpecError as error:
        raise UsageError(str(error)) from error
    if json:
        as_json(report)
        return
    counts = f"{report['servers']} servers, {report['switches']} switches, {report['links']} links"
    print(f"{report['topology']}: {counts}; {report['pair_count']} pairs ({report['pairs']})")
    print(f"diameter {report['diameter']}, mean distance {_short(report['mean_distance'])} ({report['hops']})")
    if report["failures"]:
        print(f"down: {report['failed_links']} links, {report['failed_nodes']} nodes of them with all theirs")
    table(
        (
            "scheme", "delivered", "path", "max", "stretch", "max", "<= 1", "<= 2", "entries", "max",
            "bits max", "label bits",
        ),
        [
            (
                s["scheme"], _short(s["delivered"]), _short(s["path"]["mean"]), s["path"]["max"],
                _short(s["stretch"]["mean"]), _short(s["stretch"]["max"]), _short(s["stretch"]["cdf"]["1"]),
                _short(s["stretch"]["cdf"]["2"]), _short(s["table"]["entries_mean"]), s["table"]["entries_max"],
                s["table"]["bits_max"], s["table"]["label_bits_max"],
            )
            for s in report["schemes"]
        ],
    )  # fmt: skip


def _schemes(text: str) -> list[str]:
    """``wmgr,tz:seed=2,ksp:k=8``: a part without a colon that looks like ``key=value`` belongs to the
    specification before it."""
    found: list[str] = []
    for part in text.split(","):
        if found and "=" in part and ":" not in part:
            found[-1] += f",{part}"
        elif part.strip():
            found.append(part.strip())
    return found


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
