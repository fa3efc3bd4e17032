"""The addressing plan of labs without a scheme, against Python's own arithmetic of networks."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from itertools import pairwise

import networkx
import pytest

from addressing import unrouted
from addressing.fields import ipv6
from topos import registry
from topos.spec import SpecError

CASES = [
    (topology, f"none:routers={routers},links={length}")
    for topology in (
        "fattree:4",
        "bcube:4,1",
        "torus:3x3",
        "jellyfish:4,6,3",
        "star:3",
        "file:petersen.edgelist",
    )
    for routers in ("relays", "switches", "none")
    for length in (30, 31)
]


@pytest.mark.parametrize(("topology", "scheme"), CASES)
def test_every_subnet_is_a_prefix_of_its_own(topology: str, scheme: str) -> None:
    plan = unrouted.bind(scheme, registry.fabric(topology)).plan
    networks = [IPv4Network((net.network, net.length)) for net in plan.subnets]
    assert all(a.broadcast_address < b.network_address for a, b in pairwise(networks))
    for net, whole in zip(plan.subnets, networks, strict=True):
        usable = set(whole) if whole.prefixlen == 31 else set(whole.hosts())
        addresses = [IPv4Address(address) for address in net.addresses.values()]
        assert len(set(addresses)) == len(addresses)
        assert set(addresses) <= usable
        wide = IPv6Network((ipv6.embed(net.network), 96 + net.length))
        assert all(IPv6Address(ipv6.embed(int(address))) in wide for address in addresses)
    loopbacks = {IPv4Address(plan.loopback(router)) for router in plan.fabric.routers}
    assert len(loopbacks) == len(plan.fabric.routers)
    assert not any(address in IPv4Network("10.0.0.0/9") for address in loopbacks)


@pytest.mark.parametrize(("topology", "scheme"), CASES)
def test_subnets_are_the_components_that_switches_join(topology: str, scheme: str) -> None:
    fabric = unrouted.bind(scheme, registry.fabric(topology)).fabric
    plan = unrouted.bind(scheme, registry.fabric(topology)).plan
    graph = networkx.Graph()
    for link in fabric.links():
        ends = [
            ("port", end) if fabric.is_server(end.node) else ("switch", end.node) for end in (link.a, link.b)
        ]
        graph.add_edge(*ends)
    expected = {
        frozenset(port for kind, port in component if kind == "port")
        for component in networkx.connected_components(graph)
    } - {frozenset()}
    assert {frozenset(net.addresses) for net in plan.subnets} == expected


@pytest.mark.parametrize(("topology", "scheme"), CASES)
def test_routers_keep_names_ports_and_links(topology: str, scheme: str) -> None:
    before, after = registry.fabric(topology), unrouted.bind(scheme, registry.fabric(topology)).fabric
    assert {before.name(node) for node in range(before.size)} == {
        after.name(node) for node in range(after.size)
    }
    for old, new in zip(before.links(), after.links(), strict=True):
        for a, b in ((old.a, new.a), (old.b, new.b)):
            assert (before.name(a.node), a.number) == (after.name(b.node), b.number)
    for node in range(after.size):
        assert after.index(after.name(node)) == node
        assert after.family.label(node) == before.family.label(before.index(after.name(node)))


@pytest.mark.parametrize(("topology", "scheme"), CASES)
def test_a_host_has_its_gateway_on_its_subnet(topology: str, scheme: str) -> None:
    plan = unrouted.bind(scheme, registry.fabric(topology)).plan
    for host in filter(plan.fabric.is_end_host, range(plan.fabric.servers)):
        near = [net for net in plan.subnets if any(port.node == host for port in net.addresses)]
        routers = [a for net in near for port, a in net.addresses.items() if port.node in plan.fabric.routers]
        assert plan.gateway(host) == (routers[0] if routers else None)
        assert plan.address(host) in near[0].addresses.values()


def test_a_file_says_which_nodes_are_routers() -> None:
    graph = networkx.Graph()
    graph.add_nodes_from([("a", {"kind": "server"}), ("b", {"kind": "server"}), ("l2", {"kind": "switch"})])
    graph.add_nodes_from([("r1", {"kind": "router"}), ("r2", {"kind": "switch", "router": "yes"})])
    graph.add_edges_from([("a", "l2"), ("l2", "r1"), ("r1", "r2"), ("r2", "b")])
    fabric = unrouted.bind("none", registry.from_networkx(graph)).fabric
    assert [fabric.name(node) for node in range(fabric.size)] == ["a", "b", "r1", "r2", "l2"]
    assert [fabric.node(node).kind for node in range(5)] == ["server", "server", "switch", "switch", "switch"]
    assert (fabric.servers, sorted(fabric.routers)) == (4, [2, 3])


def test_wrong_values_are_one_line() -> None:
    with pytest.raises(SpecError, match="routers must be one of relays, switches, none, not 'all'"):
        unrouted.bind("none:routers=all", registry.fabric("fattree:4"))
    with pytest.raises(SpecError, match="links must be at most 31, not 32"):
        unrouted.bind("none:links=32", registry.fabric("fattree:4"))
