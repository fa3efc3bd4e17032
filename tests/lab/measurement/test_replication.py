"""One-to-several: plans are whole; in a real lab contents are equal, and links decide how long it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addressing.multipath.complete_graphs import complete_graph
from dcnlab.lab.client import Lab
from dcnlab.lab.replication import plan
from tests.lab.lines import dcnlab
from topos import registry

Cut = Callable[[int, Sequence[int], int], tuple[plan.Part, ...]]


@given(st.integers(1, 8), st.integers(9, 10**9), st.sampled_from([plan.complete_graph, plan.pipeline]))
def test_every_replica_gets_every_byte_once(r: int, size: int, cut: Cut) -> None:
    parts = cut(0, tuple(range(1, r + 1)), size)
    assert [part.offset for part in parts[1:]] == [part.offset + part.length for part in parts[:-1]]
    assert parts[0].offset == 0
    assert sum(part.length for part in parts) == size
    for part in parts:
        receivers = [b for _, b in part.edges]
        assert sorted(receivers) == list(range(1, r + 1))
        for server in receivers:  # a way back to the source: no circle
            seen = 0
            while server != 0:
                parent = part.parent(server)
                assert parent is not None
                assert server in part.children(parent)
                server, seen = parent, seen + 1
                assert seen <= r


@pytest.mark.parametrize(("spec", "r"), [("bcube:2,2", 3), ("bcube:4,1", 2), ("bcube:4,2", 3)])
def test_on_a_complete_graph_no_link_carries_more_than_its_share(spec: str, r: int) -> None:
    fabric = registry.fabric(spec)
    graph = complete_graph(fabric, 0)
    source, *replicas = graph.servers
    assert len(replicas) == r
    paths = {(a, b): graph.path(a, b) for a in graph.servers for b in graph.servers if a != b}
    assert all(fabric.links_between(a, b) for path in paths.values() for a, b in pairwise(path))
    size = 60 * r
    assert plan.busiest(plan.complete_graph(source, replicas, size), paths) * r == 1
    assert plan.busiest(plan.pipeline(source, replicas, size), paths) == 1


@pytest.mark.lab
def test_three_replicas_come_faster_along_the_complete_graph() -> None:
    """Links of 4 Mb/s, so that they decide and not a busy processor; three times as fast by the links."""
    with Lab("bcube:2,2", "brp", rate="4Mbit") as lab:
        replicated = lab.replicate("h0", ("h1", "h2", "h4"), size=1_600_000)
        graph, chain = replicated.complete_graph, replicated.pipeline
        assert graph.verified
        assert chain.verified
        assert set(graph.sha256) == {"h0", "h1", "h2", "h4"}
        assert graph.sha256 != chain.sha256  # new random data each time
        assert graph.method.startswith("edge-disjoint")
        assert replicated.ratio > 1.5
        assert lab.pingall().lost == []  # nothing stays pinned


@pytest.mark.lab
def test_the_command_finds_the_only_lab_and_says_what_it_uses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    words = ["replicate", "h0", "h3", "h6", "--size", "2M"]
    none = dcnlab(*words)
    assert (none.returncode, "none runs" in none.stderr) == (2, True)
    with Lab("torus:3x3", "dor"):
        done = dcnlab(*words)
    assert done.returncode == 0, done.stderr
    assert "servers do not choose routes" in done.stdout
    assert done.stdout.count("equal") == 2
