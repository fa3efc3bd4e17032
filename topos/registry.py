"""Families by name: ``bcube:4,1`` becomes a family instance, and a built network."""

from __future__ import annotations

import dataclasses
import typing
from functools import cache
from typing import Any

from topos import families
from topos.bases import grown
from topos.fabric import Fabric
from topos.family import Family
from topos.plugins import Registry
from topos.spec import SpecError, instantiate, is_script, lookup, split_spec


@cache
def known() -> Registry[Family]:
    """All families by name: this program's, those of installed packages, those of ``--custom`` files."""
    return Registry(families, Family, "topology", "dcnlab.topologies")


def parse(text: str) -> Family:
    """The family instance that a specification names; raises SpecError with one line."""
    base, added = grown.split(text)
    if added:
        return grown.Grown(fabric(base), added)
    if is_script(text):
        from topos.script import Script

        return Script.of(text)
    name, arguments = split_spec(text)
    family = lookup(name, known(), "topology")
    return typing.cast(Family, instantiate(family, name, arguments))


def is_seeded(text: str) -> bool:
    """Whether a seed draws the network: its family is random, and the specification names no seed itself."""
    return "seed=" not in text and any(item.name == "seed" for item in dataclasses.fields(parse(text)))


def with_seed(text: str, seed: int) -> str:
    """The specification of the network that a seed draws; other specifications stay as they are."""
    if not is_seeded(text):
        return text
    return parse(f"{text}{',' if ':' in text else ':'}seed={seed}").spec


def without_seed(text: str) -> tuple[str, int | None]:
    """A specification without the seed that draws its network, and that seed; None where no seed does."""
    family = parse(text)
    for item in dataclasses.fields(family):
        if item.name == "seed":
            plain = dataclasses.replace(family, seed=item.default)  # type: ignore[call-arg]
            return plain.spec, family.seed  # type: ignore[attr-defined]
    return family.spec, None


def from_networkx(graph: Any) -> Fabric:
    """The network that a networkx graph describes (attributes: :mod:`topos.files.file`); raises SpecError."""
    from topos.families.file import InMemory
    from topos.files import file
    from topos.files.raw import FileError

    try:
        return Fabric.of(InMemory(data=file.from_networkx(graph)))
    except FileError as error:
        raise SpecError(f"{graph.name or 'graph'}: {error}") from error


def fabric(text: str) -> Fabric:
    """The network that a specification names, built; raises SpecError with one line."""
    family = parse(text)
    built = Fabric.of(family)
    if family.name in known() and not known().is_builtin(family.name):
        known().check(type(family), built.problem())
    return built
