"""Topologies that a user's Python file builds, named FILE.py:NAME."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from mininet.net import Mininet
from mininet.topo import Topo

from topos.errors import SpecError
from topos.files.file import GraphNote
from topos.registry import fabric, parse, with_seed

TOPO = """
from mininet.link import TCLink
from mininet.topo import Topo

class Pods(Topo):
    def build(self, pods=2, bw=10.0):
        core = self.addSwitch("core")
        for pod in range(1, pods + 1):
            edge = self.addSwitch(f"e{pod}")
            self.addLink(edge, core, port1=9, cls=TCLink, bw=bw, max_queue_size=20)
            for number in range(2):
                self.addLink(self.addHost(f"p{pod}h{number}", ip=f"10.0.{pod}.{number}/8"), edge)

topos = {"wide": lambda pods=3: Pods(pods)}

def experiment():
    raise AssertionError("nobody calls this")
"""
GRAPH = "import networkx\ndef ring(n=5):\n    return networkx.cycle_graph(n)\ndef _helper():\n    pass\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pods.py"
    path.write_text(TOPO)
    return path


@pytest.mark.filterwarnings("ignore::topos.files.file.GraphNote")
def test_ports_and_names_are_those_of_mininet(file: Path) -> None:
    built = fabric(f"{file}:Pods,3")
    module: dict[str, type[Topo]] = {}
    exec(compile(TOPO, str(file), "exec"), module)
    net = Mininet(topo=module["Pods"](3), build=False)
    expected = {
        frozenset({(a, p + (0 if net.topo.isSwitch(a) else 1)), (b, q + (0 if net.topo.isSwitch(b) else 1))})
        for a, b, _, info in net.topo.links(withKeys=True, withInfo=True)
        for p, q in [(info["port1"], info["port2"]) if info["node1"] == a else (info["port2"], info["port1"])]
    }
    ours = {
        frozenset({(built.name(a), a_port), (built.name(b), b_port)})
        for a, a_port, b, b_port in built.link_ends.tolist()
    }
    assert ours == expected
    assert [built.name(node) for node in range(built.servers)] == list(net.topo.hosts())


def test_what_links_impose_is_read_and_what_is_not_used_is_named(file: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        built = fabric(f"{file}:Pods,bw=2.5")
    imposed = [given for number in range(len(built.link_ends)) if (given := built.attributes(number))]
    stated = [{key: value for key, value in given.items() if key in ("rate", "queue")} for given in imposed]
    assert stated.count({"rate": "2.5Mbit", "queue": "20"}) == 2
    said = " ".join(str(one.message) for one in caught if one.category is GraphNote)
    assert "attributes of nodes are not used: ip" in said
    assert "cls" not in said


@pytest.mark.filterwarnings("ignore::topos.files.file.GraphNote")
def test_names_are_those_that_mininet_finds(file: Path) -> None:
    assert fabric(f"{file}:wide").servers == 6
    assert fabric(f"{file}:wide,pods=4").servers == 8
    assert parse(f"{file}:Pods").spec == f"{file}:Pods" == with_seed(f"{file}:Pods", 7)


def test_a_function_gives_a_graph_of_networkx(tmp_path: Path) -> None:
    path = tmp_path / "rings.py"
    path.write_text(GRAPH)
    assert fabric(str(path)).servers == 5
    assert fabric(f"{path}:ring,n=7").servers == 7


def test_a_file_imports_what_is_beside_it_and_shadows_nothing(tmp_path: Path) -> None:
    (tmp_path / "sizes.py").write_text("SIZE = 6\n")
    (tmp_path / "networkx.py").write_text("raise AssertionError('the user has a file of this name')\n")
    (tmp_path / "ring.py").write_text(
        "import networkx, sizes\ndef ring():\n    return networkx.cycle_graph(sizes.SIZE)\n"
    )
    assert fabric(str(tmp_path / "ring.py")).servers == 6


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (":Other", "has no topology 'Other'; names: Pods, wide"),
        ("", "names: Pods, wide"),
        (":experiment", "has no topology 'experiment'"),
        (":Pods,colour=red", "TypeError: .*colour"),
    ],
)
def test_what_cannot_be_built_is_one_line(file: Path, arguments: str, says: str) -> None:
    with pytest.raises(SpecError, match=says) as raised:
        parse(f"{file}{arguments}")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1/0", "line 1: ZeroDivisionError"),
        ("def", "line 1: SyntaxError"),
        ("x = 1", "it defines no topology"),
        ("def f(): return 3", "f makes a int, no Mininet topology"),
    ],
)
def test_a_file_that_is_no_topology_is_one_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "bad.py"
    path.write_text(text)
    with pytest.raises(SpecError, match=says):
        parse(str(path))
    with pytest.raises(SpecError, match="there is no file"):
        parse(str(tmp_path / "absent.py"))
