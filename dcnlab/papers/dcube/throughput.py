"""DCube (Guo et al.), Figure 5: aggregate bottleneck throughput (ABT) beside DCell and HCN, and failures."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from dcnlab.evaluator.cost import comparison
from dcnlab.evaluator.reporting.charts import Chart, Series
from dcnlab.evaluator.sweep import Point, measure
from dcnlab.papers.claim import Claim, Experiment, Relation, Row

_PAPER = "Guo et al., DCube"
_FIG5 = "Section 5, Fig. 5, 'We can see from Fig. 5'"
_FAILING = "Section 1, 'Mathematical analysis and simulation results show'"
_GRACEFUL = "Abstract, 'graceful performance degradation'; no figure"
_HOW = (
    "all-to-all traffic between the servers that are up (the paper: traffic of a real data center), split"
    " evenly over the next hops of all shortest paths; link capacity 1"
)
_NO_MORE = "graceful read as: no larger share is lost than fails"
_SIZES = (2048, 4096, 8192, 12288)
_SHARES, _SEEDS = (0.1, 0.2), (1, 2)


@cache
def networks(servers: int) -> dict[str, str]:
    """The specifications of the compared networks of about ``servers`` servers."""
    specs = [design.name for design in comparison(servers) if " " not in design.name]
    cube, bcube, dcell, hcn = specs
    return {"H-DCube": cube, "M-DCube": f"m{cube[1:]}", "DCell": dcell, "HCN": hcn, "BCube": bcube}


@cache
def abt(topology: str, kind: str = "", share: float = 0.0, seed: int = 1) -> float:
    """The all-to-all ABT over all shortest paths with a share of the servers or switches down."""
    return float(measure(Point(topology, "ecmp", kind, share, seed, "split"))["abt"])


def mean_abt(topology: str, kind: str, share: float) -> float:
    """The mean ABT over the seeds."""
    return float(np.mean([abt(topology, kind, share, seed) for seed in _SEEDS])) if share else abt(topology)


def _claim(
    name: str, source: str, statement: str, printed: float | None = None, relation: Relation = "=",
    how: str = _HOW,
) -> Claim:  # fmt: skip
    return Claim(name, _PAPER, statement, printed, how, relation, source=source)


def _comparison() -> Iterator[Row]:
    for name in ("H-DCube", "DCell", "HCN"):
        spec = networks(2048)[name]
        claim = _claim(f"abt-{name}", f"{_FIG5}; drawn", f"ABT of {spec}")
        yield Row(claim, abt(spec))
        claim = _claim(
            f"abt-{name}-10", f"{_FAILING}; no figure", f"ABT of {spec}, 10% of the servers down, seed 1",
        )  # fmt: skip
        yield Row(claim, abt(spec, "servers", 0.1))
    for size in _SIZES:
        for mine in ("H-DCube", "M-DCube"):
            for other in ("DCell", "HCN"):
                a, b = networks(size)[mine], networks(size)[other]
                statement = f"ABT of {a} divided by that of {b} is above 1"
                yield Row(_claim(f"{mine}-{other}-{size}", _FIG5, statement, 1, ">"), abt(a) / abt(b))


def _failures() -> Iterator[Row]:
    how = f"{_HOW}; mean over {len(_SEEDS)} seeds"
    for kind in ("servers", "switches"):
        for share in _SHARES:
            other = mean_abt(networks(2048)["DCell"], kind, share)
            for mine in ("H-DCube", "M-DCube"):
                spec = networks(2048)[mine]
                left = mean_abt(spec, kind, share)
                what = f"when {share:.0%} of the {kind} failed"
                statement = f"ABT of {spec} divided by that of {networks(2048)['DCell']} {what} is above 1"
                yield Row(
                    _claim(f"{mine}-{kind}-{share}-dcell", _FAILING, statement, 1, ">", how=how), left / other
                )
                statement = f"{spec}: remaining share of the ABT {what}"
                claim = _claim(
                    f"{mine}-{kind}-{share}", _GRACEFUL, statement, 1 - share, ">=", f"{how}; {_NO_MORE}"
                )
                yield Row(claim, left / abt(spec))


def _rows() -> Iterator[Row]:
    yield from _comparison()
    yield from _failures()


def _charts() -> tuple[Chart, ...]:
    names = ("H-DCube", "M-DCube", "DCell", "HCN")
    curves = tuple(Series(name, _SIZES, tuple(abt(networks(s)[name]) for s in _SIZES)) for name in names)
    label = "all-to-all ABT (link capacity 1)"
    caption = "split evenly over all shortest paths"
    charts = [Chart("ABT (Fig. 5)", "servers (nominal)", label, curves, caption)]
    shares = (0.0, *_SHARES)
    percent = tuple(100 * share for share in shares)
    for kind in ("servers", "switches"):
        curves = tuple(
            Series(name, percent, tuple(mean_abt(spec, kind, share) for share in shares))
            for name, spec in networks(2048).items()
            if name in names
        )
        title = f"ABT under failures of {kind}, 2048 servers"
        charts.append(Chart(title, f"{kind} failed, %", label, curves, f"{caption}; {len(_SEEDS)} seeds"))
    return tuple(charts)


EXPERIMENTS = (Experiment("dcube-fig5", _PAPER, "ABT compared with DCell and HCN (Fig. 5)", _rows, _charts),)
