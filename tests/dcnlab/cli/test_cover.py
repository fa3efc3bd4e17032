"""The labs that run cover what there is, as both registries say."""

from __future__ import annotations

from collections import defaultdict

from addressing import registry as schemes
from tests.addressing.cases import SETTINGS
from tests.lab import cover
from topos import registry


def test_what_runs_covers_what_there_is() -> None:
    """By both registries, without the code that chooses."""
    chosen = cover.cover()
    assert len(set(chosen)) == len(chosen) < len(cover.product()) / 3
    assert {spec.partition(":")[0] for spec, _ in chosen} == set(registry.known())
    examples = {registry.parse(family.example).spec for family in registry.known().values()}
    assert examples <= {spec for spec, _ in chosen}
    ran = defaultdict(set)
    for spec, text in chosen:
        fabric = registry.fabric(spec)
        schemes.bind(text, fabric)
        ran[text].add(fabric.family.name)
        ran[text.partition(":")[0]].add((fabric.is_end_host(0), fabric.switches > 0))
    for name, scheme in schemes.known().items():
        fits = [registry.fabric(spec) for spec in cover.instances()]
        fits = [fabric for fabric in fits if scheme.incompatibility(fabric.family) is None]
        assert {(fabric.is_end_host(0), fabric.switches > 0) for fabric in fits} <= ran[name]
        families = {fabric.family.name for fabric in fits}
        for text in (name, *SETTINGS.get(name, ())):
            assert len(ran[text] & families) >= min(2, len(families)), text
