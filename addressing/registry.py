"""Schemes found by name, read from ``name:key=value``, and which of them fit a family."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from functools import cache

from addressing import schemes
from addressing.scheme import Scheme
from topos.fabric import Fabric
from topos.family import Family
from topos.registry import Registry, SpecError, instantiate, lookup, split_spec


@cache
def known() -> Mapping[str, type[Scheme]]:
    """All schemes by name."""
    return Registry[Scheme](schemes, Scheme)


def compatible_schemes(family: Family) -> tuple[str, ...]:
    """The names of the schemes that route on a family, sorted."""
    return tuple(sorted(name for name, scheme in known().items() if scheme.incompatibility(family) is None))


def bind(text: str, fabric: Fabric) -> Scheme:
    """The scheme that ``text`` names, bound to ``fabric``; SpecError with one line otherwise."""
    name, arguments = split_spec(text)
    cls = lookup(name, known(), "scheme")
    reason = cls.incompatibility(fabric.family)
    if reason is not None:
        fits = ", ".join(compatible_schemes(fabric.family))
        raise SpecError(f"{name} does not fit {fabric.spec}: {reason}; these do: {fits}")
    return typing.cast(Scheme, instantiate(cls, name, arguments, fabric))
