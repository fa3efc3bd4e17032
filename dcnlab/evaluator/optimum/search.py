"""The two bounds while a search runs, its prices, and how sharply these follow the loads."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dcnlab.evaluator.optimum.problem import Problem
from topos.arrays import Floats

#: Called with the lower and the upper bound after every round.
Progress = Callable[[float, float], None]

#: What the price of an arc without load is, beside 1 for the fullest arc, each per capacity.
FLOOR = 1e-6
#: Prices are exp(sharpness * (load / largest load - 1)) per capacity.
_FIRST_SHARPNESS = 30.0
_SHARPER = 1.25


def unfollowed(lower: float, upper: float) -> None:
    """Progress that nobody follows."""


class Bounds:
    """What a search knows: a feasible flow and prices, with the bounds that follow from them."""

    def __init__(self, problem: Problem, gap: float, progress: Progress = unfollowed) -> None:
        self.capacity, self.gap = problem.network.capacity, gap
        self.lower, self.upper, self.rounds = 0.0, problem.limit, 0
        self.loads = np.zeros(0)
        self.prices = even_prices(self.capacity)
        self.sharpness = _FIRST_SHARPNESS
        self.top = math.inf
        self._limit, self._progress = problem.limit, progress
        self._by_prices = math.inf

    def feasible(self, loads: Floats) -> bool:
        """``loads`` of arcs of a flow of all demands: scaled to the capacities, it is a lower bound.

        True when it is the best so far.
        """
        self.top = float((loads / self.capacity).max())
        carried = min(1 / self.top, self._limit)
        better = carried > self.lower
        if better:
            self.lower, self.loads = carried, loads.copy()
        return better

    def priced(self, prices: Floats, cost: float) -> None:
        """``cost`` is the sum of demand * distance under ``prices``, and sum(capacity * price) = 1: 1 / cost is
        an upper bound."""
        if 1 / cost < self._by_prices:
            self._by_prices, self.prices = 1 / cost, prices
            self.upper = min(self.upper, self._by_prices)

    def met(self) -> bool:
        """Whether the bounds are as close as asked for; tells the progress."""
        self._progress(self.lower, self.upper)
        return self.upper <= self.lower * (1 + self.gap)

    def prices_of(self, loads: Floats) -> Floats:
        """Prices that follow ``loads``, with sum(capacity * price) = 1."""
        steep = np.exp(self.sharpness * (loads / self.capacity / self.top - 1)) + FLOOR
        return np.asarray(steep / self.capacity / steep.sum())

    def sharpen(self, loads: Floats, prices: Floats, cost: float) -> float:
        """Follow the loads more sharply once the flow fits its prices better than these fit the loads.

        The gap is the product of two ratios: largest load to priced mean load, and cost paid to least cost.
        Returns the latter.
        """
        mean = float(prices @ loads)
        smooth, paid = self.top / mean - 1, mean / cost
        if smooth > 0.4 * self.gap and paid - 1 < 2 * smooth:
            self.sharpness = min(_SHARPER * self.sharpness, 3 / self.gap)
        return paid


def even_prices(capacity: Floats) -> Floats:
    """The same price per capacity everywhere: sum(capacity * price) = 1."""
    return np.asarray(1 / capacity / len(capacity))
