"""Means with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit  # scipy.stats has it too, and takes half a second to import


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
