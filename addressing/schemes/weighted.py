"""Shortest paths by the costs of links, as OSPF computes them: one entry per destination at every node.

The costs are those that a file states (``weight``, ``cost`` or ``metric``), or follow from the delays or the
rates of its links.  A link without one costs 1; costs are exact to a thousandth.  Flows are hashed over all
paths of least cost, as in ``ecmp``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from addressing.algorithms.least_costs import LeastCosts
from addressing.header import Action, Forward, NextHops, drop, uniform
from addressing.scheme import NumberedScheme
from topos.fabric import Fabric
from topos.family import Family, ParameterError, param
from topos.files import link_attributes
from topos.graph import LinkState

#: The rate whose cost is 1, in bit/s, as in today's configurations of OSPF (RFC 2328 leaves it open).
_REFERENCE_RATE = 100e9
#: Costs are whole multiples of this.
_UNIT = 1e-3
#: So many costs can be added without rounding.
_HIGHEST = 2**40


@dataclass(frozen=True)
class Weighted(NumberedScheme):
    """A label is the server's number; the next hops are all ports on paths of least cost."""

    name: ClassVar[str] = "weighted"
    summary: ClassVar[str] = "shortest paths by costs of links; flows hashed over all of least cost"
    source: ClassVar[str] = "RFC 2328, section 16"
    ordered_by_distance = True

    by: str = param(
        "what a link costs: what the file states, its delay in ms, or 100 Gbit/s over its rate",
        choices=("cost", "delay", "rate"),
        default="cost",
    )

    @classmethod
    def incompatibility(cls, family: Family) -> str | None:
        if type(family).link_attributes is Family.link_attributes:
            return "all its links cost the same: ecmp does that"
        return None

    def towards(self, at: int, server: int, links: LinkState) -> NextHops:
        ports = self.least_costs.next_hop_ports(at, server, links)
        actions: list[Action] = [Forward(port) for port in ports]
        return uniform(actions) if actions else drop("no port on a path of least cost is up")

    def prepare_tables(self, nodes: Sequence[int]) -> None:
        self.least_costs.prepare(range(self.fabric.servers))

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.costs  # refused here, in one line, where a file states what is no cost

    @property
    def costs(self) -> NDArray[np.int64]:
        """The cost of each link in thousandths, at least one."""
        return _costs(self.fabric, self.by)

    @cached_property
    def least_costs(self) -> LeastCosts:
        """Paths of least cost over the links known to be up."""
        return LeastCosts(self.fabric, self.costs, self.known)


@lru_cache(maxsize=8)
def _costs(fabric: Fabric, by: str) -> NDArray[np.int64]:
    """Of a scheme and of what follows from it when failures become known."""
    cost = _COSTS[by]
    stated = [cost(fabric.attributes(link)) for link in range(len(fabric.link_ends))]
    return np.array([max(1, round(each / _UNIT)) for each in stated], dtype=np.int64)


def _stated(attributes: Mapping[str, Any]) -> float:
    value = next((attributes[name] for name in link_attributes.COSTS if attributes.get(name) is not None), 1.0)
    return _checked(value, "a link's cost")


def _delay(attributes: Mapping[str, Any]) -> float:
    delay = attributes.get("delay")
    return 1.0 if delay is None else _checked(link_attributes.milliseconds(delay), "a link's delay")


def _by_rate(attributes: Mapping[str, Any]) -> float:
    rate = attributes.get("rate")
    bits = None if rate is None else link_attributes.bits_per_second(rate)
    return 1.0 if not bits else _checked(_REFERENCE_RATE / bits, "a link's cost")


def _checked(value: object, what: str) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = -1.0
    if not 0 <= number * (1 / _UNIT) < _HIGHEST:
        raise ParameterError(
            f"weighted: {what} must be a number from 0 to {_HIGHEST * _UNIT:.0f}, not {value!r}"
        )
    return number


_COSTS = {"cost": _stated, "delay": _delay, "rate": _by_rate}
