"""``dcnlab throughput``: the rates of flows, computed offline."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from dcnlab.cli import options
from dcnlab.cli.app import command
from dcnlab.cli.arguments import SchemeName, Topology
from dcnlab.cli.show import JsonFlag, print_json, table, working
from dcnlab.lab.errors import UsageError
from dcnlab.lab.options.config import resolve
from topos.spec import SpecError

#: The paths of more flows do not fit into the memory of an ordinary machine.
_MAX_FLOWS = 40_000_000


@command(
    "dcnlab throughput hdcube:8,1 --scheme dcube",
    "dcnlab throughput bcube:4,1 --scheme brp --traffic permutation",
)
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
    from dcnlab.traffic.patterns import traffic as pattern

    if traffic == "help":
        _show_patterns(json)
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
    with working("routing flows"):
        routed = flows(bound, wanted, failed.links)
        figures = (
            _constant_rates(fabric, routed, capacity)
            if phases is None
            else _on_off_rates(fabric, routed, phases, seed, capacity)
        )
    if json:
        parameters = {
            "topology": fabric.spec, "scheme": scheme, "traffic": traffic, "failures": failures, "seed": seed,
            "on_off": on_off, "capacity": capacity,
        }  # fmt: skip
        print_json({**parameters, "flows": len(routed), **figures})
        return
    print(f"{fabric.spec} with {scheme}: {len(routed)} flows ({traffic}), link capacity {capacity:g}")
    table(("figure", "value"), [(k, f"{v:.6g}" if isinstance(v, float) else v) for k, v in figures.items()])


def _show_patterns(json: bool) -> None:
    """Print the traffic patterns and the defaults of their parameters."""
    from dcnlab.traffic.patterns import DEFAULTS

    defaults = {name: dict(given) for name, given in DEFAULTS.items()}
    if json:
        print_json(defaults)
        return
    rows = [(name, ",".join(f"{k}={v:g}" for k, v in given.items())) for name, given in defaults.items()]
    table(("traffic", "parameters"), rows)


def _constant_rates(fabric: Any, routed: Any, capacity: float) -> dict[str, Any]:
    """The figures of flows that always send."""
    import numpy as np

    from dcnlab.evaluator.traffic.throughput import throughput as rates_of

    result = rates_of(fabric, routed, capacity)
    rates = result.rates[routed.delivered]
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


def _on_off_rates(fabric: Any, routed: Any, phases: Any, seed: int, capacity: float) -> dict[str, Any]:
    """The figures of flows that alternate between on and off phases."""
    import numpy as np

    from dcnlab.evaluator.traffic.onoff import on_off_rates

    sampled = on_off_rates(fabric, routed, phases, seed, capacity)
    rates = sampled.while_on[~np.isnan(sampled.while_on)]
    return {
        "delivered": int(routed.delivered.sum()),
        "on_mean": float(sampled.on.mean()),
        "aggregate": float(sampled.aggregate.mean()),
        "aggregate_p5": float(np.quantile(sampled.aggregate, 0.05)),
        "aggregate_p95": float(np.quantile(sampled.aggregate, 0.95)),
        "while_on_mean": float(rates.mean()) if len(rates) else math.nan,
        "while_on_median": float(np.median(rates)) if len(rates) else math.nan,
    }
