"""Labs and evaluations of networkx graphs."""

from __future__ import annotations

import tempfile
from pathlib import Path

import networkx as nx
import pytest

from dcnlab import Lab, UsageError, evaluate


def leaf_spine() -> nx.Graph:
    graph = nx.Graph(name="leaf-spine")
    graph.add_nodes_from(["leaf1", "leaf2", "spine"], kind="switch")
    graph.add_nodes_from(["ann", "bob"], kind="server")
    graph.add_edges_from([("leaf1", "spine"), ("leaf2", "spine"), ("leaf1", "ann"), ("leaf2", "bob")], length=3)
    return graph


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files: empty before, and to be empty afterwards."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_graph_is_evaluated() -> None:
    report = evaluate(leaf_spine(), ["shortest"]).as_dict()
    assert (report["topology"], report["servers"], report["switches"], report["diameter"]) == (
        "leaf-spine",
        2,
        3,
        4,
    )
    assert report["schemes"][0]["delivered"] == 1.0
    assert evaluate(nx.petersen_graph(), ["wmgr"]).diameter == 2


@pytest.mark.lab
def test_a_graph_runs_as_a_lab(temporary: Path) -> None:
    with Lab(leaf_spine()) as lab:
        assert len(list(temporary.iterdir())) == 1
        assert lab.ping("ann", "bob").received == 1
        lab.fail("leaf1", "ann")
        assert lab.ping("ann", "bob").received == 0
        lab.restore("leaf1", "ann")
        assert lab.ping("ann", "bob").received == 1
        assert lab.route("ann", "bob") == ["ann", "leaf1", "spine", "leaf2", "bob"]
        assert [node["name"] for node in lab.nodes()] == ["ann", "bob", "leaf1", "leaf2", "spine"]
        with pytest.raises(UsageError, match=r"no node 'eve' in leaf-spine: ann\.\.bob"):
            lab.ping("ann", "eve")
        assert Lab.attach(lab.config.name).config == lab.config
    assert list(temporary.iterdir()) == []


@pytest.mark.lab
def test_a_graph_of_servers_relays_and_outlives_a_command(temporary: Path) -> None:
    lab = Lab(nx.cycle_graph(5), "shortest").start(detach=True)
    name = lab.config.name
    del lab
    assert Lab.attach(name).ping("h0", "h2").received == 1
    Lab.attach(name).stop()
    assert list(temporary.iterdir()) == []


def test_what_is_no_network_is_one_line(temporary: Path) -> None:
    for graph, said in (
        (nx.Graph(), "this graph is no topology: there is no server in it"),
        (nx.Graph([("a", "a")]), "this graph is no topology: node a is linked to itself"),
        (7, "this graph is no topology: "),
    ):
        with pytest.raises(UsageError, match=said) as caught:
            Lab(graph)
        assert "\n" not in str(caught.value)
    with pytest.raises(UsageError):
        Lab(leaf_spine(), "no-such-scheme").start()
    assert list(temporary.iterdir()) == []


MININET_TOPOLOGY = """
from mininet.link import TCLink
from mininet.topo import Topo

class Pair(Topo):
    def build(self, bw=10):
        left, right = self.addSwitch("s1"), self.addSwitch("s2")
        self.addLink(self.addHost("alice", ip="10.0.0.9/24"), left)
        self.addLink(self.addHost("bob"), right)
        self.addLink(left, right, port1=7, port2=9, cls=TCLink, bw=bw, delay="3ms", max_queue_size=30)

topos = {"pair": Pair}
"""


@pytest.mark.lab
@pytest.mark.filterwarnings("ignore::topos.files.file.GraphNote")
def test_a_mininet_topology_of_a_file_runs_with_its_ports_rates_and_queues(tmp_path: Path) -> None:
    path = tmp_path / "pair.py"
    path.write_text(MININET_TOPOLOGY)
    with Lab(f"{path}:pair,bw=20", scheme="shortest") as lab:
        assert lab.ping("alice", "bob").rtt_ms.p50 >= 6
        disciplines = lab.run("s1", ["tc", "qdisc", "show", "dev", "s1-eth7"])
        assert "htb" in disciplines.stdout
        assert lab.iperf("alice", "bob", seconds=1).mbps < 21
