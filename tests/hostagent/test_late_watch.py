"""Agents that watch their carriers only from a launch's end on: nothing that changes meanwhile is lost."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hostagent.linux.netlink import Netlink
from tests.hostagent.namespaces import ServerNetwork, server_network
from tests.ovs import poll

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces of the machine"),
]


@pytest.fixture(params=["host", "workers"])
def row(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[ServerNetwork]:
    """h0 -- h1 -- h2 -- h3 -- h4, whose agents have started late."""
    file = tmp_path / "row.edgelist"
    file.write_text("".join(f"{node} {node + 1}\n" for node in range(4)))
    with server_network(f"file:{file}", "wmgr", start=False, agents=request.param) as made:
        made.pool.start(replace(made.place(node), late=True) for node in range(5))
        made.pool.wait_ready()
        yield made


def reported(row: ServerNetwork) -> set[tuple[int, int, bool]]:
    """Where what agents have reported and will report is noted."""
    seen: set[tuple[int, int, bool]] = set()
    row.pool.on_link_change = lambda node, port, up: seen.add((node, port, up))
    return seen


def cut(row: ServerNetwork, node: int, port: int, state: str) -> None:
    row.run(node, "ip", "link", "set", f"h{node}-eth{port}", state)


def port_to(row: ServerNetwork, node: int, other: int) -> int:
    """The port of a server that leads to another."""
    (port,) = (port for port, end in row.fabric.ports(node) if end.node == other)
    return port


def test_changes_before_the_watch_are_reported_when_it_begins(row: ServerNetwork) -> None:
    seen = reported(row)
    cut(row, 0, port_to(row, 0, 1), "down")
    row.run(3, "ip", "link", "delete", f"h3-eth{port_to(row, 3, 4)}")
    assert row.pool.watch_carriers() == 5
    both = [(0, 1), (1, 0), (3, 4), (4, 3)]
    expected = {(node, port_to(row, node, other), False) for node, other in both}
    poll(lambda: seen == expected, 60)


def test_changes_after_it_are_reported_as_by_all_agents(row: ServerNetwork) -> None:
    seen = reported(row)
    assert row.pool.watch_carriers() == 5
    assert row.pool.watch_carriers() == 0
    port = port_to(row, 2, 1)
    for state in ("down", "up"):
        seen.clear()
        cut(row, 2, port, state)
        poll(lambda up=state == "up": {(2, port, up), (1, port_to(row, 1, 2), up)} <= seen, 60)


def test_an_agent_that_is_started_again_meanwhile_watches_at_once(row: ServerNetwork) -> None:
    seen = reported(row)
    row.pool.restart([row.place(4)])
    cut(row, 4, port_to(row, 4, 3), "down")
    poll(lambda: (4, port_to(row, 4, 3), False) in seen, 60)
    row.pool.watch_carriers()
    poll(lambda: (3, port_to(row, 3, 4), False) in seen, 60)


def test_a_changed_mtu_is_learned(row: ServerNetwork) -> None:
    port = port_to(row, 0, 1)
    row.run(0, "ip", "link", "set", f"h0-eth{port}", "mtu", "1300")
    row.pool.watch_carriers()
    with_mtu = row.inside(0, lambda: Netlink().interfaces()[f"h0-eth{port}"].mtu)
    assert with_mtu == 1300
    size = ["ping", "-c", "1", "-W", "5", "-M", "do", "-s", "1400", row.addresses[1]]
    poll(lambda: "Frag needed" in row.run(0, "sh", "-c", " ".join(size) + " || true"), 60)
