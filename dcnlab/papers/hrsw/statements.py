"""HR-SW (Kieu et al.): sentences without a number about path lengths and tables."""

from __future__ import annotations

from collections.abc import Iterator

from dcnlab.papers.claim import Claim, Experiment, Row
from dcnlab.papers.hrsw.comparison import measured
from dcnlab.papers.hrsw.small_worlds import PAPER
from dcnlab.papers.measure import scheme_or_none

#: Grids of clusters of 64 x 64 switches, from 1 cluster to 4096.
_GRIDS = ("1x1", "2x2", "4x4", "8x8", "16x16", "32x32", "64x64")


def entries(grid: str, scheme: str = "hrsw") -> int:
    """The entries of a switch of 64 x 64 switches with a grid of clusters; all switches have as many."""
    bound = scheme_or_none(f"smallworld:64x64,clusters={grid},hosts=1", scheme)
    assert bound is not None
    return sum(1 for _ in bound.forwarding_classes(bound.fabric.servers))


def _rows() -> Iterator[Row]:
    claim = Claim(
        "similar", PAPER, "average path of HR-SW divided by that of TZ-Random, 8192 switches", 1,
        "all switches to 512 random ones, seed 1; similar read as within 10 %", tolerance=0.1,
        source="section I, second contribution; section IV-B",
    )  # fmt: skip
    ours, theirs = (measured(name, 8192).mean for name in ("HR-SW, 16 clusters", "TZ-Random"))
    yield Row(claim, ours / theirs)
    sizes = {int(grid.split("x")[0]) ** 2: entries(grid) for grid in _GRIDS}
    claim = Claim(
        "least", PAPER, "clusters with the smallest table, 4096 switches", 64,
        f"the entries of a switch, of {', '.join(map(str, sizes))} clusters",
        source="section IV-A: c = sqrt(n)",
    )  # fmt: skip
    yield Row(claim, min(sizes, key=lambda count: sizes[count]))
    claim = Claim(
        "same", PAPER, "table of the set mode over that of HR-SW, 4096 switches, 16 clusters", 1,
        "the entries of a switch", source="section IV-B: all hierarchical schemes need the same table",
    )  # fmt: skip
    yield Row(claim, entries("4x4", "hrsw-set") / entries("4x4"))


EXPERIMENTS = (Experiment("hrsw-statements", PAPER, "path lengths and tables, without numbers", _rows),)
