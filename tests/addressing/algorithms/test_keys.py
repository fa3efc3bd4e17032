"""The servers that store a key: the one at its hash's coordinates, and the nearest ones for replicas."""

from __future__ import annotations

import hashlib
from collections import Counter

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dcnlab.lab.kv.placement import MAX_REPLICAS, home, replica_servers
from tests.topos.graphs import graph
from topos import registry
from topos.families.torus import Torus
from topos.graph import ALL_UP

SPECS = ["torus:3x4", "clot:4x4", "torus:4x4x4", "bcube:4,1", "dcell:3,1", "mdcube:3,1"]


@pytest.mark.parametrize("spec", ["torus:3x4", "clot:4x4", "torus:4x4x4"])
@given(key=st.binary(max_size=50))
def test_on_a_torus_the_coordinates_are_the_hash_in_mixed_radix(spec: str, key: bytes) -> None:
    fabric = registry.fabric(spec)
    assert isinstance(fabric.family, Torus)
    number, digits = int(hashlib.sha256(key).hexdigest(), 16), []
    for size in reversed(fabric.family.sizes):
        number, digit = divmod(number, size)
        digits.append(digit)
    assert fabric.family.coordinates(home(fabric, key)) == tuple(reversed(digits))


@pytest.mark.parametrize("spec", SPECS)
def test_replica_servers_are_distinct_and_sorted_by_distance(spec: str) -> None:
    fabric = registry.fabric(spec)
    network = graph(fabric, ALL_UP)
    for key in (b"", b"colour", bytes(range(256))):
        replicas = replica_servers(fabric, key)
        assert len(set(replicas)) == len(replicas) == min(MAX_REPLICAS, fabric.servers)
        distance = nx.single_source_shortest_path_length(network, replicas[0])
        assert replicas[0] == home(fabric, key)
        hops = [distance[server] for server in replicas]
        assert hops == sorted(hops)
        left_out = set(range(fabric.servers)) - set(replicas)
        assert all(distance[server] >= hops[-1] for server in left_out)


def test_keys_and_second_replicas_are_distributed_evenly() -> None:
    fabric = registry.fabric("clot:4x4")
    keys = [f"key {number}".encode() for number in range(4000)]
    homes = Counter(home(fabric, key) for key in keys)
    assert stats.chisquare([homes[server] for server in range(16)]).pvalue > 1e-4
    mine = [key for key in keys if home(fabric, key) == 5]
    seconds = Counter(replica_servers(fabric, key, 2)[1] for key in mine)
    nearest = set(fabric.neighbours(5)) & set(range(fabric.servers))
    assert set(seconds) == nearest
    assert stats.chisquare(list(seconds.values())).pvalue > 1e-4
