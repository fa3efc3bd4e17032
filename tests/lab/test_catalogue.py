"""Every family with each of its schemes runs as a lab: all pairs ping, tables are as predicted.

Node-symmetric families run twice: every node a server with an agent, and every node a
switch with a plain host.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from addressing import registry as schemes
from lab.client import Lab
from topos import registry

pytestmark = pytest.mark.lab


def instances() -> list[str]:
    """The example of every family, with and without hosts where that is a choice."""
    found = []
    for family in registry.known().values():
        example = registry.parse(family.example)
        found.append(example.spec)
        if "hosts" in {f.name for f in dataclasses.fields(family)} and family.centric == "symmetric":
            found.append(dataclasses.replace(example, hosts=1).spec)  # type: ignore[call-arg]
    return found


def pairs() -> list[Any]:
    """Every instance with every scheme that fits.

    With ``--dist loadgroup`` labs of plain hosts run one after the other: all namespaces of a machine
    share one bounded table of neighbours (net.ipv4.neigh.default.gc_thresh3), which two of them overrun.
    """
    found = []
    for spec in instances():
        fabric = registry.fabric(spec)
        marks = [pytest.mark.xdist_group("plain hosts")] if fabric.is_plain(0) else []
        found += [
            pytest.param(spec, scheme, marks=marks, id=f"{spec} {scheme}")
            for scheme in schemes.fitting(fabric.family)
        ]
    return found


@pytest.mark.parametrize(("topology", "scheme"), pairs())
def test_all_pairs_ping(topology: str, scheme: str) -> None:
    with Lab(topology, scheme) as lab:
        found = lab.pingall()
        assert found["sent"] > 0
        assert found["lost"] == []
        for node in lab.nodes():
            if node["kind"] == "switch":
                assert lab.tables(node["name"])["equal"], node["name"]
