"""Failure sweeps: how throughput, delivery and path length degrade as servers, switches or links fail.

A point is one topology with one scheme under one random set of failures.  Its ABT (aggregate
bottleneck throughput) is that of all-to-all traffic between the servers that are up, with links of rate
1 in each direction.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from addressing.registry import bind, compatible_schemes
from addressing.schemes.ecmp import Ecmp
from dcnlab.evaluator.averages import Average, Combination, seeds_text
from dcnlab.evaluator.compare import Row, key_of
from dcnlab.evaluator.cost import bill, design, read_prices
from dcnlab.evaluator.graph.distances import distances
from dcnlab.evaluator.graph.failures import KINDS, Failures, draw
from dcnlab.evaluator.graph.hop_graph import hop_graph
from dcnlab.evaluator.graph.pairs import choose
from dcnlab.evaluator.metrics import Conditions, check
from dcnlab.evaluator.optimum.beside import normalised, optimum_of, read_gap, without_optimal
from dcnlab.evaluator.optimum.restricted import read_limit
from dcnlab.evaluator.reporting.charts import Chart, Panels, Series
from dcnlab.evaluator.seeds import Draw
from dcnlab.evaluator.traffic.capacities import port_capacities
from dcnlab.evaluator.traffic.flow_model import SPLIT, carried_by, check_drawn, draws, route
from dcnlab.evaluator.traffic.flow_model import read as read_flows
from dcnlab.evaluator.traffic.loads import carried_load, link_loads
from dcnlab.traffic.patterns import traffic
from topos.fabric import Fabric
from topos.registry import fabric, is_seeded, parse, with_seed, without_seed
from topos.spec import SpecError, split_spec

#: The metrics of a sweep, and the labels of their axes; ``{abt}`` stands for the :class:`Scale`'s.
METRICS = {
    "abt": "{abt}",
    "delivered": "share of pairs delivered",
    "path": "mean path (links)",
}
#: What the optimum adds.
BESIDE = {"optimum": "optimal {abt}, at least", "of_optimum": "share of the optimum, at least"}
#: Metrics in link rates.
_IN_RATES = ("abt", "optimum")
#: What the ABT is divided by; "" decides by the sizes of the networks.
Per = Literal["", "network", "server", "cost"]
_ABT = (
    "ABT: the sum of the rates of all pairs of servers that are up, when all have the same rate;"
    " the rate of a link is 1 in each direction."
)
#: Paths whose lengths differ by more than this factor are drawn on a logarithmic axis.
_WIDE = 4


@dataclass(frozen=True)
class Point:
    """One measurement: ``share`` of the elements of one kind failed; ``seed`` draws paths."""

    topology: str
    scheme: str
    kind: str
    share: float
    seed: int
    flows: str = "hashed"
    #: The seed of the network; None where it is not random.
    graph_seed: int | None = None
    #: The seed of the failures: ``seed`` if it is None.
    failure_seed: int | None = None

    @property
    def key(self) -> str:
        """The key under which the result is stored."""
        return key_of(self)

    @property
    def network(self) -> Fabric:
        """The network, built."""
        return fabric(with_seed(self.topology, self.graph_seed or 0))

    @property
    def failures(self) -> str:
        """The failures in the syntax of :func:`dcnlab.evaluator.graph.failures.draw`."""
        return f"{self.kind}={100 * self.share:g}%" if self.share else ""

    @property
    def failed(self) -> Failures:
        """The failures, drawn."""
        return draw(self.network, self.failures, self.seed if self.failure_seed is None else self.failure_seed)


@dataclass(frozen=True)
class PointBesideOptimum(Point):
    """The same, with the optimum and the share of it that the scheme reaches."""

    gap: str = "1%"
    paths: str = ""


def points(
    topologies: Sequence[str],
    schemes: Sequence[str],
    kinds: Sequence[str],
    shares: Sequence[float],
    seeds: Sequence[int | Draw],
    *,
    flows: str = "hashed",
    gap: str = "1%",
    paths: str = "",
) -> list[Point]:
    """Every combination, on each topology with the first of ``schemes`` that fits it.

    ``optimal`` among the schemes adds the optimum.  The point without failures occurs once, for all
    kinds, and for all seeds unless these draw the topology or paths.  Raises SpecError with one line.
    """
    schemes, optimal = without_optimal(schemes)
    schemes = schemes or ["ecmp"]
    check((), Conditions(flows=flows, gap=gap, paths=paths))
    kind_of_point: Callable[..., Point] = Point
    if optimal:
        kind_of_point = partial(PointBesideOptimum, gap=gap, paths=paths)
    for kind in kinds:
        if kind not in KINDS:
            raise SpecError(f"failures: unknown kind {kind!r}: known: {', '.join(KINDS)}")
    points: dict[Point, None] = {}
    drawn = read_flows(flows) != SPLIT
    every = [Draw.of(seed) if isinstance(seed, int) else seed for seed in seeds]
    for text, kind, share, seed in itertools.product(topologies, kinds, shares, every):
        family = parse(text)
        scheme = next((name for name in schemes if split_spec(name)[0] in compatible_schemes(family)), None)
        if scheme is None:
            raise SpecError(f"none of {', '.join(schemes)} fits {family.spec}")
        spec, own = without_seed(with_seed(text, seed.graph))
        one_for_all = seed == Draw.of(seed.traffic) and (share or is_seeded(text))
        of_paths = seed.traffic if drawn or one_for_all else every[0].traffic
        failing = (
            (kind, share, of_paths, flows, own, seed.failures) if share else ("", 0.0, of_paths, flows, own)
        )
        points[kind_of_point(spec, scheme, *failing)] = None
    return list(points)


def measure(point: Point) -> Row:
    """ABT, the share of pairs of live servers that are delivered, and the mean path in links."""
    network = point.network
    failed = point.failed
    return {
        "key": point.key,
        **dataclasses.asdict(point),
        "servers": network.servers,
        "failed_nodes": len(failed.nodes),
        "failed_links": len(failed.links.down),
        **(figures := _figures(point, failed)),
        **(_optimum(point, failed, figures["abt"]) if isinstance(point, PointBesideOptimum) else {}),
    }


def _optimum(point: PointBesideOptimum, failed: Failures, abt: float) -> Row:
    """The bounds of the optimal ABT, and the scheme's share of it, at least."""
    network = point.network
    all_pairs = traffic(network, "all-to-all", point.seed, failed.nodes)
    limit = read_limit(point.paths)
    beside = optimum_of(network, all_pairs, failed.links, read_gap(point.gap), limit=limit)
    best = beside.optimum
    total = float(normalised(all_pairs).sum()) * (1 - best.problem.unreachable / max(1, len(all_pairs)))
    return {
        "optimum": total * best.lower,
        "optimum_upper": total * best.upper,
        "volume_bound": total * beside.volume_bound,
        "of_optimum": abt / (total * best.upper) if total else math.nan,
    }


def _figures(point: Point, failed: Failures) -> Row:
    network, model = point.network, read_flows(point.flows)
    scheme, pairs = bind(point.scheme, network), choose(network, "servers", point.seed, failed.nodes)
    if draws(scheme, model, failed.links, "yes"):
        check_drawn(len(pairs) * model.subflows)
        wanted = traffic(network, "all-to-all", point.seed, failed.nodes)
        routed = carried_by(route(scheme, wanted, model, point.seed, failed.links), len(network.adjacency.peer))
        loads, delivered, path = routed.loads, routed.delivered, routed.path_mean
    elif isinstance(scheme, Ecmp):  # delivers all connected pairs along shortest paths
        loads = link_loads(scheme, pairs, failed.links)
        counted = distances(hop_graph(network, failed.links), pairs.destinations, pairs.destinations)
        delivered, path = counted.reached, counted.mean
    else:
        routed = carried_load(scheme, pairs, failed.links)
        loads, delivered, path = routed.loads, routed.delivered, routed.path_mean
    worst = float((loads / port_capacities(network)).max(initial=0.0))
    return {
        "abt": delivered / worst if worst else math.nan,
        "delivered": delivered / len(pairs) if len(pairs) else math.nan,
        "path": path,
    }


def figure(rows: Sequence[Row], kinds: Sequence[str], per: Per = "") -> Panels:
    """A row of panels per metric, one panel per kind of failure: means over the seeds with 95 % intervals.

    ``per`` divides the ABT by the servers or by the price of the whole network; the default is by the servers
    where the networks have different numbers of them.
    """
    shared = scale(rows, per)
    topologies = tuple(dict.fromkeys(row["topology"] for row in rows))
    drawn = [
        Chart(
            "", f"{kind} failed, %", label.format(abt=shared.label),
            tuple(
                _series(one, [row for row in rows if row["topology"] == one and row["kind"] in (kind, "")],
                        metric, shared.of(one) if metric in _IN_RATES else 1.0)
                for one in topologies
            ),
            groups=topologies, log_y=metric in _IN_RATES or (metric == "path" and _is_wide(rows, metric)),
        )
        for metric, label in _metrics(rows).items()
        for kind in kinds
    ]  # fmt: skip
    model = read_flows(rows[0]["flows"]).sentence
    caption = f"{_schemes(rows)}; {seeds_text(rows)}. {_ABT} {model[0].upper()}{model[1:]}.{shared.note}"
    return Panels("", tuple(drawn), len(kinds), caption)


def _metrics(rows: Sequence[Row]) -> dict[str, str]:
    """The metrics that all rows have, with the labels of their axes."""
    return {**METRICS, **(BESIDE if rows and all("of_optimum" in row for row in rows) else {})}


def _schemes(rows: Sequence[Row]) -> str:
    schemes = {row["topology"]: row["scheme"] for row in rows}
    used = set(schemes.values())
    return used.pop() if len(used) == 1 else ", ".join(f"{s} on {t}" for t, s in schemes.items())


def _is_wide(rows: Sequence[Row], metric: str) -> bool:
    values = [row[metric] for row in rows if row[metric] > 0]
    return bool(values) and max(values) > _WIDE * min(values)


@dataclass(frozen=True)
class Scale:
    """What the ABT is divided by: a number per topology, and the words for it."""

    label: str
    note: str
    by_topology: Mapping[str, float]

    def of(self, topology: str) -> float:
        """What the ABT of a topology is divided by."""
        return self.by_topology.get(topology, 1.0)


def scale(rows: Sequence[Row], per: Per = "") -> Scale:
    """What the ABT is divided by; raises SpecError for a network without a price."""
    servers = {row["topology"]: row["servers"] for row in rows}
    if per == "cost":
        prices = read_prices()
        costs = {one: bill(design(parse(one)), prices).price / 1000 for one in servers}
        listed = ", ".join(f"{one} {1000 * price:,.0f}" for one, price in costs.items())
        return Scale("ABT per 1000 dollars", f" Dollars (dcnlab cost): {listed}.", costs)
    if per == "server" or (not per and len(set(servers.values())) > 1):
        listed = ", ".join(f"{one} {count:,}" for one, count in servers.items())
        return Scale("ABT per server", f" Servers: {listed}.", servers)
    return Scale("ABT (in link rates)", "", {})


def _series(topology: str, rows: Sequence[Row], metric: str, divisor: float) -> Series:
    shares = sorted({row["share"] for row in rows})
    points = [_average([row for row in rows if row["share"] == share], metric) for share in shares]
    percent = tuple(100 * share for share in shares)
    middle, half = (tuple(getattr(one, name) / divisor for one in points) for name in ("mean", "half"))
    return Series(topology, percent, middle, half)


def _average(rows: Sequence[Row], metric: str) -> Average:
    """The mean over the seeds with its interval; NaN where no seed has a number."""
    return Combination("", "", "", 0.0, tuple(rows)).average(metric) or Average(math.nan)


def summary(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """A header, then a line per topology, kind and share: means over the seeds +- half the 95 % interval."""
    metrics = tuple(_metrics(rows))
    header = ("topology", "failed", "seeds", *metrics)
    groups: dict[tuple[str, str, float], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["topology"], row["kind"], row["share"]), []).append(row)
    return [header, *(_line(*key, group, metrics) for key, group in groups.items())]


def _line(
    topology: str, kind: str, share: float, group: Sequence[Row], metrics: Sequence[str]
) -> tuple[str, ...]:
    failed = f"{100 * share:.3g}% {kind}" if kind else "none"
    return topology, failed, str(len(group)), *(_average(group, metric).text() for metric in metrics)
