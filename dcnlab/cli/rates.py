"""``dcnlab throughput``: the rates of flows, computed offline."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from dcnlab.cli import options
from dcnlab.cli.app import app
from dcnlab.cli.show import JsonFlag, print_json, table, working
from dcnlab.cli.topologies import SchemeName, Topology
from dcnlab.lab.config import resolve
from dcnlab.lab.errors import UsageError
from topos.spec import SpecError

#: The paths of more flows do not fit into the memory of an ordinary machine.
_MAX_FLOWS = 40_000_000


@app.command()
def throughput(
    topology: Topology,
    scheme: SchemeName,
    traffic: Annotated[str, typer.Option(help="Traffic pattern; `help` lists the patterns.")] = "all-to-all",
    on_off: Annotated[
        str, typer.Option(help="On/off flows: on=1,off=1,sigma=1,length=100,samples=100 (seconds).")
    ] = "",
    failures: Annotated[
        str, typer.Option(help="Random failures, as shares or numbers: links=5%,servers=2.")
    ] = "",
    capacity: options.Capacity = 1.0,
    seed: options.Seed = 1,
    json: JsonFlag = False,
) -> None:
    """Compute max-min fair rates of flows offline, for any topology, scheme and traffic pattern."""
    from dcnlab.evaluator.graph import failures as failing
    from dcnlab.evaluator.traffic import onoff
    from dcnlab.evaluator.traffic.flows import flows
    from dcnlab.evaluator.traffic.traffic import PATTERNS
    from dcnlab.evaluator.traffic.traffic import traffic as pattern

    if traffic == "help":
        rows = [(n, ",".join(f"{k}={v:g}" for k, v in given.items())) for n, (_, given) in PATTERNS.items()]
        print_json({name: given for name, (_, given) in PATTERNS.items()}) if json else table(
            ("traffic", "parameters"), rows
        )
        return
    fabric, bound = resolve(topology, scheme)
    if traffic == "all-to-all" and fabric.servers**2 > _MAX_FLOWS:
        raise UsageError(f"{fabric.servers**2} flows are too many: `dcnlab sweep` computes their ABT")
    try:
        failed = failing.draw(fabric, failures, seed)
        wanted = pattern(fabric, traffic, seed, failed.nodes)
        phases = onoff.parse(on_off) if on_off else None
    except SpecError as error:
        raise UsageError(str(error)) from error
    asked = {"topology": fabric.spec, "scheme": scheme, "traffic": traffic, "failures": failures, "seed": seed}
    with working("routing flows"):
        found = flows(bound, wanted, failed.links)
        figures = (
            _steady(fabric, found, capacity)
            if phases is None
            else _pausing(fabric, found, phases, seed, capacity)
        )
    if json:
        print_json({**asked, "on_off": on_off, "capacity": capacity, "flows": len(found), **figures})
        return
    print(f"{fabric.spec} with {scheme}: {len(found)} flows ({traffic}), link capacity {capacity:g}")
    table(("figure", "value"), [(k, f"{v:.6g}" if isinstance(v, float) else v) for k, v in figures.items()])


def _steady(fabric: Any, found: Any, capacity: float) -> dict[str, Any]:
    import numpy as np

    from dcnlab.evaluator.traffic.throughput import throughput as rates_of

    result = rates_of(fabric, found, capacity)
    rates = result.rates[found.delivered]
    quantiles = np.quantile(rates, [0.05, 0.5, 0.95]).tolist() if len(rates) else [math.nan] * 3
    return {
        "delivered": result.delivered,
        "aggregate": result.aggregate,
        "least": result.least,
        "p5": quantiles[0],
        "median": quantiles[1],
        "p95": quantiles[2],
        "most": float(rates.max(initial=0.0)),
        "fairness": result.fairness,
        "abt": result.abt,
    }


def _pausing(fabric: Any, found: Any, phases: Any, seed: int, capacity: float) -> dict[str, Any]:
    import numpy as np

    from dcnlab.evaluator.traffic.onoff import on_off_rates

    played = on_off_rates(fabric, found, phases, seed, capacity)
    rates = played.while_on[~np.isnan(played.while_on)]
    return {
        "delivered": int(found.delivered.sum()),
        "on_mean": float(played.on.mean()),
        "aggregate": float(played.aggregate.mean()),
        "aggregate_p5": float(np.quantile(played.aggregate, 0.05)),
        "aggregate_p95": float(np.quantile(played.aggregate, 0.95)),
        "while_on_mean": float(rates.mean()) if len(rates) else math.nan,
        "while_on_median": float(np.median(rates)) if len(rates) else math.nan,
    }
