"""WMGR (Aguirre-Guerrero et al.), sections II and V-D: the size of Diff, and permutation sort."""

from __future__ import annotations

from collections.abc import Iterator

from dcnlab.papers import oracles
from dcnlab.papers.claim import Claim, Experiment, Independent, Row
from dcnlab.papers.measure import routed
from dcnlab.papers.wmgr.states import states

_PAPER = "Aguirre-Guerrero et al., WMGR"


def _ball_sizes() -> Iterator[Row]:
    for family, size in (("hypercube", 10), ("bubblesort", 5), ("transposition", 5), ("star", 5)):
        spec, order = f"{family}:{size}", "colex" if family == "transposition" else "natural"
        found = states(spec, order)[0]
        nearest = min(
            (oracles.ball(family, size, radius) for radius in range(20)), key=lambda n: abs(n - found)
        )
        claim = Claim(
            f"ball-{spec}", _PAPER, f"{spec}: states of Diff; the nearest ball has {nearest:g} nodes", nearest,
            "Definition 15; balls by the oracle ball", source="section V-D: |sigma_Diff| = |B(Id, k)|",
        )  # fmt: skip
        yield Row(claim, found, independent=Independent.by(oracles.word_differences, family, size))


def _sorts() -> Iterator[Row]:
    for spec in ("hypercube:6", "butterfly:4", "star:5", "pancake:5"):
        lengths = routed(spec, "permsort")
        claim = Claim(
            f"sort-{spec}", _PAPER, f"{spec}: largest stretch of permutation sort", 1,
            "exact over all pairs; the scheme permsort", "<=", source="section II",
        )  # fmt: skip
        yield Row(claim, None if lengths is None else lengths.stretch_max)


def _rows() -> Iterator[Row]:
    yield from _ball_sizes()
    yield from _sorts()


EXPERIMENTS = (Experiment("wmgr-statements", _PAPER, "the size of Diff, and permutation sort", _rows),)
