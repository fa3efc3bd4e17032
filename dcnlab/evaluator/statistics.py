"""Means with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit  # scipy.stats has it too, and takes half a second to import

#: Figures that are shares: the last part of their names.
SHARES = frozenset({"delivered", "of_optimum", "of_optimal", "loss", "lost_share"})


def is_share(figure: str) -> bool:
    """Whether a figure, such as ``loss`` or ``flows.delivered``, is a share from 0 to 1."""
    return figure.rpartition(".")[2] in SHARES


def interval(mean: float, half: float, *, share: bool, sign: str = "+-") -> str:
    """A mean with its 95 % interval, ``3.1 +- 0.2``; a share's ends at 0 and at 1: ``0.98 (0.93 to 1)``."""
    if not half:
        return f"{mean:.4g}"
    if share and not half <= mean <= 1 - half:
        return f"{mean:.4g} ({max(0.0, mean - half):.2g} to {min(1.0, mean + half):.2g})"
    return f"{mean:.4g} {sign} {half:.2g}"


def t_quantile(share: float, freedom: int) -> float:
    """The quantile of Student's t distribution with so many degrees of freedom."""
    return float(stdtrit(freedom, share))


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and half its 95 % confidence interval (Student's t); NaN for fewer than two values."""
    error = float(np.std(values, ddof=1)) / len(values) ** 0.5
    return float(np.mean(values)), t_quantile(0.975, len(values) - 1) * error


def mean_and_half(values: Sequence[float]) -> tuple[float, float]:
    """The mean and half its 95 % interval; 0 for a single value, and for a rounding error."""
    mean, half = mean_and_error(values) if len(values) > 1 else (values[0], 0.0)
    return mean, half if half > 1e-9 * abs(mean) else 0.0
