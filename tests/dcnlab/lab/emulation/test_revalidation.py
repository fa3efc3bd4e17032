"""How often Open vSwitch looks at its cached flows, by the ports of a lab."""

import pytest

from dcnlab.lab.emulation.network import bridges
from dcnlab.lab.emulation.switches import openvswitch
from dcnlab.lab.emulation.switches.shards import split
from topos import registry


@pytest.mark.parametrize(
    ("topology", "milliseconds"),
    [("bcube:4,1", 500), ("bcube:32,1", 500), ("bcube:4,4", 1250), ("bcube:8,3", 2000)],
)
def test_large_labs_look_less_often(topology: str, milliseconds: int) -> None:
    """Each look wakes a loop over all ports of a shard."""
    assert openvswitch.revalidation(split(bridges(registry.fabric(topology)))) == milliseconds
