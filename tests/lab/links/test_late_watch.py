"""A lab whose agents start before its switches: they watch their carriers when it is up, in all hosts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.emulation import network
from dcnlab.lab.emulation.switches import openvswitch
from dcnlab.lab.emulation.switches.shards import split
from tests.ovs import poll
from topos import registry

pytestmark = [pytest.mark.lab]

TOPOLOGY = "bcube:4,2"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    assert not openvswitch.starts_early(split(network.bridges(registry.fabric(TOPOLOGY))))
    with Lab(TOPOLOGY, "brp", datapath="userspace") as one:
        yield one


@pytest.mark.parametrize("server", ["h0", "h21", "h63"])
def test_what_a_host_does_to_its_interface_is_noticed(lab: Lab, server: str) -> None:
    for state, down in (("down", 1), ("up", 0)):
        lab.run(server, ["ip", "link", "set", f"{server}-eth2", state])
        poll(lambda down=down: len(lab.info()["down"]) == down, 60)
    assert lab.ping(server, "h42").held
