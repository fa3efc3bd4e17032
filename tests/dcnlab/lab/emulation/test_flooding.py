"""Ports that flood form a spanning tree of the links that are up; what else is pure about controllers."""

from __future__ import annotations

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcnlab.lab.emulation.switches.connections import _CHANGE
from dcnlab.lab.emulation.switches.controllers import _TLS_ERROR, _VERSIONS
from dcnlab.lab.errors import OptionError
from dcnlab.lab.instruments.counting.port_counters import PortCounters
from dcnlab.lab.instruments.flood_watch import busiest, repetitions
from dcnlab.lab.options.controller_choice import ControllerChoice
from topos import registry
from topos.trees import outside_tree

SPECS = ("fattree:4", "jellyfish:4,8,3", "bcube:4,1", "dragonfly:2,1,1", "slimfly:3,hosts=1")


@given(st.sampled_from(SPECS), st.data())
def test_a_spanning_tree_is_left(spec: str, data: st.DataObject) -> None:
    fabric = registry.fabric(spec)
    links = list(fabric.links())
    down = data.draw(st.frozensets(st.integers(0, len(links) - 1), max_size=len(links) // 2))
    silent = outside_tree(fabric, down)
    whole, tree = networkx.Graph(), networkx.MultiGraph()
    switches = range(fabric.servers, fabric.size)
    whole.add_nodes_from(switches)
    tree.add_nodes_from(switches)
    for link in links:
        between = not fabric.is_server(link.a.node) and not fabric.is_server(link.b.node)
        assert (link.a in silent) == (link.b in silent)
        assert between or link.a not in silent
        if between and link.index not in down:
            whole.add_edge(link.a.node, link.b.node)
            if link.a not in silent:
                tree.add_edge(link.a.node, link.b.node)
    assert networkx.is_forest(tree) if tree else True
    assert networkx.number_connected_components(tree) == networkx.number_connected_components(whole)


def test_the_forms_of_a_controller() -> None:
    parse = ControllerChoice.parse
    assert (parse("ours").kind, parse("ours").tables) == ("ours", True)
    assert (parse("none").kind, parse("none").tables) == ("none", False)
    remote = parse("remote:[::1]:6653")
    assert (remote.kind, remote.remotes, remote.tls, remote.tables) == (
        "remote",
        (("::1", 6653),),
        False,
        False,
    )
    several = parse("ssl:sdn.example.org:6653,ssl:h:1")
    assert (several.tls, several.remotes) == (True, (("sdn.example.org", 6653), ("h", 1)))
    beside, alone = parse("app:a.py,ryu.app.ofctl_rest"), parse("app-only:a.py")
    assert (beside.applications, beside.tables) == (("a.py", "ryu.app.ofctl_rest"), True)
    assert (alone.applications, alone.tables) == (("a.py",), False)


@pytest.mark.parametrize(
    "text", ["", "our", "remote", "remote:", "remote:h", "remote:h:0", "remote:h:65536", "app:a,,b"]
)
def test_other_forms_are_refused_in_one_line(text: str) -> None:
    with pytest.raises(OptionError) as raised:
        ControllerChoice.parse(text)
    assert "\n" not in str(raised.value)


def test_what_open_vswitch_logs() -> None:
    """Its wording in 3.1."""
    head = "2026-11-22T15:12:56.267Z|00071|"
    refused = f"{head}vconn|WARN|s0<->tcp:127.0.0.1:6653: version negotiation failed (we support version 0x04, "
    match = _VERSIONS.search(f"{refused}peer supports version 0x01)")
    assert match is not None
    assert match[1] == "1"
    error = "error:0A000086:SSL routines::certificate verify failed"
    text = f"{head}stream_ssl|WARN|SSL_connect: {error}\nnext: line\n"
    failed = _TLS_ERROR.search(text)
    assert failed is not None
    assert failed[1] == "certificate verify failed"
    changes = [
        f"{head}rconn|INFO|s1<->tcp:127.0.0.1:6653: connecting...",
        f"{head}rconn|INFO|s1<->tcp:127.0.0.1:6653: connected",
        f"{head}rconn|WARN|s1<->tcp:127.0.0.1:6653: connection dropped (Connection reset by peer)",
    ]
    read = _CHANGE.findall("\n".join(changes).encode())
    assert [change for _, _, change in read] == [
        b"connecting", b"connected", b"connection dropped (Connection reset by peer)",
    ]  # fmt: skip
    assert {(switch, target) for switch, target, _ in read} == {(b"s1", b"tcp:127.0.0.1:6653")}


def test_a_busy_link_is_looked_at() -> None:
    def port(to: str, packets: int, at: str = "s0") -> PortCounters:
        return PortCounters(at, 1, to, packets, 0, 0, 0, 0, 0, 0, 0)

    others = [port("s0", 0, "s1"), port("s0", 0, "s2")]
    before = [port("h0", 0), port("s1", 0), port("s2", 0), *others]
    now = [port("h0", 9000), port("s1", 30), port("s2", 500), *others]
    assert busiest(before, now, 2.0) == (now[2], 250.0)
    assert busiest(before, [port("h0", 9000), port("s1", 30), port("s2", 30), *others], 2.0) is None
    assert busiest([], [], 2.0) is None
    assert repetitions(iter([b"a", b"b", b"a"])) == 2
    assert repetitions(iter([])) == 0
