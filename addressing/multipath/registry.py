"""The construction of a fabric's family, found by name among the files of ``constructions``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from addressing.multipath import constructions
from addressing.multipath.construction import Construction
from addressing.multipath.general import General
from topos.fabric import Fabric
from topos.plugins import Registry


@cache
def known() -> Mapping[str, type[Construction]]:
    """All constructions by name."""
    return Registry(constructions, Construction)


def construction(fabric: Fabric) -> Construction:
    """The construction that fits a fabric's family; the general one where no file has its own."""
    cls = next((cls for cls in known().values() if cls.fits(fabric.family)), General)
    return cls(fabric)
