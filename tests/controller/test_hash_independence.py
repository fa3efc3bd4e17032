"""Flows over whole multi-stage networks: every path gets its share, by real switches and by agents' hashes.

Bridges of one Open vSwitch are linked port to port, real frames of many flows enter at one host's port, and the
path of each is read from what the ports have sent.
"""

from __future__ import annotations

import itertools
import struct
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import networkx as nx
import pytest
from scipy.stats import chisquare

from addressing import registry as schemes
from addressing.fields import mac
from addressing.header import Forward, Header, NextHops
from addressing.scheme import Scheme
from addressing.schemes.ecmp import Ecmp
from controller import management, plan
from controller.openflow import encode
from controller.rules import FlowTable
from hostagent.forwarding import packet
from tests.ovs import PrivateOvs, poll
from tests.topos.graphs import built
from topos import registry
from topos.fabric import Fabric

#: Frames that are on their way at once: a link of Open vSwitch's dummy ports queues a hundred.
_BATCH = 50
_PCAP_HEADER, _RECORD, _SOURCE_PORT = 24, struct.Struct("<8xI4x"), 14 + 20
#: Hashes do not change from run to run; this is how unlikely a fair choice would be.
_LEAST_P = 1e-4
#: Paths with fewer expected flows are counted together.
_LEAST_FLOWS = 10

Path = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Weighted(Ecmp):
    """Shares of 1 : 2 : 3 ... for the ports on shortest paths."""

    name: ClassVar[str] = "weighted"

    def select(self, ports: list[int], destination: int, hops: int) -> NextHops:
        total = len(ports) * (len(ports) + 1) / 2
        return tuple((Forward(port), number / total) for number, port in enumerate(ports, 1))


def expected(scheme: Scheme, source: int, destination: int) -> dict[Path, float]:
    """The share of every path: the product of the weights on it."""
    shares: dict[Path, float] = {}
    pending: list[tuple[int, Header, Path, float]] = [
        (source, header, (), weight) for header, weight in scheme.headers(source, destination)
    ]
    while pending:
        at, header, path, weight = pending.pop()
        for action, part in scheme.act(at, header):
            if not isinstance(action, Forward):
                shares[path] = shares.get(path, 0.0) + weight
                continue
            end = scheme.fabric.peer(at, action.port)
            assert end is not None
            after = action.arrival(header, scheme.tag_bits, end.number)
            pending.append((end.node, after, (*path, (at, action.port)), weight * part))
    return shares


def check_shares(counted: Mapping[Path, int], shares: Mapping[Path, float]) -> None:
    """A chi-square test over paths; a path that is not expected is an error."""
    assert set(counted) <= set(shares)
    flows = sum(counted.values())
    usual = [path for path, share in shares.items() if share * flows >= _LEAST_FLOWS]
    counts = [counted.get(path, 0) for path in usual]
    wanted = [shares[path] * flows for path in usual]
    assert len(usual) > 1
    assert min(counts) > 0, f"{counts.count(0)} of {len(usual)} paths carry nothing"
    rare = [flows - sum(counts)], [flows - sum(wanted)]
    if rare[1][0] >= _LEAST_FLOWS:
        counts, wanted = counts + rare[0], wanted + rare[1]
    scale = sum(counts) / sum(wanted)
    assert chisquare(counts, [scale * one for one in wanted]).pvalue > _LEAST_P


def leaf_spine() -> Fabric:
    """Two leaves and two spines, twice linked each: two choices in a row, eight paths."""
    graph = nx.MultiGraph([("a", "leaf0"), ("b", "leaf1")])
    for leaf, spine in itertools.product(("leaf0", "leaf1"), ("spine0", "spine1")):
        graph.add_edges_from([(leaf, spine)] * 2)
    nx.set_node_attributes(graph, {name: "server" if name in "ab" else "switch" for name in graph}, "kind")
    return registry.from_networkx(graph)


@pytest.fixture
def network(request: pytest.FixtureRequest, ovs: PrivateOvs) -> Iterator[Fabric]:
    """A bridge for every switch, linked; every port writes what it sends to a file."""
    fabric = leaf_spine() if request.param == "leaf-spine" else built(request.param)
    ovs.add_fabric(fabric)
    words: list[str] = []
    for number in range(len(fabric.link_ends)):
        link = fabric.link(number)
        for end, kind in ((link.a, "pstream=p"), (link.b, "stream=")):
            if end.node >= fabric.servers:
                port = f"{fabric.name(end.node)}-eth{end.number}"
                words += ["--", "set", "interface", port, f"options:tx_pcap={ovs.directory}/{port}.pcap"]
                if min(link.a.node, link.b.node) >= fabric.servers:
                    words.append(f"options:{kind}unix:{ovs.directory}/link{number}")
    ovs.vsctl(*words)
    poll(
        lambda: (
            "disconnected" not in (states := ovs.appctl("netdev-dummy/conn-state")) and "connected" in states
        ),
        30,
    )
    yield fabric
    ovs.remove_fabric(fabric)
    for file in ovs.directory.glob("*.pcap"):
        file.unlink()


def install(ovs: PrivateOvs, scheme: Scheme) -> None:
    """The tables of all switches, and the basis of each."""
    for switch in range(scheme.fabric.servers, scheme.fabric.size):
        table, name = plan.desired_table(scheme, switch), scheme.fabric.name(switch)
        ovs.send(name, encode.reset() + encode.changes(plan.diff(FlowTable(), table)))
        management.set_hash_basis(ovs.directory, name, table.groups, switch)


def frame(scheme: Scheme, destination: int, flow: int) -> bytes:
    """A UDP packet of a flow, with the label of its destination."""
    target = mac.encode(scheme.label(destination), scheme.label_bits).to_bytes(6, "big")
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 46, 0, 0, 64, 17, 0, bytes((10, 0, 0, 1)), bytes((10, 0, 0, 9)))
    return (
        target
        + bytes.fromhex("020000000001")
        + b"\x08\x00"
        + ip
        + struct.pack("!HHHH", flow, 80, 26, 0)
        + bytes(18)
    )


def flows_sent(ovs: PrivateOvs, port: str) -> set[int]:
    """The flows of which a port has sent a frame."""
    ports, data = set(), (ovs.directory / f"{port}.pcap").read_bytes()[_PCAP_HEADER:]
    while len(data) >= _RECORD.size:
        (size,) = _RECORD.unpack_from(data)
        record, data = data[_RECORD.size : _RECORD.size + size], data[_RECORD.size + size :]
        if len(record) > _SOURCE_PORT + 2:
            ports.add(int.from_bytes(record[_SOURCE_PORT : _SOURCE_PORT + 2], "big"))
    return ports


def paths_taken(ovs: PrivateOvs, scheme: Scheme, source: int, destination: int, flows: int) -> Counter[Path]:
    """How many flows take each path, from the ports that have sent them."""
    fabric = scheme.fabric
    (first,), (last,) = (list(fabric.ports(host)) for host in (source, destination))
    entry, leaving = (f"{fabric.name(end.node)}-eth{end.number}" for _, end in (first, last))
    for start in range(1, flows + 1, _BATCH):
        batch = range(start, min(start + _BATCH, flows + 1))
        ovs.appctl("netdev-dummy/receive", entry, *(frame(scheme, destination, flow).hex() for flow in batch))
        poll(lambda wanted=set(batch): wanted <= flows_sent(ovs, leaving), 30)  # type: ignore[misc]
    taken: dict[int, dict[int, int]] = {}
    for switch in range(fabric.servers, fabric.size):
        for port, _ in fabric.ports(switch):
            for flow in flows_sent(ovs, f"{fabric.name(switch)}-eth{port}"):
                taken.setdefault(flow, {})[switch] = port
    return Counter(_ordered(fabric, source, hops) for hops in taken.values())


def _ordered(fabric: Fabric, source: int, hops: dict[int, int]) -> Path:
    path = [(source, 1)]
    while (end := fabric.peer(*path[-1])) is not None and end.node in hops:
        path.append((end.node, hops[end.node]))
    assert len(path) == len(hops) + 1
    return tuple(path)


CASES = [
    ("fattree:4", Ecmp, 400), ("fattree:4", Weighted, 400), ("fattree:8", Ecmp, 800),
    ("butterfly:3,hosts=1", Ecmp, 400), ("leaf-spine", Ecmp, 400),
]  # fmt: skip


@pytest.mark.ovs
@pytest.mark.parametrize(("network", "kind", "flows"), CASES, indirect=["network"])
def test_flows_between_two_hosts_take_every_path(
    network: Fabric, kind: type[Ecmp], flows: int, ovs: PrivateOvs
) -> None:
    scheme = kind(network)
    install(ovs, scheme)
    source, destination = 0, max(range(1, network.servers), key=lambda host: len(expected(scheme, 0, host)))
    shares = expected(scheme, source, destination)
    assert len(shares) > 1
    check_shares(paths_taken(ovs, scheme, source, destination, flows), shares)


@pytest.mark.parametrize(
    ("spec", "name"),
    [("torus:5x5", "ecmp"), ("clot:6x6", "pow"), ("bcube:3,2", "ecmp"), ("torus:5x5", "min-ad")],
)
def test_flows_that_agents_hash_take_every_path(spec: str, name: str) -> None:
    """Servers that relay choose by their own number; switches between them have one next hop."""
    fabric = built(spec)
    scheme, taken = schemes.bind(name, fabric), Counter[Path]()
    destination = max(range(1, fabric.servers), key=lambda server: len(expected(scheme, 0, server)))
    shares = expected(scheme, 0, destination)
    for flow in range(1, 40 * len(shares)):
        data = bytes(packet.FRAME_OFFSET) + frame(scheme, destination, flow)
        taken[_hashed(scheme, destination, memoryview(data))] += 1
    check_shares(taken, shares)


def _hashed(scheme: Scheme, destination: int, slot: memoryview) -> Path:
    at: int = 0
    path: Path = ()
    ((header, _),) = scheme.headers(0, destination)
    while True:
        next_hops = scheme.act(at, header)
        bounds = list(itertools.accumulate(weight for _, weight in next_hops))[:-1]
        action, _ = next_hops[bisect_right(bounds, packet.flow_hash(slot, len(slot), at))]
        if not isinstance(action, Forward):
            return path
        path, end = (*path, (at, action.port)), scheme.fabric.peer(at, action.port)
        assert end is not None
        header, at = action.arrival(header, scheme.tag_bits, end.number), end.node
