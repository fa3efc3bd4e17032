"""Launching: from a configuration to everything that runs, stage by stage.

The controller and the agents' common parent are started first, so that they import
while namespaces, cables and switches are made.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from controller.client import ControllerProcess
from hostagent.client import AgentPlace, AgentPool

from addressing import ipv4, mac
from addressing.scheme import Scheme
from lab import netns, openvswitch
from lab.config import LabConfig, check_emulable, resolve
from lab.errors import LabError
from lab.network import Interface, LabHost, LabNet, LabSwitch
from lab.openvswitch import Bridge, Shard
from topos.graph import Fabric

Report = Callable[[str], None]
_PATIENCE = 120.0


@dataclass
class Running:
    """Everything that a launch has made."""

    config: LabConfig
    fabric: Fabric
    scheme: Scheme
    shards: tuple[Shard, ...]
    controller: ControllerProcess | None
    agents: AgentPool | None
    datapath: str
    seconds: dict[str, float] = field(default_factory=dict)

    def namespace(self, node: int) -> str:
        """The network namespace in which a node's interfaces live."""
        if self.fabric.is_server(node):
            return self.fabric.name(node)
        return self._shard_of[self.fabric.name(node)].netns

    def shard(self, switch: str) -> Shard:
        """The Open vSwitch that carries a switch."""
        return self._shard_of[switch]

    def __post_init__(self) -> None:
        self._shard_of = {bridge.name: shard for shard in self.shards for bridge in shard.bridges}


def interface(fabric: Fabric, node: int, port: int) -> str:
    """The name of the interface of a port."""
    return f"{fabric.name(node)}-eth{port}"


def launch(config: LabConfig, report: Report) -> Running:
    """Bring a lab up; ``report`` hears the name of each stage."""
    clock = _Stages(report)
    fabric, scheme = resolve(config.topology, config.scheme)
    check_emulable(scheme)
    shards = openvswitch.split(_bridges(fabric))
    datapath = choose_datapath(config.datapath)
    controller = ControllerProcess(config.topology, config.scheme, openvswitch.CONTROLLER_PORT, config.backend)
    agents = AgentPool(config.topology, config.scheme, mode=config.agents, spread=config.spread)
    running = Running(
        config,
        fabric,
        scheme,
        shards,
        controller if shards else None,
        agents if fabric.relaying else None,
        datapath,
    )
    clock.stage("namespaces")
    _make_namespaces(fabric, shards)
    clock.stage("switch daemons")
    openvswitch.start_daemons(shards)
    clock.stage("cables")
    netns.connect(_cables(running))
    _configure_plain_hosts(running)
    clock.stage("switches")
    openvswitch.make_bridges(shards, {"kernel": "system", "userspace": "netdev"}[datapath])
    clock.stage("agents")
    if running.agents is not None:
        running.agents.start(_places(fabric))
        running.agents.wait_ready(_PATIENCE)
    clock.stage("tables")
    if running.controller is not None:
        running.controller.wait_ready(_PATIENCE)
    running.seconds = clock.finish()
    return running


def choose_datapath(wanted: str) -> str:
    """``kernel`` where the kernel has it and nobody asked otherwise, else ``userspace``."""
    available = openvswitch.kernel_datapath()
    if wanted == "kernel" and not available:
        raise LabError(
            "this kernel has no openvswitch datapath: load it (modprobe openvswitch) or leave it to auto"
        )
    return "kernel" if available and wanted in ("auto", "kernel") else "userspace"


def mininet_objects(running: Running, set_link: Callable[[str, str, bool], None]) -> LabNet:
    """The lab as a Mininet: hosts, switches and links as objects."""
    fabric, scheme = running.fabric, running.scheme
    net = LabNet(set_link)
    nodes = {}
    for node in range(fabric.size):
        name = fabric.name(node)
        if fabric.is_server(node):
            nodes[node] = net.addHost(name, cls=LabHost, netns=name, ip=None)
        else:
            nodes[node] = net.addSwitch(
                name, cls=LabSwitch, shard=running.shard(name), dpid=_dpid(fabric, node)
            )
    for node in range(fabric.servers):
        if fabric.relaying:
            Interface("dcn0", nodes[node], 0, ip=ipv4.text(scheme.ipv4(node)))
    for link in fabric.links():
        ends = []
        for end in (link.a, link.b):
            address = ipv4.text(scheme.ipv4(end.node)) if fabric.is_plain(end.node) else ""
            name = interface(fabric, end.node, end.number)
            hardware = mac.text(mac.hardware(end.node, end.number))
            ends.append(Interface(name, nodes[end.node], end.number, hardware, address))
        net.join(*ends)
    return net


class _Stages:
    """Names and seconds of the stages of a launch."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._marks: list[tuple[str, float]] = []

    def stage(self, name: str) -> None:
        self._marks.append((name, time.perf_counter()))
        self._report(name)

    def finish(self) -> dict[str, float]:
        ends = [*(at for _, at in self._marks[1:]), time.perf_counter()]
        return {name: round(end - at, 3) for (name, at), end in zip(self._marks, ends, strict=True)}


def _dpid(fabric: Fabric, switch: int) -> int:
    return switch - fabric.servers + 1


def _bridges(fabric: Fabric) -> list[Bridge]:
    return [
        Bridge(
            fabric.name(switch),
            _dpid(fabric, switch),
            tuple((interface(fabric, switch, port), port) for port, _ in fabric.ports(switch)),
        )
        for switch in range(fabric.servers, fabric.size)
    ]


def _make_namespaces(fabric: Fabric, shards: tuple[Shard, ...]) -> None:
    """One per server and one per shard, the shards tied to the lab's main namespace."""
    netns.create([fabric.name(node) for node in range(fabric.servers)] + [shard.netns for shard in shards])
    netns.set_up("lo", True)
    for shard in shards:
        inner, outer = f"ctl{shard.index}", f"ovs{shard.index}"
        netns.link_to_main(outer, inner, shard.netns)
        netns.set_address(outer, shard.controller_side, 30)
        address = shard.controller_side.removesuffix("1") + "2"
        netns.set_address_in(shard.netns, inner, address, 30)


def _cables(running: Running) -> list[netns.Cable]:
    """One veth pair per link; servers that relay do without ARP."""
    fabric = running.fabric
    cables = []
    for link in fabric.links():
        a, b = link.a, link.b
        cables.append(
            netns.Cable(
                interface(fabric, a.node, a.number),
                running.namespace(a.node),
                mac.text(mac.hardware(a.node, a.number)),
                interface(fabric, b.node, b.number),
                running.namespace(b.node),
                mac.text(mac.hardware(b.node, b.number)),
                arp=fabric.is_plain(a.node),
            )
        )
    return cables


def _configure_plain_hosts(running: Running) -> None:
    """Addresses of hosts whose kernel does the networking; relays get theirs from their agent."""
    fabric, scheme = running.fabric, running.scheme
    for node in range(fabric.servers):
        if fabric.is_plain(node):
            address = ipv4.text(scheme.ipv4(node))
            port = next(port for port, _ in fabric.ports(node))
            netns.set_address_in(fabric.name(node), interface(fabric, node, port), address, 8)


def _places(fabric: Fabric) -> list[AgentPlace]:
    """Where each agent is to work: its namespace and the interface of each port."""
    return [
        AgentPlace(
            node,
            str(netns.path(fabric.name(node))),
            {port: interface(fabric, node, port) for port, _ in fabric.ports(node)},
        )
        for node in range(fabric.servers)
    ]
