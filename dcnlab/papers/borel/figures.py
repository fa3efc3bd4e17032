"""Borel Cayley graphs (Tang and Arden), Figures 3 and 4: the densest graphs (set 1) of Tables 3 and 4.

Section 4.7 says that the figures plot the average path and the distribution of path lengths.  The
plots and their captions are not available to us; we take Figure 3 for the averages and Figure 4
for the distribution.  The averages are printed in Tables 3 and 4; of the distribution the paper
prints no number besides the longest paths, which are in these tables too.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dcnlab.evaluator.graph.distances import distances
from dcnlab.evaluator.graph.hop_graph import hop_graph
from dcnlab.evaluator.reporting.charts import Chart, Series
from dcnlab.papers.borel.tables import PAPER, ROWS, SCHEMES, TABLE_3, TABLE_4, PaperTable, lengths
from dcnlab.papers.claim import Claim, Experiment, Row
from dcnlab.papers.measure import from_node
from topos.registry import fabric

_HOW = "exact from vertex 0"
_TABLES = (TABLE_3, TABLE_4)
_TEXT = "section 4.7 (the paragraph after Table 3)"


def _averages() -> Iterator[Row]:
    for table in _TABLES:
        first = table.columns[0]
        topology, where = table.spec(first), table.where(first)
        _, mean = from_node(fabric(topology))
        printed = {"shortest": first.average} | {name: first.schemes[name][1] for name in SCHEMES}
        measured = {"shortest": mean} | {name: lengths(topology, name).path_mean for name in SCHEMES}
        for name, value in printed.items():
            row = "avg (optimal)" if name == "shortest" else f"{ROWS[name]}, avg"
            claim = Claim(
                f"{topology}-{name}", PAPER, f"average path of {name}, {where}", value, _HOW, tolerance=0.005,
                source=f"Figure 3; the number is in {table.source(first, row)}; {_TEXT}",
            )  # fmt: skip
            yield Row(claim, measured[name])


def _average_charts() -> tuple[Chart, ...]:
    charts = []
    depths = (1.0, 2.0, 3.0, 4.0)
    for table in _TABLES:
        first = table.columns[0]
        topology = table.spec(first)
        routing = tuple(lengths(topology, name).path_mean for name in SCHEMES[:-1])
        flat = {
            "Two-Phase": lengths(topology, "twophase").path_mean,
            "shortest": from_node(fabric(topology))[1],
        }
        curves = [Series("CR", depths, routing), *(Series(n, depths, (y,) * 4) for n, y in flat.items())]
        title = f"Average path, {fabric(topology).size:,} nodes"
        charts.append(Chart(title, "look-ahead d", "hops", tuple(curves), f"{table.where(first)}; {_HOW}"))
    return tuple(charts)


def shares(table: PaperTable) -> dict[str, NDArray[np.float64]]:
    """Per scheme of set 1, and for shortest paths: the share of destinations by path length, per cent."""
    topology = table.spec(table.columns[0])
    counts = {"shortest": distances(hop_graph(fabric(topology)), [0]).histogram.astype(np.float64)}
    counts |= {name: lengths(topology, name).joint.sum(axis=1) for name in SCHEMES}
    return {name: 100 * count / count.sum() for name, count in counts.items()}


def _distribution() -> Iterator[Row]:
    for table in _TABLES:
        first = table.columns[0]
        where = table.where(first)
        for name, share in shares(table).items():
            mode = int(share.argmax())
            for words, value in (("most frequent path length", mode), ("share of it, per cent", share[mode])):
                claim = Claim(
                    f"{table.spec(first)}-{name}-{words}", PAPER, f"{words}: {name}, {where}", None, _HOW,
                    source=f"Figure 4, without numbers in the text; {_TEXT}",
                )  # fmt: skip
                yield Row(claim, float(value))


def _distribution_charts() -> tuple[Chart, ...]:
    charts = []
    for table in _TABLES:
        first = table.columns[0]
        curves = tuple(
            Series(name, tuple(float(hops) for hops in np.flatnonzero(share)), tuple(share[share > 0].tolist()))
            for name, share in shares(table).items()
        )
        title = f"Distribution of path lengths, {fabric(table.spec(first)).size:,} nodes"
        caption = f"{table.where(first)}; {_HOW}"
        charts.append(Chart(title, "hops", "destinations, per cent", curves, caption, log_x=True))
    return tuple(charts)


EXPERIMENTS = (
    Experiment("borel-fig3", PAPER, "average paths on the densest graphs", _averages, _average_charts),
    Experiment("borel-fig4", PAPER, "path lengths on the densest graphs", _distribution, _distribution_charts),
)
