"""One lab on two virtual machines with kernels of their own: run by `make vm-many`, as root."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from dcnlab.lab.client import Lab
from tests.lab.cluster import Cluster, until
from tests.lab.machines import all_answer, all_pairs_answer, attached, joined, name, nodes_of
from tests.vms.virtual_machines import VirtualMachine, virtual_machines
from topos import registry

pytestmark = pytest.mark.vm

FABRIC = "bcube:4,1"


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, list[VirtualMachine]]]:
    with virtual_machines(2, tmp_path_factory.mktemp("cluster")) as machines:
        yield machines


@pytest.fixture(scope="module")
def info() -> dict[str, Any]:
    """What the launch has printed."""
    return {}


@pytest.fixture(scope="module")
def lab(two: tuple[Cluster, list[VirtualMachine]], info: dict[str, Any]) -> Iterator[Lab]:
    lab_name = name()
    info.update(two[0].launched(lab_name, FABRIC, "--scheme", "brp"))
    with attached(lab_name) as attached_lab:
        yield attached_lab


def test_all_pairs_answer_also_with_a_link_between_machines_cut(lab: Lab, info: dict[str, Any]) -> None:
    assert len(info["machines"]) == 2
    assert info["datapath"] == "kernel"
    all_pairs_answer(lab, info)


def test_traffic_crosses_machines(lab: Lab, info: dict[str, Any]) -> None:
    a, b = (part["nodes"][0].partition("-")[0] for part in info["machines"])
    kernels = {lab.run(host, ["uname", "-r"]).stdout for host in (a, b)}
    assert kernels != {os.uname().release + "\n"}
    before = lab.counters().bytes
    assert lab.iperf(a, b, seconds=1).mbps > 0
    assert lab.counters().bytes > before + 100_000


def test_the_living_go_on_when_a_machine_is_switched_off(
    two: tuple[Cluster, list[VirtualMachine]], lab: Lab
) -> None:
    """Nothing says that it has gone: it is silent, and when Dask closes the connections it is lost.  Booted
    again, it rejoins."""
    machine = two[1][1]
    fabric, gone = registry.fabric(FABRIC), nodes_of(lab, 1)
    dead = {link.index for link in fabric.links() if {link.a.node, link.b.node} & gone}
    machine.kill()
    until(lambda: set(lab.info()["down"]) == dead)
    servers = joined(fabric, dead, gone)
    assert len(servers) > 1
    until(lambda: all_answer(lab, servers))
    until(lambda: [part["lost"] for part in lab.info()["machines"]] == [False, True])
    machine.boot()
    assert lab.rejoin("m1").machines == ["m1"]
    assert lab.info()["down"] == []
    assert lab.pingall().lost == []
