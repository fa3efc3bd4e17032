"""The registries as rows: what `dcnlab list` and the README's table show."""

from __future__ import annotations

from typing import Any

from addressing import registry as schemes_registry
from lab.errors import UsageError
from topos import registry
from topos.graph import Fabric
from topos.registry import SpecError


def fabric_of(spec: str) -> Fabric:
    """The network that a specification names; UsageError with one line."""
    try:
        return registry.fabric(spec)
    except SpecError as error:
        raise UsageError(str(error)) from error


def topologies() -> list[dict[str, Any]]:
    """Per family: how it is written, who forwards, an example with its size, and what fits it."""
    rows = []
    for name, family in registry.known().items():
        example = registry.parse(family.example)
        servers, switches = example.counts()
        rows.append(
            {
                "name": name,
                "usage": registry.usage(family, name),
                "centric": family.centric,
                "example": family.example,
                "servers": servers,
                "switches": switches,
                "schemes": schemes_registry.fitting(example),
                "source": family.source,
            }
        )
    return rows


def schemes() -> list[dict[str, Any]]:
    """Per scheme: how it is written, what it does, where it stands."""
    return [
        {
            "name": name,
            "usage": registry.usage(scheme, name),
            "summary": scheme.summary,
            "source": scheme.source,
        }
        for name, scheme in schemes_registry.known().items()
    ]
