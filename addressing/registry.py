"""Schemes found by name, read from ``name:key=value``, and which of them fit a family."""

from __future__ import annotations

import typing
from functools import cache

from addressing import schemes, unrouted
from addressing.scheme import Scheme
from topos.fabric import Fabric
from topos.family import Family
from topos.plugins import Registry
from topos.spec import SpecError, instantiate, lookup, split_spec


@cache
def known() -> Registry[Scheme]:
    """All schemes by name: this program's, those of installed packages, those of ``--custom`` files."""
    return Registry(schemes, Scheme, "scheme", "dcnlab.schemes")


def compatible_schemes(family: Family) -> tuple[str, ...]:
    """The names of the schemes that route on a family, sorted."""
    return tuple(sorted(name for name, scheme in known().items() if scheme.incompatibility(family) is None))


def check_name(text: str) -> None:
    """SpecError for ``none``, which only labs know."""
    if unrouted.is_named(text):
        raise SpecError("scheme none has no rule to follow: it is for labs, whose nodes run routing programs")


def check(text: str, family: Family) -> type[Scheme]:
    """The class of the scheme that ``text`` names; SpecError with one line where it does not route there."""
    check_name(text)
    name, _ = split_spec(text)
    if name == "optimal" and name not in known():
        raise SpecError(
            "scheme optimal is a bound: write its splits by `dcnlab throughput --splits FILE.py`, and add"
            " --custom FILE.py"
        )
    cls = lookup(name, known(), "scheme")
    reason = cls.incompatibility(family)
    if reason is not None:
        fits = ", ".join(compatible_schemes(family))
        raise SpecError(f"{name} does not fit {family.spec}: {reason}; these do: {fits}")
    return cls


def bind(text: str, fabric: Fabric) -> Scheme:
    """The scheme that ``text`` names, bound to ``fabric``; SpecError with one line otherwise."""
    cls = check(text, fabric.family)
    name, arguments = split_spec(text)
    return typing.cast(Scheme, instantiate(cls, name, arguments, fabric))
