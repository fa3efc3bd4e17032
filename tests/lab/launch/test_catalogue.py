"""Families with schemes as labs: all pairs ping, tables are as predicted.

As many labs as show every family, scheme, setting and kind of network (tests/lab/cover.py); every
family with every scheme that fits where DCNLAB_CATALOGUE says `all` (`make catalogue`).
Node-symmetric families run both ways: every node a server with an agent, and every node a
switch with a plain host.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from dcnlab.lab.client import Lab
from tests.addressing.cases import kind
from tests.lab import cover

pytestmark = pytest.mark.lab


def labs() -> list[Any]:
    """The pairs that run.

    With ``--dist loadgroup`` labs of plain hosts run one after the other: all namespaces of a machine
    share one bounded table of neighbours (net.ipv4.neigh.default.gc_thresh3), which two of them overrun.
    """
    pairs = cover.product() if os.environ.get("DCNLAB_CATALOGUE") == "all" else cover.cover()
    alone = [pytest.mark.xdist_group("plain hosts")]
    return [
        pytest.param(*pair, marks=alone if kind(pair[0]) == "plain hosts" else [], id=" ".join(pair))
        for pair in pairs
    ]


@pytest.mark.parametrize(("topology", "scheme"), labs())
def test_all_pairs_ping(topology: str, scheme: str) -> None:
    with Lab(topology, scheme) as lab:
        pings = lab.pingall()
        assert pings.sent > 0
        assert pings.lost == []
        for node in lab.nodes():
            if node["kind"] == "switch":
                assert lab.tables(node["name"])["equal"], node["name"]


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
