"""Switches and links that a running lab gets although its topology never had them.

Every node, port and link keeps its number: what is new comes last (:mod:`topos.bases.grown`).  A switch gets an
Open vSwitch of its own.  Our controller is started again with the larger network, takes the tables over that
switches have, and changes what differs; switches forward meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

from addressing.scheme import Scheme
from addressing.unrouted import Unrouted
from dcnlab.lab.emulation import network
from dcnlab.lab.emulation.namespaces import hosts, netns
from dcnlab.lab.emulation.running import dpid, interface
from dcnlab.lab.emulation.switches import openvswitch
from dcnlab.lab.emulation.switches.rows import Bridge
from dcnlab.lab.emulation.switches.shards import Shard
from dcnlab.lab.errors import UsageError
from dcnlab.lab.options.config import LabConfig
from dcnlab.lab.running.local_machine import LocalMachine
from dcnlab.lab.running.processes.supervised import Controller, Daemon
from topos.bases.grown import NAME
from topos.graph import Link, Port


class Extending:
    """Extends the network of a lab on one machine."""

    def __init__(self, lab: LocalMachine) -> None:
        self._lab, self._running = lab, lab.running

    def check_name(self, name: str) -> None:
        """Raise UsageError where a new node cannot have that name."""
        if not NAME.fullmatch(name):
            raise UsageError(f"{name!r} cannot be a node's name: use a letter and up to 8 letters and digits")
        if netns.path(name).exists() or name in {host.name for host in self._running.beside.hosts}:
            raise UsageError(f"there is a {name} already")

    def next_port(self, node: int) -> int:
        """The port that a new link gets at a node."""
        running, name = self._running, self._running.fabric.name(node)
        used = {port for port, _ in running.fabric.ports(node)} | running.beside.at(node).keys()
        used |= {one.port for one in self._lab.guard.attached.values() if one.switch == name}
        return max(used, default=0) + 1

    def follow(self, config: LabConfig, scheme: Scheme, shards: tuple[Shard, ...]) -> None:
        """Make what the network of ``scheme`` has beside the present one; new switches are in ``shards``."""
        running, before = self._running, self._running.fabric
        nodes = range(before.size, scheme.fabric.size)
        links = range(len(before.link_ends), len(scheme.fabric.link_ends))
        self._lab.config, self._lab.launched_scheme, self._lab.fabric = config, scheme, scheme.fabric
        running.extend(config, scheme, shards)
        daemons = [Daemon(running, shard, program) for program in openvswitch.DAEMONS for shard in shards]
        self._lab.supervision.extend(daemons)
        self._add_routers([node for node in nodes if scheme.fabric.is_server(node)])
        self._add_links([scheme.fabric.link(link) for link in links])
        self._lab.port_watch.attach(running)
        self._lab.mending.extend()
        self._renew_tables(bool(nodes))

    def open_switches(self, scheme: Scheme) -> tuple[Shard, ...]:
        """Start an Open vSwitch for each switch that the network of ``scheme`` has beside the present ones."""
        running, first, fabric = self._running, len(self._running.shards), scheme.fabric
        new = [node for node in range(running.fabric.size, fabric.size) if not fabric.is_server(node)]
        bridges = [Bridge(fabric.name(node), dpid(fabric, node), ()) for node in new]
        shards = tuple(Shard(first + place, (bridge,)) for place, bridge in enumerate(bridges))
        netns.create(shard.netns for shard in shards)
        targets = openvswitch.targets(running.choice)
        starting = network.prepare_switches(running, shards, targets)
        openvswitch.start_switches(shards, starting, targets)
        return shards

    def _add_routers(self, nodes: Sequence[int]) -> None:
        running = self._running
        netns.create([running.fabric.name(node) for node in nodes], settings=[netns.LARGE_SEGMENTS])
        for node in nodes:
            hosts.append(running.fabric.name(node), running.scheme.ipv4(node), running.scheme.ip_versions)
        network.configure_servers(running, nodes)

    def _add_links(self, links: Sequence[Link]) -> None:
        running, numbers = self._running, {link.index for link in links}
        made = [pair for link, pair in network.veth_pairs(running).items() if link in numbers]
        netns.create_veth_pairs(made)
        netns.await_running([end for one in made for end in ((one.a_netns, one.a), (one.b_netns, one.b))])
        ends = [end for link in links for end in (link.a, link.b)]
        for end in ends:
            if not running.fabric.is_server(end.node):
                self._add_port(end)
        network.configure_servers(running, {end.node for end in ends if running.fabric.is_server(end.node)})
        running.impairments.renew(numbers)
        if running.flooding is not None:
            running.flooding.follow(self._lab.link_state.state().down)

    def _add_port(self, end: Port) -> None:
        running, name = self._running, self._running.fabric.name(end.node)
        if self._lab.switch_path is not None:  # the fast path knows the ports that it began with
            self._lab.switch_path.leave(name)
        shard = running.shard(name)
        shard.add_port(name, interface(running.fabric, end.node, end.number), end.number)
        if running.receive_buffers is not None:
            running.receive_buffers.renew(shard)

    def _renew_tables(self, more_switches: bool) -> None:
        """Have our controller know the network, and hosts the labels that it has now."""
        running = self._running
        if running.controller is not None and (running.choice.tables or more_switches):
            controllers = [one for one in self._lab.supervision.parts if isinstance(one, Controller)]
            self._lab.supervision.restart(controllers)
            self._lab.await_tables()
        if not isinstance(running.scheme, Unrouted):
            running.introduce_hosts(running.scheme.with_failures(self._lab.link_state.state()))
