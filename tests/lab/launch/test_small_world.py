"""HR-SW for real: 64 switches that hold exactly what the paper counts, in both versions of IP, and a
cluster that falls apart under way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from addressing.registry import bind
from dcnlab.lab.client import Lab
from topos.registry import fabric

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("small world")]

SPEC, SCHEME = "smallworld:8x8,clusters=2x2,hosts=1", "hrsw:ip=both,prefix=172.16.0.0/12"
CLUSTERS, SIZE, HOSTS = 4, 16, 1


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(SPEC, SCHEME) as running:
        yield running


def ring(step: int) -> list[list[str]]:
    """Every host to the one ``step`` further."""
    return [[f"h{i}", f"h{(i + step) % 64}"] for i in range(64)]


def test_every_switch_holds_what_the_paper_counts(lab: Lab) -> None:
    for switch in range(64):
        table = lab.tables(f"s{switch}")
        assert table["equal"]
        for version in ("ip,nw_dst=172.", "ipv6,ipv6_dst=fd00::ac"):
            entries = [line for line in table["installed"] if version in line]
            assert len(entries) == (CLUSTERS - 1) + (SIZE - 1) + HOSTS
        questions = [line for line in table["installed"] if line.endswith("CONTROLLER:65535")]
        assert len(table["installed"]) == 2 * len(entries) + len(questions) == 2 * len(entries) + 2


@pytest.mark.parametrize("step", [1, 23])
def test_hosts_reach_each_other_in_both_versions(lab: Lab, step: int) -> None:
    assert lab.pingall(pairs=ring(step)).lost == []
    assert lab.pingall(pairs=ring(step), ipv6=True).lost == []


def test_a_cluster_that_falls_apart_is_mended_by_few_messages(lab: Lab) -> None:
    network = fabric(SPEC)
    own = bind(SCHEME, network).clustering
    lone = next(n for n in range(64, 128) if any(own[e] != own[n] for e in network.neighbours(n) if e >= 64))
    near = [e for e in network.neighbours(lone) if e >= 64 and own[e] == own[lone]]
    for end in near:
        cut = lab.fail(network.name(lone), network.name(end))
    assert cut["repair"]["split_clusters"] == 1
    assert cut["repair"]["extra_entries_max"] <= 8
    assert 0 < cut["flow_mods"] < 2 * 64 * 19
    assert 0 < cut["switches"] <= 64
    assert cut["tables_ms"] > 0
    host = f"h{lone - 64}"
    others = [f"h{i}" for i in range(64) if f"h{i}" != host]
    assert lab.pingall(pairs=[[host, other] for other in others]).lost == []
    assert lab.pingall(pairs=[[other, host] for other in others], ipv6=True).lost == []
    assert all(lab.tables(f"s{switch}")["equal"] for switch in range(0, 64, 5))
    for end in near:
        healed = lab.restore(network.name(lone), network.name(end))
    assert healed["repair"]["split_clusters"] == 0
    assert len(lab.tables(network.name(lone))["installed"]) == 2 * 19 + 2


def test_a_version_that_the_hosts_do_not_speak_is_refused() -> None:
    with Lab("smallworld:2x2,clusters=1x1", "hrsw:ip=6") as only6:
        assert only6.pingall().lost == []
        with pytest.raises(Exception, match="have no IPv4 addresses"):
            only6.pingall(ipv4=True)
