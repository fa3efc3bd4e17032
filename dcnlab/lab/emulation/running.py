"""What a launched lab consists of: :class:`Running`, and the names of its interfaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from addressing.scheme import Scheme
from controller.beside import NOTHING, Beside, LaterHost
from controller.client import ControllerProcess
from dcnlab.lab.autoconfig import configuring
from dcnlab.lab.autoconfig.side import Side
from dcnlab.lab.emulation.images.roots import Root, Roots
from dcnlab.lab.emulation.isolation.programs import Isolation
from dcnlab.lab.emulation.links.impairments import Impairments
from dcnlab.lab.emulation.namespaces import neighbours
from dcnlab.lab.emulation.namespaces.host_namespaces import HostNamespaces
from dcnlab.lab.emulation.outside import Outside
from dcnlab.lab.emulation.switches.connections import Connections
from dcnlab.lab.emulation.switches.flooding import FloodingTree
from dcnlab.lab.emulation.switches.receive_buffers import ReceiveBuffers
from dcnlab.lab.emulation.switches.shards import Shard
from dcnlab.lab.errors import LabError
from dcnlab.lab.options import images
from dcnlab.lab.options.config import LabConfig
from dcnlab.lab.options.link_shape import bits_per_second
from dcnlab.lab.options.local_part import LocalPart
from hostagent import further_addresses
from hostagent.client import AgentPool
from topos.fabric import Fabric
from topos.graph import Link, Port

if TYPE_CHECKING:
    from dcnlab.lab.contract.lab import Configured
    from dcnlab.lab.emulation.switches.answering import Answering

#: No agent is started again as often, and no supervisor of agents.  Not multiples of 256: credits know a
#: generation by its last byte.
_RESTARTS, _STARTS = 1001, 1001


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
    configured: Configured | None = None
    #: What the lab reaches outside its sandbox.
    outside: Outside = field(default_factory=Outside)
    #: The hardware addresses that plain hosts know as permanent neighbours.
    known: neighbours.Addresses = field(default_factory=dict)
    #: What of the fabric this machine runs; None: all of it.
    part: LocalPart | None = None
    #: What corrects the answers of switches, where a foreign controller needs it at the launch.
    early_answering: Answering | None = None
    #: Where the generations of agents begin: above those that agents on other machines may know of them.
    generation: int = 0
    #: What switches hold beside the scheme's entries.
    beside: Beside = NOTHING

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

    def extend(self, config: LabConfig, scheme: Scheme, shards: Sequence[Shard]) -> None:
        """The network has become that of ``scheme``; the switches that it has more are in ``shards``."""
        self.config, self.scheme, self.fabric = config, scheme, scheme.fabric
        for kept in [
            name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)
        ]:
            if kept != "answering":
                del vars(self)[kept]
        self.shards = (*self.shards, *shards)
        self._shard_of |= {bridge.name: shard for shard in shards for bridge in shard.bridges}
        self.connections.extend(shards)
        self.impairments.extend(self.fabric, self.local_ends)
        if self.flooding is not None:
            self.flooding.extend(self.fabric, shards)
        if self.receive_buffers is not None:
            self.receive_buffers.extend(shards)

    def renew_generation(self) -> None:
        """Begin a new generation: all agents of this machine have ended, and are started again."""
        if self.part is not None:  # without other machines nobody knows anything of them any more
            self.generation += _RESTARTS

    def local_ends(self, link: Link) -> dict[int, tuple[str, str]]:
        """(namespace, interface) of the ends of a link that are on this machine, by node."""
        return {end.node: self.nic(end) for end in (link.a, link.b) if self.here(end.node)}

    @cached_property
    def _stated_mtus(self) -> dict[int, int]:
        return self.config.mtus(self.fabric)

    def mtu(self, link: int) -> int:
        """The MTU of a link."""
        stated = self._stated_mtus.get(link, self.config.mtu)
        return stated if self.part is None else min(stated, self.part.mtu)

    def tunnel_ends(self, link: Link) -> list[Port]:
        """The end of a link to another machine that is on this one; none of other links."""
        ends = [end for end in (link.a, link.b) if self.here(end.node)]
        return ends if len(ends) == 1 else []

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
    def watched_servers(self) -> Sequence[int]:
        """Return this machine's servers without an agent whose carriers tell of failures all the same."""
        if self.fabric.relaying:
            return ()
        return [node for node in self.servers if not self.fabric.is_end_host(node)]

    @cached_property
    def host_interfaces(self) -> dict[int, str]:
        """The interface of each plain host, by server."""
        fabric = self.fabric
        hosts = filter(fabric.is_end_host, self.servers)
        return {node: interface(fabric, node, next(port for port, _ in fabric.ports(node))) for node in hosts}

    @cached_property
    def further(self) -> Mapping[int, Sequence[int]]:
        """The further addresses of servers that have such."""
        by_server: dict[int, list[int]] = {}
        for address, server in further_addresses.parse(self.config.addresses, self.scheme).items():
            by_server.setdefault(server, []).append(address)
        return by_server

    def introduce_hosts(self, scheme: Scheme) -> None:
        """Have plain hosts know each other's hardware addresses under ``scheme``, which failures may change."""
        if not self.choice.tables:
            return  # hosts ask, and a controller that is not ours has them answered
        now = neighbours.addresses(scheme)
        changed = {server: mac_ for server, mac_ in now.items() if self.known.get(server) != mac_}
        neighbours.install(scheme, changed, self.host_devices, self.further)
        self.known = now

    def introduce_later(self, host: LaterHost) -> None:
        """Have a host that came later and the others know each other."""
        if self.choice.tables:
            own, others = [(host.name, later_interface(host.name))], self.beside.hosts
            neighbours.install(self.scheme, self.known, own, self.further, others)
            neighbours.install(self.scheme, {}, self.host_devices, {}, [host])

    @property
    def host_devices(self) -> list[tuple[str, str]]:
        """Return namespace and interface of each plain host, also of those that came later."""
        there = [(self.fabric.name(node), name) for node, name in self.host_interfaces.items()]
        return there + [(host.name, later_interface(host.name)) for host in self.beside.hosts]

    @property
    def fast_path(self) -> str:
        """Say ``on`` or ``off``; ``off`` has the reason where a fast path was asked for and is missing."""
        if self.agents is None or self.config.fast_path == "off":
            return "off"
        return f"off: {self.agents.no_fast_path}" if self.agents.no_fast_path else "on"

    def root(self, host: str, image: str = "") -> Root | None:
        """The root file system of a host's programs: of ``image``, or the host's own; None: the machine's."""
        image = image or images.of_host(self.config.image, host)
        owner = self.isolation.owner(host) if self.isolation is not None else None
        return self._roots.ready(host, image, owner) if image else None

    def configuring(self, scheme: Scheme) -> Side:
        """Return the agents of this machine, for one autoconfiguration of their coordinates, or of their labels
        under ``scheme``."""
        assert self.agents is not None
        return configuring.side(self.agents, scheme, self.servers)

    def configure(self, scheme: Scheme) -> None:
        """Let the servers configure themselves, for the first time; LabError with every error found."""
        self.configured = configuring.configure([self.configuring(scheme)], scheme, 1)

    def __post_init__(self) -> None:
        self.choice = self.config.choice()
        if self.part is not None:
            self.generation = self.part.rejoins * _STARTS * _RESTARTS
        self.connections = Connections(self.shards)
        #: Where the switches flood, if they do it along a tree.
        self.flooding = FloodingTree(self.fabric, self.shards) if self.config.floods_along_tree else None
        self._shard_of = {bridge.name: shard for shard in self.shards for bridge in shard.bridges}
        #: Starts programs in hosts that are isolated.
        self.isolation = Isolation(self.fabric.index) if self.config.isolate else None
        #: Starts programs in other hosts.
        self.host_namespaces = HostNamespaces()
        self._roots = Roots()
        #: Delay, loss and bandwidth of the links.
        self.impairments = Impairments(
            self.fabric, self.local_ends, self.config.shape, self.config.shapes(self.fabric)
        )

    @cached_property
    def answering(self) -> Answering:
        """Corrects what switches answer about packets and ports; imported where it is needed."""
        from dcnlab.lab.emulation.switches.answering import Answering

        answering = self.early_answering or Answering(self.shards)
        answering.rate = self._rate
        return answering

    def _rate(self, switch: str, port: int) -> float:
        """The rate of the link at a port in bit/s; 0 where it has none, or the port has no link."""
        node = self.fabric.index(switch)
        if port not in dict(self.fabric.ports(node)):
            return 0.0
        rate = self.impairments.shape((self.fabric.link_at(node, port), node)).rate
        return bits_per_second(rate) if rate else 0.0


def local(fabric: Fabric, part: LocalPart | None, nodes: range) -> Sequence[int]:
    """Return which of the nodes are on this machine."""
    return nodes if part is None else [node for node in nodes if node in part.nodes]


def interface(fabric: Fabric, node: int, port: int) -> str:
    """The name of the interface of a port."""
    return f"{fabric.name(node)}-eth{port}"


def later_interface(name: str) -> str:
    """The name of the interface of a host that came later."""
    return f"{name}-eth1"


def dpid(fabric: Fabric, switch: int) -> int:
    """The datapath id of a switch: its number plus one."""
    return switch - fabric.servers + 1
