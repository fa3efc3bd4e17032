"""The launch of a lab, stage by stage.

The controller and the agents' supervisor start first, so that they import modules while namespaces,
links and switches are created.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from addressing.fields import ipv4, ipv6, mac
from addressing.scheme import Scheme
from controller.client import ControllerProcess
from dcnlab.lab import images, naming
from dcnlab.lab.autoconfig import configuring
from dcnlab.lab.config import LabConfig
from dcnlab.lab.emulation import controllers, export, neighbours, netns, openvswitch, tunnels
from dcnlab.lab.emulation.connections import Connections
from dcnlab.lab.emulation.flooding import FloodingTree
from dcnlab.lab.emulation.images.roots import Root, Roots
from dcnlab.lab.emulation.impairments import Impairments
from dcnlab.lab.emulation.isolation.ownership import owned_namespaces
from dcnlab.lab.emulation.isolation.programs import Isolation
from dcnlab.lab.emulation.openvswitch import Bridge, Shard
from dcnlab.lab.emulation.outside import Outside
from dcnlab.lab.emulation.receive_buffers import ReceiveBuffers
from dcnlab.lab.emulation.waiting import STALL
from dcnlab.lab.errors import LabError
from dcnlab.lab.local_part import MTU, LocalPart
from dcnlab.lab.miswiring import swapped_ports
from hostagent.client import AgentPlacement, AgentPool
from topos.fabric import Fabric
from topos.graph import Link, Port

Report = Callable[[str], None]
OnLinkChange = Callable[[Port, bool], None]
OnEvent = Callable[[dict[str, Any]], None]


@dataclass
class Running:
    """The parts of a launched lab."""

    config: LabConfig
    fabric: Fabric
    scheme: Scheme
    shards: tuple[Shard, ...]
    controller: ControllerProcess | None
    agents: AgentPool | None
    datapath: str
    #: Of the ports of switches; None with the kernel's datapath.
    receive_buffers: ReceiveBuffers | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    #: The last autoconfiguration, where servers started without addresses.
    aacm: dict[str, Any] = field(default_factory=dict)
    #: The number of autoconfigurations so far.
    epoch: int = 0
    #: What the lab reaches outside its sandbox.
    outside: Outside = field(default_factory=Outside)
    #: The hardware addresses that plain hosts know as permanent neighbours.
    known: neighbours.Addresses = field(default_factory=dict)
    #: What of the fabric this machine runs; None: all of it.
    part: LocalPart | None = None

    def here(self, node: int) -> bool:
        """Whether this machine runs a node."""
        return self.part is None or node in self.part.nodes

    @cached_property
    def servers(self) -> Sequence[int]:
        """The servers that this machine runs."""
        return local(self.fabric, self.part, range(self.fabric.servers))

    @cached_property
    def switches(self) -> Sequence[int]:
        """The switches that this machine runs."""
        return local(self.fabric, self.part, range(self.fabric.servers, self.fabric.size))

    def local_ends(self, link: Link) -> list[tuple[str, str]]:
        """(namespace, interface) of the ends of a link that are on this machine."""
        return [self.nic(end) for end in (link.a, link.b) if self.here(end.node)]

    def namespace(self, node: int) -> str:
        """The network namespace with the interfaces of a node; LabError for one on another machine."""
        if not self.here(node):
            raise LabError(f"{self.fabric.name(node)} is on another machine")
        if self.fabric.is_server(node):
            return self.fabric.name(node)
        return self._shard_of[self.fabric.name(node)].netns

    def nic(self, port: Port) -> tuple[str, str]:
        """(namespace, interface) of a port."""
        return self.namespace(port.node), interface(self.fabric, port.node, port.number)

    def shard(self, switch: str) -> Shard:
        """The shard that has a switch as a bridge."""
        return self._shard_of[switch]

    @cached_property
    def host_interfaces(self) -> dict[int, str]:
        """The interface of each plain host, by server."""
        fabric = self.fabric
        hosts = filter(fabric.is_end_host, self.servers)
        return {node: interface(fabric, node, next(port for port, _ in fabric.ports(node))) for node in hosts}

    def introduce_hosts(self, scheme: Scheme) -> None:
        """Have plain hosts know each other's hardware addresses under ``scheme``, which failures may change."""
        if not self.choice.tables:
            return  # hosts ask, and a controller that is not ours has them answered
        now = neighbours.addresses(scheme)
        changed = {server: mac_ for server, mac_ in now.items() if self.known.get(server) != mac_}
        neighbours.install(scheme, changed, self.host_interfaces)
        self.known = now

    @property
    def fast_path(self) -> str:
        """``on``, ``off``, or ``off`` with the reason why a fast path that was asked for is missing."""
        if self.agents is None or self.config.fast_path == "off":
            return "off"
        return f"off: {self.agents.no_fast_path}" if self.agents.no_fast_path else "on"

    def root(self, host: str, image: str = "") -> Root | None:
        """The root file system of a host's programs: of ``image``, or the host's own; None: the machine's."""
        image = image or images.of_host(self.config.image, host)
        return self._roots.ready(host, image) if image else None

    def configure(self, scheme: Scheme) -> None:
        """Let the servers configure their coordinates, or their labels under ``scheme``; LabError with
        every error found."""
        assert self.agents is not None
        self.epoch += 1
        self.aacm = configuring.configure(self.agents, scheme, self.epoch)

    def __post_init__(self) -> None:
        self.choice = self.config.choice()
        self.connections = Connections(self.shards)
        #: Where the switches flood, if they do it along a tree.
        self.flooding = FloodingTree(self.fabric, self.shards) if self.config.no_loops else None
        self._shard_of = {bridge.name: shard for shard in self.shards for bridge in shard.bridges}
        #: Starts programs in hosts that are isolated.
        self.isolation = Isolation(self.fabric.index) if self.config.isolate else None
        self._roots = Roots()
        #: Delay, loss and bandwidth of the links.
        self.impairments = Impairments(
            self.fabric, self.local_ends, self.config.shape, self.config.shapes(self.fabric)
        )


def local(fabric: Fabric, part: LocalPart | None, nodes: range) -> Sequence[int]:
    """Those of the nodes that are on this machine."""
    return nodes if part is None else [node for node in nodes if node in part.nodes]


def interface(fabric: Fabric, node: int, port: int) -> str:
    """The name of the interface of a port."""
    return f"{fabric.name(node)}-eth{port}"


def launch(
    config: LabConfig,
    scheme: Scheme,
    on_link_change: OnLinkChange,
    report: Report,
    outside: Outside | None = None,
    on_controller_event: OnEvent = lambda _: None,
    part: LocalPart | None = None,
    make_tunnels: tunnels.Make | None = None,
) -> Running:
    """Launch a lab, or with ``part`` one machine's part of it, with ``make_tunnels`` to the others.

    ``on_link_change(port, up)`` is called from other threads for every port whose link goes down or
    comes up, ``on_controller_event`` with what our controller reports; ``report`` is called with the name of
    each stage.
    """
    outside = outside or Outside()
    clock = Stages(report)
    fabric = scheme.fabric
    shards = openvswitch.split(_bridges(fabric, part))
    datapath = choose_datapath(config.datapath)
    agents = spawn_agents(config, fabric, on_link_change)
    clock.stage("namespaces")
    netns.create(shard.netns for shard in shards)
    controller = spawn_controller(
        config, fabric, shards, outside, on_link_change, on_controller_event, part=part
    )
    running = Running(config, fabric, scheme, shards, controller, agents, datapath, outside=outside, part=part)
    build_network(running, clock, make_tunnels)
    if agents is not None and config.autoconfigure:
        clock.stage("addresses")
        enable_protocols(running)
        running.configure(scheme)
    clock.stage("tables")
    if controller is not None:
        controller.wait_ready(STALL)
    if running.choice.kind in ("remote", "app") and not running.choice.tables:
        clock.stage("controller")
        controllers.wait_connected(running.choice, shards, running.connections, outside)
    running.seconds = clock.finish()
    return running


def enable_protocols(running: Running) -> None:
    """Have the agents run the protocol by which servers configure themselves, where they do."""
    if running.agents is not None and running.config.autoconfigure:
        configuring.enable_configuration(running.agents, running.scheme)


def build_bare_network(config: LabConfig, scheme: Scheme) -> Running:
    """Only the network: no controller, no agents."""
    shards = openvswitch.split(_bridges(scheme.fabric))
    netns.create(shard.netns for shard in shards)
    running = Running(config, scheme.fabric, scheme, shards, None, None, choose_datapath(config.datapath))
    build_network(running, Stages(lambda _: None))
    return running


def build_network(running: Running, clock: Stages, make_tunnels: tunnels.Make | None = None) -> None:
    """Create the servers' namespaces, links and switches; the shards' namespaces exist already.

    Open vSwitch starts while namespaces and links are created.  In large networks agents come before the
    switches: an ovs-vswitchd hears of the TUN devices in all servers that it is linked to, and looks through
    all its bridges at each event, which more than doubled the processor time of 32 of them.
    """
    fabric, shards = running.fabric, running.shards
    with ThreadPoolExecutor(1) as beside:
        kind = {"kernel": "system", "userspace": "netdev"}[running.datapath]
        target = openvswitch.target(running.choice)
        prepared = beside.submit(
            openvswitch.prepare,
            shards,
            kind,
            offloads=running.config.offloads,
            versions=("OpenFlow10", "OpenFlow13") if running.config.no_loops else ("OpenFlow13",),
            controller=target,
            tls=running.outside.tls,
        )
        _create_hosts(running)
        clock.stage("links")
        netns.create_veth_pairs(_veth_pairs(running))
        if running.part is not None and make_tunnels is not None:
            tunnels.create(running.part, _tunnels(running, running.part), make_tunnels)
        _configure_plain_hosts(running)
        starting = prepared.result()
        carrying = beside.submit(netns.await_running, list(_ends(running)))
        agents_first = not openvswitch.starts_early(shards)
        if running.agents is not None:
            running.agents.start(placements(fabric, running.servers))
        if agents_first:
            _await_agents(running, clock)
        clock.stage("switches")
        openvswitch.start_switches(shards, starting, target)
        if running.flooding is not None:
            running.flooding.follow(())
        if running.datapath == "userspace":
            running.receive_buffers = ReceiveBuffers(shards, queues=running.impairments.any_launched())
            running.receive_buffers.keep()
        if not agents_first:
            _await_agents(running, clock)
        carrying.result()
    _export(running)
    running.impairments.launch()  # last: Open vSwitch removes queueing disciplines from ports that it adds


def _export(running: Running) -> None:
    """Have the switches send what they see to the collectors that the user wants."""
    fabric, scheme, shards = running.fabric, running.scheme, running.shards
    hosts: list[int] = []
    for collector in running.config.collectors():
        if running.part is not None:
            raise LabError(f"{collector.protocol} needs a lab on one machine")
        server = naming.server(fabric, collector.server, scheme)
        address = ipv4.text(scheme.ipv4(server)) if 4 in scheme.ip_versions else ""
        if server not in hosts:
            hosts.append(server)
            export.connect(shards, hosts.index(server), fabric.name(server), address)
        export.start(shards, collector, hosts.index(server), address, running.config.sampling)


def _create_hosts(running: Running) -> None:
    """Create the servers' namespaces; with isolation they belong to user namespaces of their own."""
    names = list(map(running.fabric.name, running.servers))
    if running.isolation is None:
        netns.create(names)
        return
    with owned_namespaces(len(names)) as enter_new:
        netns.create(names, enter_new)


def _await_agents(running: Running, clock: Stages) -> None:
    """Wait until all agents are ready, if there are any, with the fast path if it is required."""
    if running.agents is not None:
        clock.stage("agents")
        running.agents.wait_ready(STALL)
        if running.config.fast_path == "on" and running.agents.no_fast_path:
            text = f"no fast path: {running.agents.no_fast_path}; `--fast-path auto` does without it"
            raise LabError(text)


def spawn_agents(config: LabConfig, fabric: Fabric, on_link_change: OnLinkChange) -> AgentPool | None:
    """Start the agents' supervisor, where servers relay."""
    if not fabric.relaying:
        return None

    def carrier(node: int, port: int, up: bool) -> None:
        on_link_change(Port(node, port), up)

    pool = AgentPool(config.agent_options())
    pool.on_link_change = carrier
    return pool


def spawn_controller(
    config: LabConfig,
    fabric: Fabric,
    shards: tuple[Shard, ...],
    outside: Outside,
    on_link_change: OnLinkChange,
    on_event: OnEvent,
    resume: Sequence[int] | None = None,
    part: LocalPart | None = None,
) -> ControllerProcess | None:
    """Start the controller, where there are switches.

    With ``resume``, the links that are down, it takes over switches that have their tables already.
    """

    def event(message: dict[str, Any]) -> None:
        if message["event"] == "port":
            on_link_change(Port(fabric.index(message["switch"]), message["port"]), message["up"])
        elif message["event"] == "rest" and not message["served"]:
            outside.close_rest()
        on_event(message)

    switches = None if part is None else local(fabric, part, range(fabric.servers, fabric.size))
    return controllers.spawn(config, config.choice(), shards, outside, event, resume, switches)


def choose_datapath(wanted: str) -> str:
    """``kernel`` if the kernel has the datapath and the option allows it, else ``userspace``."""
    available = openvswitch.kernel_datapath()
    if wanted == "kernel" and not available:
        raise LabError(
            "this kernel has no openvswitch datapath: load it (modprobe openvswitch) or use --datapath auto"
        )
    return "kernel" if available and wanted in ("auto", "kernel") else "userspace"


class Stages:
    """The stages of a launch and their durations in seconds."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._marks: list[tuple[str, float]] = []

    def stage(self, name: str) -> None:
        """End the stage before and begin one; report its name."""
        self._marks.append((name, time.perf_counter()))
        self._report(name)

    def finish(self) -> dict[str, float]:
        """End the last stage: the duration of each, rounded to milliseconds."""
        ends = [*(at for _, at in self._marks[1:]), time.perf_counter()]
        return {name: round(end - at, 3) for (name, at), end in zip(self._marks, ends, strict=True)}


def dpid(fabric: Fabric, switch: int) -> int:
    """The datapath id of a switch: its number plus one."""
    return switch - fabric.servers + 1


def _bridges(fabric: Fabric, part: LocalPart | None = None) -> list[Bridge]:
    return [
        Bridge(
            fabric.name(switch),
            dpid(fabric, switch),
            tuple((interface(fabric, switch, port), port) for port, _ in fabric.ports(switch)),
        )
        for switch in local(fabric, part, range(fabric.servers, fabric.size))
    ]


def _veth_pairs(running: Running) -> list[netns.VethPair]:
    """One veth pair per link; servers that relay use no ARP."""
    fabric = running.fabric
    swapped = swapped_ports(fabric, running.config.miswire)
    pairs, mtu = [], running.part.mtu if running.part is not None else MTU
    for link in _links(running, ends=2):
        a, b = swapped.get(link.a, link.a), swapped.get(link.b, link.b)
        pairs.append(
            netns.VethPair(
                interface(fabric, a.node, a.number),
                running.namespace(a.node),
                mac.text(mac.hardware(a.node, a.number)),
                interface(fabric, b.node, b.number),
                running.namespace(b.node),
                mac.text(mac.hardware(b.node, b.number)),
                arp=fabric.is_end_host(a.node) or fabric.is_end_host(b.node),
                mtu=mtu,
            )
        )
    return pairs


def _links(running: Running, ends: int) -> Iterator[Link]:
    """The links of which so many ends are on this machine."""
    for link in running.fabric.links():
        if running.here(link.a.node) + running.here(link.b.node) == ends:
            yield link


def _tunnels(running: Running, part: LocalPart) -> Iterator[tunnels.Tunnel]:
    """The ends of links to other machines."""
    fabric = running.fabric
    for link in _links(running, ends=1):
        end = link.a if running.here(link.a.node) else link.b
        yield tunnels.Tunnel(
            link.index,
            interface(fabric, end.node, end.number),
            running.namespace(end.node),
            mac.text(mac.hardware(end.node, end.number)),
            netns.FIRST_INDEX + 2 * len(fabric.link_ends) + link.index,
            arp=fabric.is_end_host(link.a.node) or fabric.is_end_host(link.b.node),
        )


def shape_shard(running: Running, shard: Shard) -> None:
    """Shape the switch ports of a shard again: Open vSwitch removes what it finds at ports that it adds."""
    running.impairments.again(shard.netns, (name for bridge in shard.bridges for name, _ in bridge.ports))


def _ends(running: Running) -> Iterator[tuple[str, str]]:
    """(namespace, interface) of both ends of every link whose ends are here; others have no carrier."""
    for link in _links(running, ends=2):
        yield from map(running.nic, (link.a, link.b))


def _configure_plain_hosts(running: Running) -> None:
    """Set the addresses and the neighbours of plain hosts; the agent of a relay sets its own address."""
    fabric, scheme = running.fabric, running.scheme
    for node, name in running.host_interfaces.items():
        address = ipv4.text(scheme.ipv4(node))
        if not running.config.offloads:
            netns.inside(fabric.name(node), partial(netns.compute_checksums, name))
        if 4 in scheme.ip_versions:
            netns.set_address_in(fabric.name(node), name, address, scheme.ipv4_length)
        if 6 in scheme.ip_versions:
            wide = ipv6.text(ipv6.embed(scheme.ipv4(node)))
            netns.set_address6_in(fabric.name(node), name, wide, ipv6.NETWORK.prefixlen)
    running.introduce_hosts(scheme)


def placements(fabric: Fabric, servers: Iterable[int], configured: bool = False) -> list[AgentPlacement]:
    """Where the agent of each of these servers runs: its namespace and the interface of each port;
    ``configured``: servers that start without addresses have them by now."""
    return [
        AgentPlacement(
            node,
            str(netns.path(fabric.name(node))),
            {port: interface(fabric, node, port) for port, _ in fabric.ports(node)},
            configured,
        )
        for node in servers
    ]
