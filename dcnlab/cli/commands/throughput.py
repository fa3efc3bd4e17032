"""``dcnlab throughput``: the rates of flows, computed offline, beside what any routing could carry."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters import completion, options
from dcnlab.cli.parameters.arguments import Topology
from dcnlab.cli.parameters.spec_lists import split_specs
from dcnlab.cli.show import JsonFlag, cell, print_json, table, working
from dcnlab.lab.errors import UsageError
from dcnlab.lab.options.config import resolve
from topos.spec import SpecError
from topos.words import counted

if TYPE_CHECKING:
    from dcnlab.evaluator.graph.failures import Failures
    from dcnlab.evaluator.optimum.beside import Beside
    from dcnlab.evaluator.traffic.flow_model import FlowModel
    from dcnlab.evaluator.traffic.flows import Flows
    from dcnlab.traffic.patterns import Traffic
    from topos.fabric import Fabric

#: The paths of more flows do not fit into the memory of an ordinary machine.
_MAX_FLOWS = 40_000_000


@dataclass(frozen=True)
class _Asked:
    """What the flows are, and on what."""

    fabric: Fabric
    traffic: Traffic
    failed: Failures
    capacity: float
    seed: int
    on_off: str
    model: FlowModel


@command(
    "dcnlab throughput hdcube:8,1 --scheme dcube",
    "dcnlab throughput bcube:4,1 --scheme brp --traffic permutation",
    "dcnlab throughput bcube:4,2 --scheme brp,ecmp,optimal --traffic longest-matching",
)
def throughput(
    topology: Topology,
    scheme: Annotated[
        str,
        typer.Option(
            help="Comma-separated routing schemes; optimal is what any routing could carry.",
            autocompletion=completion.schemes,
        ),
    ],
    traffic: Annotated[
        str, typer.Option(help="Traffic pattern, or a file of pairs; `help` lists the patterns.")
    ] = "all-to-all",
    flows: options.Flows = "hashed",
    on_off: Annotated[
        str, typer.Option(help="On/off flows: on=1,off=1,sigma=1,length=100,samples=100 (seconds).")
    ] = "",
    failures: Annotated[
        str,
        typer.Option(
            help="Random failures, such as switch-links=5%,servers=2; links are those of servers too."
        ),
    ] = "",
    capacity: options.Capacity = 1.0,
    gap: options.Gap = "1%",
    paths: options.Paths = "",
    certificate: Annotated[
        Path | None,
        options.output("For optimal: write what proves the bounds as JSON: links with prices, demands, flows."),
    ] = None,
    splits: Annotated[
        Path | None,
        options.output(
            "For optimal: write its splits as a scheme for labs (--custom FILE.py --scheme optimal)."
        ),
    ] = None,
    csv: options.Csv = None,
    seed: options.Seed = 1,
    json: JsonFlag = False,
) -> None:
    """Compute rates of flows offline, and what share of the optimum each scheme reaches.

    The rates are max-min fair. Theta is the largest multiple of the traffic that is carried at once, where
    the busiest server sends, or receives, at the rate of one link. The optimum's theta lies between two bounds.
    """
    if traffic == "help":
        _show_patterns(json)
        return
    from dcnlab.evaluator.metrics import Conditions, models
    from dcnlab.evaluator.optimum.beside import without_optimal
    from dcnlab.evaluator.seeds import network_of

    names, optimal = without_optimal(split_specs(scheme))
    asked = _asked(topology, names, optimal, traffic, on_off, failures, capacity, seed, flows)
    beside = _optimum(asked, gap, paths) if optimal else None
    if certificate is not None:
        _write_certificate(certificate, asked.fabric, beside)
    rounded = None if splits is None else _write_splits(splits, asked, optimal, gap, paths)
    rows = {}
    for name in names:
        with working(f"{name}: routing flows"):
            rows[name] = _figures(asked, name, beside)
    given = {**network_of(topology, seed), "traffic": traffic, "failures": failures, "seed": seed,
             "on_off": on_off, "capacity": capacity, "flow_model": str(asked.model)}  # fmt: skip
    if csv is not None:
        _write_csv(csv, given, rows, beside)
    if json:
        shown = _as_json(given, scheme, len(asked.traffic), rows, beside)
        print_json(shown if rounded is None else {**shown, "splits_theta": rounded})
        return
    print(f"{asked.fabric.spec} with {scheme}: {counted(len(asked.traffic), 'flow')} ({traffic}),"
          f" link capacity {capacity:g}")  # fmt: skip
    _say_failures(asked)
    if not len(asked.traffic):
        print(f"there are no flows: {traffic} has no two different servers here")
    _show(rows, beside)
    if rounded is not None:
        print(f"splits in {splits}: theta {rounded:.4f} as rounded for select groups")
    if rows:
        print(models(["throughput"], Conditions(flows=flows))["throughput"])


def _asked(
    topology: str, names: list[str], optimal: bool, traffic: str, on_off: str, failures: str, capacity: float,
    seed: int, flows: str,
) -> _Asked:  # fmt: skip
    from dcnlab.evaluator.graph import failures as failing
    from dcnlab.evaluator.traffic import flow_model, onoff
    from dcnlab.traffic.patterns import traffic as pattern
    from topos.registry import fabric as build
    from topos.registry import parse, with_seed

    if not names and not optimal:
        raise UsageError("--scheme: name a scheme, or optimal")
    if on_off and (len(names) > 1 or optimal):
        raise UsageError("--on-off is for a single scheme")
    try:
        servers, _ = parse(topology).counts()
        if traffic == "all-to-all" and servers**2 > _MAX_FLOWS:
            raise UsageError(
                f"{servers**2} flows are too many: `dcnlab sweep --flows split` computes their ABT"
            )
        fabric = build(with_seed(topology, seed))
        for name in names:
            resolve(topology, name)
        failed, model = failing.draw(fabric, failures, seed), flow_model.read(flows)
        wanted = pattern(fabric, traffic, seed, failed.nodes).by_destination()
        if on_off:
            onoff.parse(on_off)
    except SpecError as error:
        raise UsageError(str(error)) from error
    return _Asked(fabric, wanted, failed, capacity, seed, on_off, model)


def _say_failures(asked: _Asked) -> None:
    from dcnlab.evaluator.graph.failures import in_words, of_servers

    down = len(asked.failed.links.down)
    if asked.failed:
        print(in_words(down, of_servers(asked.fabric, asked.failed), len(asked.failed.nodes)))


def _optimum(asked: _Asked, gap: str, paths: str) -> Beside:
    from dcnlab.evaluator.optimum.beside import optimum_of, read_gap
    from dcnlab.evaluator.optimum.restricted import read_limit

    try:
        share, limit = read_gap(gap), read_limit(paths)
        with working("optimum") as show:
            return optimum_of(
                asked.fabric, asked.traffic, asked.failed.links, share, limit=limit,
                progress=lambda lower, upper: show(f"{lower:.4f} to {upper:.4f}", None),
            )  # fmt: skip
    except SpecError as error:
        raise UsageError(str(error)) from error


def _figures(asked: _Asked, name: str, beside: Beside | None) -> dict[str, Any]:
    """The figures of one scheme."""
    from addressing.registry import bind
    from dcnlab.evaluator.optimum.beside import theta_of
    from dcnlab.evaluator.traffic import onoff
    from dcnlab.evaluator.traffic.flow_model import route

    scheme = bind(name, asked.fabric)
    routed = route(scheme, asked.traffic, asked.model, asked.seed, asked.failed.links)
    if asked.on_off:
        return _on_off_rates(
            asked.fabric, routed, onoff.parse(asked.on_off), asked.seed, asked.capacity
        )  # fmt: skip
    figures = _constant_rates(asked, routed)
    if beside is None:
        return figures
    theta = theta_of(asked.fabric, routed, asked.traffic, beside.optimum.problem.unreachable)
    low, high = beside.share(theta)
    return {**figures, "theta": theta, "share_lower": low, "share_upper": high}


def _write_certificate(path: Path, fabric: Fabric, beside: Beside | None) -> None:
    from json import dumps

    from dcnlab.evaluator.optimum.certificate import as_json

    if beside is None:
        raise UsageError("--certificate is for --scheme optimal")
    path.write_text(dumps(as_json(beside.optimum, fabric.name)) + "\n")


def _write_splits(path: Path, asked: _Asked, optimal: bool, gap: str, paths: str) -> float:
    """Write the optimum's splits as a scheme; returns the theta of its rounded weights."""
    from dcnlab.evaluator.optimum import installed
    from dcnlab.evaluator.optimum.beside import read_gap, scheme_theta
    from dcnlab.evaluator.optimum.restricted import read_limit

    if not optimal or asked.failed.links or path.suffix != ".py":
        raise UsageError("--splits FILE.py is for --scheme optimal, without --failures")
    with working("splits"):
        try:
            splits = installed.splits_of(asked.fabric, asked.traffic, read_gap(gap), read_limit(paths))
        except SpecError as error:
            raise UsageError(str(error)) from error
        path.write_text(installed.as_file(asked.fabric, asked.traffic.name, splits))
        return scheme_theta(installed.scheme_class(asked.fabric, splits)(asked.fabric), asked.traffic)


def _as_json(
    given: dict[str, Any], scheme: str, flows: int, rows: dict[str, dict[str, Any]], beside: Beside | None
) -> dict[str, Any]:
    """One scheme's figures stand at the top; those of several, and the optimum, in lists."""
    if beside is None and len(rows) == 1:
        return {**given, "scheme": scheme, "flows": flows, **next(iter(rows.values()))}
    optimum = {} if beside is None else {"optimum": beside.as_dict()}
    return {**given, "flows": flows, **optimum, "schemes": [{"scheme": k, **row} for k, row in rows.items()]}


def _write_csv(
    path: Path, given: dict[str, Any], rows: dict[str, dict[str, Any]], beside: Beside | None
) -> None:
    from dcnlab.evaluator.reporting.tables import write_csv

    optimum = {} if beside is None else {f"optimum.{key}": value for key, value in beside.as_dict().items()}
    listed = rows or {"optimal": {}}
    write_csv([{**given, "scheme": name, **row, **optimum} for name, row in listed.items()], path)


def _show(rows: dict[str, dict[str, Any]], beside: Beside | None) -> None:
    if beside is None and len(rows) == 1:
        figures = next(iter(rows.values()))
        table(("figure", "value"), [(k, f"{v:.6g}" if isinstance(v, float) else v) for k, v in figures.items()])
        return
    if beside is not None:
        optimum = beside.optimum
        ended = ", interrupted" if optimum.interrupted else ""
        how = f"gap {optimum.gap:.2%}, {optimum.method}{ended}"
        print(
            f"optimum: theta {optimum.lower:.4f} to {optimum.upper:.4f} ({how});"
            f" volume bound {beside.volume_bound:.4f}"
        )
        if missing := optimum.problem.unreachable:
            have = "has no path and is" if missing == 1 else "have no path and are"
            print(f"{counted(missing, 'pair')} {have} left out")
    columns = ("delivered", "aggregate", "least", "abt") + (("theta",) if beside else ())
    lines = [
        (name, *(cell(row[key]) for key in columns), *((_percent(row),) if beside else ()))
        for name, row in rows.items()
    ]
    if lines:
        table(("scheme", *columns, *(("of the optimum",) if beside else ())), lines)


def _percent(row: dict[str, Any]) -> str:
    low, high = row["share_lower"], row["share_upper"]
    if math.isnan(low):
        return "-"
    return f"{low:.0%}" if f"{low:.0%}" == f"{high:.0%}" else f"{100 * low:.0f}-{high:.0%}"


def _show_patterns(json: bool) -> None:
    """Print the traffic patterns and the defaults of their parameters."""
    from dcnlab.traffic.patterns import DEFAULTS

    defaults = {name: dict(given) for name, given in DEFAULTS.items()}
    if json:
        print_json(defaults)
        return
    rows = [(name, ",".join(f"{k}={v:g}" for k, v in given.items())) for name, given in defaults.items()]
    table(("traffic", "parameters"), rows)


def _constant_rates(asked: _Asked, routed: Flows) -> dict[str, Any]:
    """The figures of flows that always send."""
    import numpy as np

    from dcnlab.evaluator.traffic.throughput import throughput as rates_of

    amounts = asked.traffic.amounts if asked.traffic.weighted else None
    result = rates_of(asked.fabric, routed, asked.capacity, amounts)
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
