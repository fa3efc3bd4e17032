"""``evaluate``: routing schemes on one fabric.  Scripts rely on the keys of its JSON.

Distances and path lengths count links: server - switch - server is 2.  With
``hops="servers"`` they count server hops, as most of the papers do.  Stretch is the length of
a routed path divided by the shortest distance under the same failures.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from addressing.registry import bind
from addressing.scheme import Scheme
from dcnlab.evaluator import dividing
from dcnlab.evaluator.graph import failures as failing
from dcnlab.evaluator.graph.hop_graph import Hops
from dcnlab.evaluator.graph.pairs import Pairs, choose
from dcnlab.evaluator.graph.sweeps import Levels
from dcnlab.evaluator.metrics import (
    OF_OPTIMAL,
    Conditions,
    Figures,
    Progress,
    check,
    check_size,
    fabric_metrics,
    models,
    scheme_metrics,
    silent,
)
from dcnlab.evaluator.optimum.beside import without_optimal
from dcnlab.evaluator.routing import pair_distances
from dcnlab.evaluator.routing.histogram import distance_histogram
from dcnlab.evaluator.routing.path_lengths import (
    FailureKnowledge,
    PathLengths,
    path_lengths,
    with_failure_knowledge,
)
from dcnlab.evaluator.routing.table_sizes import BUDGET, TableSizes, table_sizes
from dcnlab.evaluator.routing.tables.compiled_tables import CompiledTables
from dcnlab.evaluator.routing.vectorized import MOST_SEARCHES, searches_of
from dcnlab.evaluator.traffic.latency import FlowControl
from dcnlab.traffic.given import text_of_demands
from topos.fabric import Fabric
from topos.registry import fabric, from_networkx, with_seed, without_seed
from topos.spec import SpecError

#: The values of stretch at which its distribution is reported.
CDF = (1.0, 1.25, 1.5, 1.75, 2.0, 3.0, 5.0)
_Z95 = 1.959963984540054


@dataclass(frozen=True)
class SchemeReport:
    """The figures of one scheme on the fabric."""

    scheme: str
    path_lengths: PathLengths
    sampled: bool
    table: TableSizes
    #: The figures of the requested metrics, by metric.
    metrics: Mapping[str, Figures]

    def as_dict(self) -> dict[str, Any]:
        """The figures as JSON; shares and means are rounded to nine digits."""
        paths = self.path_lengths
        return {
            "scheme": self.scheme,
            "pairs": paths.pairs,
            "delivered": _number(paths.delivered),
            "path": {"mean": _number(paths.path_mean), "max": paths.path_max},
            "stretch": {
                "mean": _number(paths.stretch_mean),
                "max": _number(paths.stretch_max),
                "cdf": {f"{x:g}": _number(paths.cdf(x)) for x in CDF},
                "steps": [[_number(x), _number(share)] for x, share in paths.stretch_steps],
            },
            "table": {
                "entries_max": self.table.entries_max,
                "entries_mean": _number(self.table.entries_mean),
                "bits_max": self.table.bits_max,
                "bits_mean": _number(self.table.bits_mean),
                "label_bits_max": self.table.label_bits_max,
                "nodes": self.table.holders,
                "nodes_measured": self.table.measured,
                "entries_histogram": {str(k): v for k, v in self.table.histogram.items()},
            },
            "confidence_95": {
                "path_mean": _number(_half_width(paths.path_deviation, paths.mass) if self.sampled else 0.0),
                "stretch_mean": _number(
                    _half_width(paths.stretch_deviation, paths.mass) if self.sampled else 0.0
                ),
            },
            **_figures(self.metrics),
        }


@dataclass(frozen=True)
class Report:
    """The fabric, its failures and distances, and a report for each scheme."""

    topology: str
    servers: int
    switches: int
    links: int
    pairs: str
    failures: str
    failed_links: int
    #: Those of them that have a server at an end.
    failed_server_links: int
    failed_nodes: int
    failure_knowledge: FailureKnowledge
    hops: Hops
    seed: int
    #: The seeds of a random network, which ``topology`` does not name, and of the failures; None without any.
    graph_seed: int | None
    failure_seed: int | None
    pair_count: int
    histogram: tuple[int, ...]
    schemes: tuple[SchemeReport, ...]
    metrics: Mapping[str, Figures]
    #: The model of each metric, and what it leaves out.
    models: Mapping[str, str]

    @property
    def diameter(self) -> int:
        """The largest distance of a connected pair."""
        return len(self.histogram) - 1

    @property
    def mean_distance(self) -> float:
        """The mean distance of the connected pairs; NaN when there is none."""
        reached = sum(self.histogram)
        return sum(d * n for d, n in enumerate(self.histogram)) / reached if reached else math.nan

    @property
    def unreachable(self) -> int:
        """The number of pairs without any path."""
        return self.pair_count - sum(self.histogram)

    def _repr_html_(self) -> str:
        """In a notebook: a line per scheme."""
        from dcnlab.evaluator.reporting.notebook import cell_html
        from dcnlab.evaluator.reporting.report import Section

        reports = [scheme.as_dict() for scheme in self.schemes]
        shown = {
            "delivered": ("delivered",), "mean path": ("path", "mean"), "longest path": ("path", "max"),
            "mean stretch": ("stretch", "mean"), "table entries, max": ("table", "entries_max"),
        }  # fmt: skip
        rows = tuple((one["scheme"], *(_inside(one, keys) for keys in shown.values())) for one in reports)
        return cell_html([Section(str(self.topology), "", ("scheme", *shown), rows)])

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON: the results first, then the conditions of the evaluation."""
        return {
            "topology": self.topology,
            "servers": self.servers,
            "switches": self.switches,
            "links": self.links,
            "diameter": self.diameter,
            "mean_distance": _number(self.mean_distance),
            "schemes": [scheme.as_dict() for scheme in self.schemes],
            "pairs": self.pairs,
            "pair_count": self.pair_count,
            "unreachable": self.unreachable,
            "failures": self.failures,
            "failed_links": self.failed_links,
            "failed_server_links": self.failed_server_links,
            "failed_nodes": self.failed_nodes,
            "aware": self.failure_knowledge,
            "hops": self.hops,
            "seed": self.seed,
            "graph_seed": self.graph_seed,
            "failure_seed": self.failure_seed,
            "distance_histogram": list(self.histogram),
            **({"models": dict(self.models)} if self.models else {}),
            **_figures(self.metrics),
        }


def _inside(values: Any, keys: Sequence[str]) -> Any:
    """A value of nested dictionaries; None where it is missing."""
    for key in keys:
        values = values.get(key) if isinstance(values, dict) else None
    return values


def evaluate(
    topology: str | Fabric | Any,
    schemes: Sequence[str] = (),
    *,
    pairs: str | Any = "servers",
    failures: str = "",
    seed: int = 1,
    graph_seed: int | None = None,
    failure_seed: int | None = None,
    failure_knowledge: FailureKnowledge = "yes",
    hops: Hops = "links",
    table_budget: int = BUDGET,
    metrics: Sequence[str] = (),
    traffic: str | Any = "all-to-all",
    load: float = 0.5,
    flow_control: FlowControl = "none",
    sizes: str = "fixed:1M",
    seconds: float = 10.0,
    rate: float = 1e9,
    flows: str = "hashed",
    gap: str = "1%",
    paths: str = "",
    progress: Progress = silent,
    executor: Executor | None = None,
    shares: int = 1,
) -> Report:
    """Evaluate ``schemes`` on ``topology`` over ``pairs`` while ``failures`` are down.

    ``topology``: a specification, a network, or a networkx graph (attributes: :mod:`topos.files.file`).
    ``pairs``: see :func:`dcnlab.evaluator.graph.pairs.choose`.  ``failures``: see
    :func:`dcnlab.evaluator.graph.failures.draw`.  ``seed`` draws both, and a random topology whose
    specification names no seed, unless ``graph_seed`` or ``failure_seed`` does; pairs with a failed end are
    left out.  ``metrics`` requests further figures
    (:mod:`dcnlab.evaluator.metrics`), under ``traffic`` (a pattern, a file, a numpy matrix or a networkx graph,
    see :func:`dcnlab.traffic.given.text_of_demands`; ``pairs`` too), with paths by ``flows`` (hashed, split or
    subflows=8) and, for latency, ``load`` and ``flow_control``; for
    fct, ``load``, ``sizes``, ``seconds`` and the link ``rate`` in bits per second.  Among ``schemes``,
    ``optimal`` stands for the metrics ``optimum`` and ``share``: its bounds are ``gap`` apart, over ``paths``
    (k=8, slack=1 or valiant; "": all).  ``progress`` is called with what is computed
    now, and the share of it that is done (0 to 1; None: unknown).  With an ``executor`` its workers
    compute distances and path lengths, each of a ``shares``-th of the destinations at a time; they build the
    network from its specification.  Raises SpecError with one line for the user.
    """
    progress("network", None)
    pairs, traffic = text_of_demands(pairs), text_of_demands(traffic)
    schemes, optimal = without_optimal(schemes)
    metrics = tuple(dict.fromkeys((*metrics, *(OF_OPTIMAL if optimal else ()))))
    if executor is not None and not isinstance(topology, str):
        raise SpecError("workers build the network from its specification: give that instead of a network")
    if isinstance(topology, str):
        topology = with_seed(topology, seed if graph_seed is None else graph_seed)
    network = _network(topology)
    failure_seed = (seed if failure_seed is None else failure_seed) if failures else None
    failed = failing.draw(network, failures, failure_seed or 0)
    conditions = Conditions(
        seed, failed, failure_knowledge, traffic, load, flow_control, sizes, seconds, rate, flows, gap, paths
    )  # fmt: skip
    check(metrics, conditions)
    check_size(metrics, conditions, network)
    chosen = choose(network, pairs, seed, failed.nodes)
    if hops == "servers" and _highest(chosen) >= network.servers:
        raise SpecError("hops=servers counts server hops: use pairs=servers with it")
    bound = [bind(text, network) for text in schemes]
    _check_endpoints(bound, chosen, hops == "links" and not failed.links)
    asked = dividing.Asked(
        str(topology), tuple(schemes), pairs, failures, seed, failure_seed, failure_knowledge, hops
    )
    most = max(1, min(shares, len(chosen.destinations)))
    divided = dividing.compute(executor, asked, most, progress) if executor is not None else None
    progress("distances", None)
    apart = None if divided else pair_distances.of_single(network, chosen, failed.links, hops)
    measured = functools.partial(
        _scheme_report, pairs=chosen, sampled=pairs.startswith("sample"), apart=apart, hops=hops,
        table_budget=table_budget, metrics=metrics, conditions=conditions, progress=progress,
    )  # fmt: skip
    known = divided.lengths if divided is not None else (None,) * len(bound)
    figures = tuple(map(measured, schemes, bound, known))
    progress("distances", None)
    counts = divided.histogram if divided else distance_histogram(network, chosen, failed, hops, apart)
    plain, own = without_seed(topology) if isinstance(topology, str) else (network.spec, None)
    return Report(
        plain, network.servers, network.switches, len(network.link_ends),
        pairs, failures, len(failed.links.down), failing.of_servers(network, failed), len(failed.nodes),
        failure_knowledge, hops, seed, own, failure_seed,
        len(chosen), tuple(counts.tolist()), figures, fabric_metrics(network, metrics, conditions, progress),
        models(metrics, conditions) if bound else {},
    )  # fmt: skip


def _scheme_report(
    text: str,
    scheme: Scheme,
    lengths: PathLengths | None,
    *,
    pairs: Pairs,
    sampled: bool,
    apart: Levels | None,
    hops: Hops,
    table_budget: int,
    metrics: Sequence[str],
    conditions: Conditions,
    progress: Progress,
) -> SchemeReport:
    """The figures of one scheme, whose path lengths may be known; ``apart``: see :func:`path_lengths`."""

    def phase(name: str, share: float | None = None) -> None:
        progress(f"{text}: {name}", share)

    links, knowledge = conditions.failed.links, conditions.failure_knowledge
    known = with_failure_knowledge(scheme, links, knowledge)[0]
    compiled = CompiledTables(known)
    phase("paths")
    if lengths is None:
        lengths = path_lengths(
            scheme, pairs, links, failure_knowledge=knowledge, hops=hops, apart=apart, tables=compiled,
            progress=functools.partial(phase, "paths"),
        )  # fmt: skip
    phase("tables")
    sizes = table_sizes(
        known, conditions.seed, table_budget, compiled=compiled, progress=functools.partial(phase, "tables")
    )
    return SchemeReport(text, lengths, sampled, sizes, scheme_metrics(scheme, metrics, conditions, phase))


def _network(topology: str | Fabric | Any) -> Fabric:
    """The network that a specification, a built network or a networkx graph stands for."""
    if isinstance(topology, Fabric):
        return topology
    return fabric(topology) if isinstance(topology, str) else from_networkx(topology)


def _highest(pairs: Pairs) -> int:
    """The highest node number of any pair."""
    return max(int(pairs.destinations.max(initial=0)), *(int(s.max(initial=0)) for s in pairs.sources))


def _check_endpoints(schemes: Sequence[Scheme], pairs: Pairs, counted: bool) -> None:
    """Raise SpecError for pairs that a scheme does not route, or of which it would search too many.

    ``counted``: the hops are the links of shortest paths, which are counted without a search for each.
    """
    highest = _highest(pairs)
    for scheme in schemes:
        if highest not in scheme.endpoints():
            raise SpecError(
                f"{scheme.name} routes between servers only: use pairs=servers, from:h0 or sample:N"
            )
        searches = 0 if counted else min(searches_of(scheme), len(pairs))
        if searches > MOST_SEARCHES:
            raise SpecError(
                f"{scheme.name} searches paths pair by pair, for at most {MOST_SEARCHES:,} pairs, and these are"
                f" {searches:,}: use --pairs sample:N"
            )


def _half_width(deviation: float, count: float) -> float:
    return _Z95 * deviation / math.sqrt(count) if count > 1 else math.nan


def _figures(metrics: Mapping[str, Figures]) -> dict[str, Any]:
    return {
        name: {
            key: value if isinstance(value, int | list | str) else _number(value)
            for key, value in figures.items()
        }
        for name, figures in metrics.items()
    }


def _number(value: float) -> float | None:
    """Rounded to nine digits; None for NaN and infinity."""
    return round(value, 9) if math.isfinite(value) else None
