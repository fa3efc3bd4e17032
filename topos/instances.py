"""Instances of families up to a size: what a choice of "about 1000 servers" is made from.

A family with other proportions to propose overrides ``Family.instances``.
"""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Iterator
from typing import Any

from topos.errors import ParameterError
from topos.family import Family
from topos.spec import parameters

#: The largest value tried for a parameter that is not the last: most are ports of a node.
_MOST = 64
#: Values in a row of a parameter without an instance that is small enough, after which there is none.
_GAP = 2
#: The last parameter is raised to so many times the last value with an instance, and to so much at least: some
#: take powers of two only.
_FARTHER, _AT_LEAST = 4, 256
#: Dimensions tried of tori and the like.
_DIMENSIONS = range(2, 7)


def instances(family: type[Family], most: int) -> Iterator[Family]:
    """Instances of a family with at most ``most`` servers."""
    own = family.instances(most)
    return _of_parameters(family, most) if own is None else own


def _of_parameters(family: type[Family], most: int) -> Iterator[Family]:
    """All values of the whole-number parameters that have no default, with at most ``most`` servers; sizes of
    grids are as equal as possible.

    Nothing for families with required parameters of other types, and for plain graphs with several parameters,
    whose sizes do not follow from these one by one.
    """
    required = [item for item in parameters(family) if item.default is dataclasses.MISSING]
    types = [typing.get_type_hints(family)[item.name] for item in required]
    if types == [tuple[int, ...]]:
        yield from _grids(family, most)
    elif types and set(types) == {int} and (len(types) == 1 or family.centric != "symmetric"):
        lows = [int(item.metadata.get("low") or 0) for item in required]
        yield from _counted(family, lows, (), most)


def _counted(family: type[Family], lows: list[int], given: tuple[int, ...], most: int) -> Iterator[Family]:
    """Instances whose first parameters are ``given``: the next is raised until no instance is small enough."""
    low, last = lows[len(given)], len(given) == len(lows) - 1
    if last:
        yield from _raised(family, given, low, most)
        return
    empty = 0
    for value in range(low, _MOST + 1):
        deeper = list(_counted(family, lows, (*given, value), most))
        yield from deeper
        empty = 0 if deeper else empty + 1
        if empty > _GAP:
            return


def _raised(family: type[Family], given: tuple[int, ...], low: int, most: int) -> Iterator[Family]:
    """Instances with these first parameters, by the last one; where more of it means fewer servers, those that
    are too large come first."""
    before, last = math.inf, low
    for value in range(low, most + 1):
        if value > max(_FARTHER * last, _AT_LEAST):
            return
        if one := _made(family, (*given, value)):
            last, (servers, _) = value, one.counts()
            if servers <= most:
                yield one
            elif servers > before:
                return
            before = servers


def _grids(family: type[Family], most: int) -> Iterator[Family]:
    """Sides that differ by at most one."""
    for dimensions in _DIMENSIONS:
        for side in range(2, most + 1):
            if side**dimensions > most:
                break
            for longer in range(dimensions):
                one = _made(family, ((side + 1,) * longer + (side,) * (dimensions - longer),))
                if one and one.counts()[0] <= most:
                    yield one


def _made(family: type[Family], values: tuple[Any, ...]) -> Family | None:
    try:
        return family(*values)
    except ParameterError:
        return None
