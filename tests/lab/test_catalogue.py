"""Families with schemes as labs: all pairs ping, tables are as predicted.

As many labs as show every family, scheme, setting and kind of network (tests/lab/cover.py); every
family with every scheme that fits where DCNLAB_CATALOGUE says `all` (`make catalogue`).
Node-symmetric families run both ways: every node a server with an agent, and every node a
switch with a plain host.
"""

from __future__ import annotations

import os
from collections import defaultdict
from typing import Any

import pytest

from addressing import registry as schemes
from dcnlab.lab.client import Lab
from tests.addressing.cases import SETTINGS
from tests.lab import cover
from topos import registry


def labs() -> list[Any]:
    """The pairs that run.

    With ``--dist loadgroup`` labs of plain hosts run one after the other: all namespaces of a machine
    share one bounded table of neighbours (net.ipv4.neigh.default.gc_thresh3), which two of them overrun.
    """
    found = cover.product() if os.environ.get("DCNLAB_CATALOGUE") == "all" else cover.cover()
    alone = [pytest.mark.xdist_group("plain hosts")]
    return [
        pytest.param(*pair, marks=alone if cover.kind(pair[0]) == "plain hosts" else [], id=" ".join(pair))
        for pair in found
    ]


@pytest.mark.lab
@pytest.mark.parametrize(("topology", "scheme"), labs())
def test_all_pairs_ping(topology: str, scheme: str) -> None:
    with Lab(topology, scheme) as lab:
        found = lab.pingall()
        assert found.sent > 0
        assert found.lost == []
        for node in lab.nodes():
            if node["kind"] == "switch":
                assert lab.tables(node["name"])["equal"], node["name"]


@pytest.mark.lab
@pytest.mark.parametrize(
    ("topology", "scheme", "options"),
    [("torus:3x4", "wmgr-cayley", {}), ("torus:3x4", "min-ad", {"flow_control": "credits"})],
    ids=["a torus as a Cayley graph", "adaptive by credits"],
)
def test_schemes_with_rules_of_their_own_for_a_network(
    topology: str, scheme: str, options: dict[str, Any]
) -> None:
    """Neither is a kind of network, or a setting of the scheme, that the cover knows."""
    with Lab(topology, scheme, **options) as lab:
        assert lab.pingall().lost == []


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
