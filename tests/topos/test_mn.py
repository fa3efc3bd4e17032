"""Stock Mininet: every family as a Topo, loaded as `mn --custom` loads it, and run by the real mn."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from mininet.topo import Topo
from mininet.util import buildTopo

from tests import private_openvswitch
from tests.topos.graphs import built
from topos.registry import known
from topos.spec import SpecError

ROOT = Path(__file__).resolve().parents[2]
FILES = [ROOT / "dcnlab" / "mn.py", ROOT / "topos" / "mn.py"]


@pytest.fixture(scope="module", params=FILES, ids=["dcnlab/mn.py", "topos/mn.py"])
def topos(request: pytest.FixtureRequest) -> dict[str, Any]:
    """A file's dictionary, read by the statement that mn's --custom uses."""
    names: dict[str, Any] = {}
    before = list(sys.path)
    exec(compile(request.param.read_text(), str(request.param), "exec"), names, names)
    sys.path[:] = before
    return names["topos"]


@pytest.mark.parametrize("name", sorted(known()))
def test_every_family_is_a_topo_with_the_fabrics_ports(topos: dict[str, Any], name: str) -> None:
    network = built(known()[name].example)
    topo = buildTopo(topos, known()[name].example.replace(":", ",", 1))
    assert isinstance(topo, Topo)
    assert sorted(topo.hosts()) == sorted(network.name(v) for v in range(network.servers))
    switches = [network.name(v) for v in range(network.servers, network.size)]
    assert sorted(topo.switches()) == sorted(switches)
    assert [int(topo.nodeInfo(s)["dpid"], 16) for s in switches] == list(range(1, network.switches + 1))
    assert len(topo.links()) == len(network.link_ends)
    for a, a_port, b, b_port in network.link_ends.tolist():
        assert topo.port(network.name(a), network.name(b)) == (a_port, b_port)


def test_arguments_are_those_of_the_specification(topos: dict[str, Any]) -> None:
    topo = buildTopo(topos, "smallworld,4x4,hosts=2,q=2.5,seed=7")
    assert len(topo.links()) == len(built("smallworld:4x4,hosts=2,q=2.5,seed=7").link_ends)
    with pytest.raises(SpecError, match="bcube: n must be at least 2, not 1"):
        buildTopo(topos, "bcube,1,1")


def test_factories_have_the_names_that_mn_prints(topos: dict[str, Any]) -> None:
    assert topos["bcube"].__name__ == "BCubeTopo"
    assert set(topos) == set(known())


@pytest.mark.lab
@pytest.mark.parametrize("mn", private_openvswitch.PROGRAMS)
def test_stock_mininet_starts_and_stops_a_bcube(mn: str) -> None:
    """Without dcnlab's hosts and controller, by the file's former place."""
    words = "--custom topos/mn.py --topo bcube,2,1 --switch ovs,datapath=user --controller none --test none"
    done = private_openvswitch.run(private_openvswitch.program(mn), *words.split())
    assert done.returncode == 0, done.stderr
    assert "*** Done" in done.stderr
    added = re.findall(r"\(h\d+, s\d+\)", done.stderr)
    assert len(added) == len(built("bcube:2,1").link_ends)
    left = [line.split()[0] for line in done.stdout.splitlines()]
    assert left == ["lo"], "interfaces or bridges were left behind"
