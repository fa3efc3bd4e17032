"""Instances of families of a wanted size: by servers, by a budget, or from a number of switches.

Families that take any equipment (``Family.of_equipment``: jellyfish, xpander) get the switches and the servers
of another network, as their papers compare them: those of the given network, else of the proposed fat tree.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from dcnlab.evaluator.cost import Bill, Prices, bill, design
from topos.family import Family
from topos.instances import instances
from topos.registry import known, parse
from topos.spec import SpecError, lookup
from topos.words import counted

#: What two networks have in common.
Equal = Literal["servers", "cost", "switches"]
#: The family whose equipment others take where no network is given.
_REFERENCE = "fattree"
#: Instances of one family whose price is looked at: those whose number of servers is nearest to what is wanted.
_PRICED = 10
#: A size of which no instance is near: at most this share above or below.
_FAR = 0.5
#: Where none is near, a message names instances of up to so many times the size.
_FARTHER = 16


@dataclass(frozen=True)
class Wanted:
    """Servers, dollars, or switches of a number of ports; one of the three is given."""

    servers: int = 0
    dollars: float = 0.0
    switches: int = 0
    ports: int = 0


@dataclass(frozen=True)
class Proposal:
    """An instance and its price; ``off`` is the share by which it differs from what was wanted."""

    family: Family
    bill: Bill
    off: float


def read(servers: int = 0, budget: str = "", switches: str = "") -> Wanted:
    """What the options of ``dcnlab size`` say; raises SpecError unless exactly one is given."""
    if sum(map(bool, (servers, budget, switches))) != 1:
        raise SpecError("write one of --servers 1000, --budget 200k and --switches 320x48")
    if servers:
        return Wanted(servers=servers)
    if budget:
        return Wanted(dollars=_dollars(budget))
    count, _, ports = switches.partition("x")
    if not (count.isdecimal() and ports.isdecimal() and int(count) and int(ports)):
        raise SpecError(f"--switches {switches}: write their number and their ports, such as 320x48")
    return Wanted(switches=int(count), ports=int(ports))


def _dollars(text: str) -> float:
    number, factor = text.lower().lstrip("$"), 1.0
    for letter, value in (("k", 1e3), ("m", 1e6)):
        if number.endswith(letter):
            number, factor = number[:-1], value
    try:
        dollars = float(number) * factor
    except ValueError:
        dollars = 0.0
    if not 0 < dollars <= 1e9:
        raise SpecError(f"--budget {text}: write dollars, such as 200000, 200k or 1.5M")
    return dollars


def proposals(wanted: Wanted, prices: Prices, families: Sequence[str] = ()) -> list[Proposal]:
    """The instance of each family (default: of all) that comes nearest to what is wanted, by name; families
    without one are left out.  Raises SpecError for an unknown family."""
    names = list(families) or sorted(known())
    for name in names:
        lookup(name, known(), "topology")
    proposed = {name: _nearest(name, wanted, prices) for name in names}
    if None in proposed.values() and (
        model := proposed.get(_REFERENCE) or _nearest(_REFERENCE, wanted, prices)
    ):
        for name in (name for name in names if proposed[name] is None):
            proposed[name] = _of_equipment(name, model.bill, wanted, prices)
    return [one for name in names if (one := proposed[name])]


def equal_to(reference: str, names: Sequence[str], by: Equal, prices: Prices) -> list[str]:
    """Specifications of networks that have as many servers, or as many switches of as many ports, as
    ``reference``, or cost as much: ``names`` are families, or networks, which are kept as they are.

    Raises SpecError for a family that has none.
    """
    model = bill(design(parse(reference)), prices)
    wanted = _as_large_as(model, by)
    specs = []
    for name in names:
        if ":" in name:
            specs.append(name)
            continue
        lookup(name, known(), "topology")
        one = _of_equipment(name, model, wanted, prices) or _nearest(name, wanted, prices)
        if one is None:
            said = f"--equal {by}: no {name} is near {reference} ({_in_words(wanted)})"
            raise SpecError(f"{said}: {_sizes_there_are(name, by, wanted, prices)}")
        specs.append(one.family.spec)
    return [reference, *specs]


def _as_large_as(model: Bill, by: Equal) -> Wanted:
    """What networks have that are as large as a given one."""
    if by == "servers":
        return Wanted(servers=model.design.servers)
    if by == "cost":
        return Wanted(dollars=model.price)
    return Wanted(switches=model.design.switches, ports=model.design.switch_ports)


def _sizes_there_are(name: str, by: Equal, wanted: Wanted, prices: Prices) -> str:
    """The next smaller and the next larger instance of a family, and how far they are, for a message."""
    some = [one for family in _around(name, wanted, prices) if (one := _priced(family, wanted, prices))]
    smaller = max((one for one in some if one.off <= 0), key=lambda one: one.off, default=None)
    larger = min((one for one in some if one.off > 0), key=lambda one: one.off, default=None)
    verb = "costs" if by == "cost" else "has"
    near = [
        f"{one.family.spec} {verb} {_in_words(_as_large_as(one.bill, by))} ({one.off:+.0%})"
        for one in (smaller, larger)
        if one and (one.bill.design.switches or by != "switches")
    ]
    if not near:
        return f"name one yourself, such as {known()[name].example}"
    return f"{', '.join(near)}; name one of these, or another"


def _around(name: str, wanted: Wanted, prices: Prices) -> Iterable[Family]:
    """Instances on both sides of what is wanted, however far they are."""
    if wanted.dollars:
        return _by_price(_instances(name, _affordable(_FARTHER * wanted.dollars, prices)), wanted, prices)
    kind, count = (0, wanted.servers) if wanted.servers else (1, wanted.switches)
    some = sorted(_instances(name, _FARTHER * count * (wanted.ports or 1)), key=lambda one: one.counts()[kind])
    at = bisect_left(some, count, key=lambda one: one.counts()[kind])
    return some[max(0, at - _PRICED) : at + _PRICED]


def _affordable(dollars: float, prices: Prices) -> int:
    """More servers than anybody gets for the price: each needs a NIC."""
    return int(dollars / prices.nic(1).price)


def _in_words(wanted: Wanted) -> str:
    if wanted.servers:
        return counted(wanted.servers, "server")
    if wanted.dollars:
        return f"{wanted.dollars:,.0f} dollars"
    return f"{counted(wanted.switches, 'switch')} of {counted(wanted.ports, 'port')}"


def _of_equipment(name: str, model: Bill, wanted: Wanted, prices: Prices) -> Proposal | None:
    """The instance of a family from the switches and the servers of another network."""
    parts = model.design
    family = known()[name].of_equipment(parts.switches, parts.switch_ports, parts.servers)
    return _priced(family, wanted, prices) if family else None


def _nearest(name: str, wanted: Wanted, prices: Prices) -> Proposal | None:
    """The instance that comes nearest: of those that come equally near, the cheapest."""
    near = (one for family in _candidates(name, wanted, prices) if (one := _priced(family, wanted, prices)))
    fitting = [one for one in near if abs(one.off) <= _FAR]
    if wanted.switches:  # as many servers as fit
        fitting = [one for one in fitting if one.off <= 0]
        return max(fitting, key=lambda one: (one.bill.design.servers, -one.bill.price), default=None)
    return min(fitting, key=lambda one: (round(abs(one.off), 3), one.bill.price), default=None)


def _candidates(name: str, wanted: Wanted, prices: Prices) -> Iterable[Family]:
    """Instances whose price is looked at."""
    if wanted.servers:
        some = _instances(name, int(wanted.servers * (1 + _FAR)))
        return sorted(some, key=lambda one: abs(one.counts()[0] - wanted.servers))[:_PRICED]
    if wanted.switches:
        some = _instances(name, wanted.switches * wanted.ports)
        return [one for one in some if wanted.switches * (1 - _FAR) <= one.counts()[1] <= wanted.switches]
    return _by_price(_instances(name, _affordable(wanted.dollars, prices)), wanted, prices)


def _by_price(some: Sequence[Family], wanted: Wanted, prices: Prices) -> list[Family]:
    """Those around the price that is wanted: prices rise about as the number of servers does, so the search is
    by halves."""
    ordered = sorted(some, key=lambda one: one.counts()[0])
    low, high = 0, len(ordered)
    while high - low > _PRICED:
        middle = (low + high) // 2
        one = _priced(ordered[middle], wanted, prices)
        low, high = (middle, high) if one and one.off < 0 else (low, middle)
    start = max(0, low - _PRICED)
    return ordered[start : start + 3 * _PRICED]


def _priced(family: Family, wanted: Wanted, prices: Prices) -> Proposal | None:
    """An instance with its price, and by how much it differs; None where a part has no price."""
    try:
        whole = bill(design(family), prices)
    except SpecError:
        return None
    if wanted.servers:
        off = whole.design.servers / wanted.servers - 1
    elif wanted.dollars:
        off = whole.price / wanted.dollars - 1
    else:
        off = max(whole.design.switches / wanted.switches, whole.design.switch_ports / wanted.ports) - 1
    return Proposal(family, whole, off)


@cache
def _instances(name: str, most: int) -> tuple[Family, ...]:
    return tuple(instances(known()[name], most))
