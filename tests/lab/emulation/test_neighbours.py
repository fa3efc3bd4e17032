"""Plain hosts know each other from the start: they need no controller to find each other."""

from __future__ import annotations

import pytest

from addressing import registry as schemes
from dcnlab.lab.client import Lab
from dcnlab.lab.emulation.namespaces import neighbours
from tests.lab import processes
from tests.ovs import poll
from topos import registry
from topos.graph import LinkState

pytestmark = pytest.mark.lab


def _without_controller(lab: Lab) -> None:
    for process in processes.modules(lab, "controller"):
        process.kill()
    poll(lambda: lab.info()["ended"], 10)


@pytest.mark.parametrize("scheme", ["ecmp", "twolevel"])
def test_hosts_that_never_spoke_answer_without_a_controller(scheme: str) -> None:
    with Lab("fattree:4", scheme, supervise=False) as lab:
        _without_controller(lab)
        pings = lab.pingall()
        assert (pings.sent, pings.received) == (240, 240)


def test_over_ipv6_as_well() -> None:
    with Lab("smallworld:4x4,clusters=2x2,hosts=1", "hrsw:ip=both", supervise=False) as lab:
        _without_controller(lab)
        for version in ({"ipv4": True}, {"ipv6": True}):
            assert lab.pingall(**version).lost == []


def test_hosts_follow_labels_that_a_failure_changes() -> None:
    topology = "smallworld:4x4,clusters=2x2,hosts=1"
    scheme = schemes.bind("wmgr", registry.fabric(topology))
    number = scheme.fabric.link_at(scheme.fabric.servers, 2)
    before, after = (
        neighbours.addresses(scheme.with_failures(LinkState(frozenset(down)))) for down in ([], [number])
    )
    assert before != after
    link = scheme.fabric.link(number)
    with Lab(topology, "wmgr") as lab:
        assert lab.pingall().lost == []
        for change in (lab.fail, lab.restore):
            change(scheme.fabric.name(link.a.node), scheme.fabric.name(link.b.node))
            packet_ins = lab.ask("controller")["packet_ins"]
            assert lab.pingall().lost == []
            assert lab.ask("controller")["packet_ins"] == packet_ins


def test_more_hosts_than_the_kernel_should_hold_ask_the_controller() -> None:
    assert neighbours.addresses(schemes.bind("ecmp", registry.fabric("fattree:16"))) == {}
    assert neighbours.addresses(schemes.bind("brp", registry.fabric("bcube:2,1"))) == {}
