"""The figures and the page of a comparison: schemes by colour, failures by line style, means over seeds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from dcnlab.evaluator.averages import Average, Combination, Row, combinations, seeds_text
from dcnlab.evaluator.reporting.charts import Chart, Panels, Series
from dcnlab.evaluator.reporting.report import Section, page
from dcnlab.evaluator.traffic.latency import Settings
from topos.registry import parse
from topos.spec import SpecError

#: The parameters of the latency simulation, for captions.
_SETTINGS = (
    f"{Settings.rate / 1e9:g} Gb/s, {Settings.packet} B, buffers of {Settings.buffer}, on/off;"
    f" {Settings.processing // 1000} + {Settings.propagation // 1000} µs per hop"
)
#: The parameters in the captions of all charts, and their labels.
_PARAMETERS = {
    "pairs": "pairs:",
    "hops": "path length in",
    "failure_knowledge": "routing recomputed after failures:",
    "traffic": "traffic:",
}
_MOST_COLUMNS = 3
#: The columns of the comparison's table and their headings.
_COLUMNS = {
    "topology": "topology",
    "scheme": "scheme",
    "traffic": "traffic",
    "failures": "failures",
    "delivered": "delivered",
    "path.mean": "mean path, links",
    "path.max": "longest path",
    "stretch.mean": "mean stretch",
    "stretch.cdf.2": "P(stretch <= 2)",
    "table.entries_max": "table entries, max",
    "table.entries_mean": "table entries, mean",
    "table.bits_max": "table bits",
    "table.label_bits_max": "label bits",
    "throughput.aggregate": "throughput, link rates",
    "throughput.abt": "ABT, link rates",
    "loads.max": "max link load",
    "latency.load": "offered load",
    "latency.mean_us": "mean latency, µs",
    "latency.p99_us": "99th percentile, µs",
    "latency.throughput": "throughput per server",
    "latency.loss": "loss",
    "bisection.found": "bisection, best cut found",
    "bisection.bound": "bisection, lower bound",
    "diversity.mean": "edge-disjoint paths",
}
#: Figures whose value grows with the network: drawn per server where the sizes differ.
_TOTALS = {"throughput.abt": "ABT", "throughput.aggregate": "throughput"}


#: Reads a figure of a combination.
Read = Callable[[Combination, str], Average | None]


@dataclass(frozen=True)
class Figures:
    """What is drawn, and what is not because all its values are equal."""

    drawn: tuple[Chart | Panels, ...]
    equal: tuple[str, ...]


def comparison(rows: Sequence[Row], title: str = "Comparison") -> str:
    """The page for the rows of :func:`dcnlab.evaluator.compare.compare`."""
    return page(title, sections(rows))


def sections(rows: Sequence[Row]) -> list[Section]:
    """Figures, then means over the seeds, then evaluations that failed."""
    failed = [row for row in rows if "error" in row]
    comparison = figures([row for row in rows if "error" not in row])
    text = f"{_grid_summary(rows)}; {_caption(rows)}." if rows else "No evaluations were requested."
    if comparison.equal:
        text += f" Not drawn, because equal everywhere: {'; '.join(comparison.equal)}."
    header, table = means(rows)
    parts = [Section("Figures", text, charts=comparison.drawn), Section("Results", header=header, rows=table)]
    if failed:
        problems = tuple((row["topology"], row["scheme"], row["error"]) for row in failed)
        parts.append(Section("Failed evaluations", header=("topology", "scheme", "error"), rows=problems))
    return parts


def means(rows: Sequence[Row]) -> tuple[tuple[str, ...], tuple[tuple[object, ...], ...]]:
    """The header of the table, and a line per combination: means over the seeds with 95 % intervals."""
    all_combinations = combinations(rows)
    known = {key for row in rows if "error" not in row for key in row}
    if len({one.traffic for one in all_combinations}) < 2:
        known -= {"traffic"}
    shown = [key for key in _COLUMNS if key in known]
    lines = tuple((*(one.value(key) for key in shown), len(one.rows)) for one in all_combinations)
    return (*(_COLUMNS[key] for key in shown), "seeds"), lines


def _grid_summary(rows: Sequence[Row]) -> str:
    """The grid of evaluations in words."""
    parts = []
    for key, words in (("topology", "topologies"), ("scheme", "schemes"), ("failures", "failures")):
        parts.append(f"{words} {', '.join(dict.fromkeys(row[key] or 'none' for row in rows))}")
    return f"{len(rows)} evaluations: {'; '.join(parts)}"


def charts(rows: Sequence[Row]) -> tuple[Chart | Panels, ...]:
    """The figures: see :func:`figures`."""
    return figures(rows).drawn


def figures(rows: Sequence[Row]) -> Figures:
    """Stretch distributions, and figures over size, failures and load where the rows vary in these."""
    every = combinations(rows)
    # Figures that do not depend on traffic and load are repeated in the rows of each.
    once = list({(one.topology, one.scheme, one.failures): one for one in every}.values())
    caption = _caption(rows)
    broken = len({one.failures for one in every}) > 1
    wanted = [_stretch(once), *_tables(once), *(_over_failures(once) if broken else _over_topologies(once))]
    for pattern, said in _patterns(every).items():
        some = [one for one in every if one.traffic == pattern]
        wanted += [replace(one, title=one.title + said) for one in _of_traffic(some, broken)]
    drawn, equal = [], []
    for one in wanted:
        charts = [replace(chart, caption="") for chart in one.charts]
        if any(chart.differs() for chart in charts):
            drawn.append(_arranged(replace(one, caption=". ".join(filter(None, (caption, one.caption))))))
        elif any(chart.series for chart in charts):
            equal.append(f"{one.title.lower()} ({charts[0].everywhere()})")
    return Figures(tuple(drawn), tuple(equal))


def _patterns(every: Sequence[Combination]) -> dict[str, str]:
    """Each traffic pattern, and what titles say of it: nothing where there is only one."""
    patterns = dict.fromkeys(one.traffic for one in every)
    return {pattern: f", {pattern}" if len(patterns) > 1 else "" for pattern in patterns}


def _of_traffic(some: Sequence[Combination], broken: bool) -> Iterator[Panels]:
    """Figures that depend on the traffic: totals, and those over the load."""
    once = list({(one.topology, one.scheme, one.failures): one for one in some}.values())
    for key in _TOTALS:
        yield from _normalised(once, key, _failing if broken else _by_category, " under failures" * broken)
    if len({one.load for one in some}) > 1:
        yield from _over_loads(some)


def _arranged(panels: Panels) -> Chart | Panels:
    """A figure of the charts that have curves; of one chart without panels."""
    shown = [chart for chart in panels.charts if chart.series and (chart.differs() or not chart.steps)]
    if len(shown) > 1:
        return replace(panels, charts=tuple(shown), columns=min(_MOST_COLUMNS, len(shown)))
    of = f": {shown[0].title}" if shown[0].title else ""
    return replace(shown[0], title=panels.title + of, caption=panels.caption)


def _stretch(combined: Sequence[Combination]) -> Panels:
    """The distribution of stretch per topology, as means over the seeds; curves at 1 everywhere are named."""
    drawn: list[Chart] = []
    flat, bent = dict[str, list[str]](), set[str]()
    for topology, some in _by_topology(combined):
        curves = [(one, _distribution(one)) for one in some]
        for one, series in curves:
            if set(series.x) == {1.0}:
                flat.setdefault(one.scheme, []).append(f"{series.label} on {topology}")
            else:
                bent.add(one.scheme)
        shown = [series for _, series in curves if set(series.x) > {1.0} or min(series.x, default=1.0) > 1]
        drawn.append(_chart(combined, topology, "stretch", "share of pairs", shown, steps=True))
    named = [scheme if scheme not in bent else ", ".join(places) for scheme, places in flat.items()]
    return Panels("Stretch", tuple(drawn), 1, f"stretch 1 for every pair: {', '.join(named)}" if named else "")


def _distribution(one: Combination) -> Series:
    """The mean over the seeds of the share of pairs, at each stretch that occurs."""
    of_seeds = [steps for row in one.rows if (steps := row["stretch.steps"])]
    values = tuple(sorted({at for steps in of_seeds for at, _ in steps}))
    shares = tuple(
        fmean(max((share for at, share in steps if at <= value), default=0.0) for steps in of_seeds)
        for value in values
    )
    label = " ".join(filter(None, (one.scheme, one.failures)))
    return Series(label, values, shares, group=one.scheme, style=one.failures)


def _by_topology(combined: Sequence[Combination]) -> list[tuple[str, list[Combination]]]:
    names = dict.fromkeys(one.topology for one in combined)
    return [(name, [one for one in combined if one.topology == name]) for name in names]


def _chart(
    combined: Sequence[Combination],
    title: str,
    x_label: str,
    y_label: str,
    series: Sequence[Series],
    steps: bool = False,
) -> Chart:
    """A panel, with the colours and line styles of the whole page."""
    groups = tuple(dict.fromkeys(one.scheme for one in combined))
    styles = tuple(dict.fromkeys(one.style for one in series))
    if any(one.failures for one in combined) and set(styles) <= {one.failures for one in combined}:
        styles = tuple(dict.fromkeys(one.failures for one in combined))
    return Chart(title, x_label, y_label, tuple(series), steps=steps, groups=groups, styles=styles)


def _tables(combined: Sequence[Combination]) -> Iterator[Panels]:
    """The largest table without failures: of families in several sizes over the size, else by topology."""
    key = "table.entries_max"
    intact = [one for one in combined if not one.failures]
    groups: dict[tuple[str, str], list[Combination]] = {}
    for one in intact:
        groups.setdefault((one.topology.partition(":")[0], one.scheme), []).append(one)
    curves = []
    for (family, scheme), some in groups.items():
        series = _line(f"{family}, {scheme}", some, "servers", key, group=scheme, style=family)
        if len(series.x) > 1 and min(series.y) > 0:
            curves.append(series)
    if curves:
        chart = _chart(intact, "", "servers", "entries", curves)
        yield Panels("Largest table", (replace(chart, log_x=True, log_y=True),), 1)
    else:
        yield Panels("Largest table", (_categories(intact, key, "entries"),), 1)


def _over_topologies(combined: Sequence[Combination]) -> Iterator[Panels]:
    """Without failures: the mean path by topology."""
    yield Panels("Mean path", (_categories(combined, "path.mean", "links"),), 1)


def _by_category(combined: Sequence[Combination], key: str, label: str, read: Read) -> tuple[Chart, ...]:
    return (_categories(combined, key, label, read),)


def _categories(
    combined: Sequence[Combination], key: str, label: str, value: Read = Combination.average
) -> Chart:
    """A figure by topology, with a point per scheme."""
    names = tuple(dict.fromkeys(one.topology for one in combined))
    curves = []
    for scheme in dict.fromkeys(one.scheme for one in combined):
        points = [
            (float(names.index(one.topology)), average)
            for one in combined
            if one.scheme == scheme and (average := value(one, key))
        ]
        curves.append(_points(scheme, points, group=scheme))
    some = tuple(series for series in curves if series.x)
    values = [y for series in some for y in series.y if y > 0]
    wide = bool(values) and max(values) > 20 * min(values)
    return replace(_chart(combined, "", "", label, some), names=names, log_y=wide)


def _over_failures(combined: Sequence[Combination]) -> Iterator[Panels]:
    for key, title, unit in (
        ("path.mean", "Mean path", "links"),
        ("delivered", "Share of pairs delivered", ""),
        ("stretch.mean", "Mean stretch", ""),
    ):
        label = f"{title.lower()} ({unit})" if unit else title.lower()
        yield Panels(f"{title} under failures", _failing(combined, key, label, Combination.average), 1)


def _normalised(
    combined: Sequence[Combination],
    key: str,
    draw: Callable[[Sequence[Combination], str, str, Read], tuple[Chart, ...]],
    when: str = "",
) -> Iterator[Panels]:
    """A total in link rates; where the networks differ in size, per server and per 1000 dollars, and the
    captions say how large and how expensive they are."""
    servers = {one.topology: float(one.rows[0].get("servers") or 1) for one in combined}
    name = _TOTALS[key]
    scales: list[tuple[str, str, Mapping[str, float]]] = [("", "", dict.fromkeys(servers, 1.0))]
    if len(set(servers.values())) > 1:
        scales = [(" per server", "servers", servers)]
        if prices := _prices(servers):
            scales.append((" per 1000 dollars", "thousands of dollars (`dcnlab cost`)", prices))
    for per, words, sizes in scales:
        listed = ", ".join(f"{topology} {size:,.6g}" for topology, size in sizes.items())
        label = f"{name}{per} (in link rates)"
        title = f"{name[0].upper()}{name[1:]}{per}{when}"
        caption = f"{words}: {listed}" if words else ""
        yield Panels(title, draw(combined, key, label, _divided(sizes)), 1, caption)


def _divided(sizes: Mapping[str, float]) -> Read:
    """Reads a total divided by the size of its network."""

    def read(one: Combination, key: str) -> Average | None:
        whole, size = one.average(key), sizes[one.topology]
        return whole and Average(whole.mean / size, whole.half / size)

    return read


def _prices(topologies: Iterable[str]) -> dict[str, float]:
    """Thousands of dollars per network; empty where one of them has no price."""
    from dcnlab.evaluator.cost import bill, design, read_prices  # price lists: only for this

    known = read_prices()
    try:
        return {one: bill(design(parse(one)), known).price / 1000 for one in topologies}
    except SpecError:
        return {}


def _failing(combined: Sequence[Combination], key: str, label: str, read: Read) -> tuple[Chart, ...]:
    """A panel per topology over the share of links that are down: a line style per kind of failure."""
    kinds = list(dict.fromkeys(_kind(one) for one in combined if one.failures))
    drawn = []
    for topology, some in _by_topology(combined):
        curves = []
        for scheme in dict.fromkeys(one.scheme for one in some):
            for kind in kinds:
                mine = [
                    one for one in some if one.scheme == scheme and (not one.failures or _kind(one) == kind)
                ]
                points = [(100 * _mean(one, "failed_share"), y) for one in mine if (y := read(one, key))]
                label_of = f"{scheme}, {kind}" if len(kinds) > 1 else scheme
                curves.append(_points(label_of, points, group=scheme, style=kind))
        drawn.append(_chart(combined, topology, "links down, %", label, [one for one in curves if one.x]))
    return tuple(drawn)


def _kind(one: Combination) -> str:
    """What fails, without how much: ``links``, or ``links,switches``."""
    return re.sub(r"=[^,]*", "", one.failures)


def _mean(one: Combination, key: str) -> float:
    average = one.average(key)
    return average.mean if average else 0.0


def _over_loads(combined: Sequence[Combination]) -> Iterator[Panels]:
    over = {
        "mean_us": "mean latency (µs)",
        "p99_us": "99th percentile of latency (µs)",
        "throughput": "throughput per server (in link rates)",
        "loss": "share of packets lost",
    }
    for key, label in over.items():
        drawn = []
        for topology, some in _by_topology(combined):
            names = dict.fromkeys((one.scheme, one.failures) for one in some)
            curves = [
                _line(" ".join(filter(None, name)), [one for one in some if (one.scheme, one.failures) == name],
                      "latency.load", f"latency.{key}", group=name[0], style=name[1])
                for name in names
            ]  # fmt: skip
            shown = [series for series in curves if series.x]
            drawn.append(_chart(combined, topology, "offered load per server (in link rates)", label, shown))
        yield Panels(label.partition(" (")[0].capitalize(), tuple(drawn), 1, _SETTINGS)


def _line(label: str, some: Sequence[Combination], x: str, y: str, group: str, style: str) -> Series:
    points = [
        (at.mean, value) for one in some if (at := one.average(x)) and (value := one.average(y))
    ]  # fmt: skip
    return _points(label, points, group=group, style=style)


def _points(label: str, points: Sequence[tuple[float, Average]], group: str, style: str = "") -> Series:
    """A curve from left to right, with its intervals where there are any."""
    ordered = sorted(points, key=lambda point: point[0])
    halves = tuple(value.half for _, value in ordered)
    return Series(
        label, tuple(x for x, _ in ordered), tuple(value.mean for _, value in ordered),
        halves if any(halves) else (), group, style,
    )  # fmt: skip


def _caption(rows: Sequence[Row]) -> str:
    parts = []
    for key, words in _PARAMETERS.items():
        values = sorted({str(row[key]) for row in rows if row.get(key)})
        if values:
            parts.append(f"{words} {', '.join(values)}")
    return "; ".join((*parts, seeds_text(rows)))
