"""The network of a lab: the namespaces of its servers, links and switches, without controller and agents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from addressing.fields import ipv4, ipv6, mac
from addressing.scheme import Scheme
from addressing.unrouted import Unrouted
from dcnlab.lab import naming
from dcnlab.lab.emulation import routing, tunnels
from dcnlab.lab.emulation.isolation.ownership import owned_namespaces
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.running import Running, dpid, interface, local
from dcnlab.lab.emulation.stages import Stages
from dcnlab.lab.emulation.switches import export, export_away, openvswitch
from dcnlab.lab.emulation.switches.receive_buffers import ReceiveBuffers
from dcnlab.lab.emulation.switches.rows import Bridge
from dcnlab.lab.emulation.switches.shards import Shard, split
from dcnlab.lab.emulation.waiting import STALL, Process
from dcnlab.lab.errors import LabError
from dcnlab.lab.options.config import LabConfig
from dcnlab.lab.options.local_part import LocalPart
from dcnlab.lab.options.miswiring import wired
from hostagent.client import AgentPlacement
from hostagent.linux.netlink import compute_checksums
from topos.fabric import Fabric
from topos.graph import Link


def build_bare_network(config: LabConfig, scheme: Scheme) -> Running:
    """Only the network: no controller, no agents."""
    shards = split(bridges(scheme.fabric))
    netns.create(shard.netns for shard in shards)
    running = Running(
        config, scheme.fabric, scheme, shards, None, None, openvswitch.choose_datapath(config.datapath)
    )
    build_network(running, Stages(lambda _: None))
    return running


def build_network(running: Running, clock: Stages, guard: tunnels.Guard | None = None) -> None:
    """Create the servers' namespaces, links and switches; the shards' namespaces exist already.

    Open vSwitch starts while namespaces and links are created.  In large networks it begins with the links,
    which keep one processor busy, as namespaces do with the programs that start beside them.  And agents come
    before the switches there: an ovs-vswitchd hears of the TUN devices in all servers that it is linked to, and
    looks through all its bridges at each event, which more than doubled the processor time of 32 of them.
    """
    fabric, shards = running.fabric, running.shards
    large, targets = not openvswitch.starts_early(shards), openvswitch.targets(running.choice)
    with ThreadPoolExecutor(1) as beside:
        if large:
            _create_hosts(running)
        prepared = beside.submit(prepare_switches, running, shards, targets)
        if not large:
            _create_hosts(running)
        clock.stage("links")
        _create_links(running, guard)
        starting = prepared.result()
        carrying = beside.submit(netns.await_running, list(_ends(running)))
        if running.agents is not None:
            configured = running.part is not None and running.part.configured
            places = placements(fabric, running.servers, configured, running.generation)
            running.agents.start(replace(place, late=large) for place in places)
        if large:
            _await_agents(running, clock)
        clock.stage("switches")
        openvswitch.start_switches(shards, starting, targets)
        if running.flooding is not None:
            running.flooding.follow(())
        if running.datapath == "userspace":
            running.receive_buffers = ReceiveBuffers(shards, queues=running.impairments.any_launched())
            running.receive_buffers.keep()
        if not large:
            _await_agents(running, clock)
        carrying.result()
        if running.agents is not None and large:
            running.agents.watch_carriers(STALL)
    _export(running, guard)
    running.impairments.launch()  # last: Open vSwitch removes queueing disciplines from ports that it adds


def prepare_switches(running: Running, shards: Sequence[Shard], targets: Sequence[str]) -> list[Process]:
    """Start the databases of the switches in ``shards``, and the daemons too where there are few."""
    return openvswitch.prepare(
        shards,
        {"kernel": "system", "userspace": "netdev"}[running.datapath],
        offloads=running.config.offloads,
        versions=_versions(running),
        controllers=targets,
        tls=running.outside.tls,
        learning=isinstance(running.scheme, Unrouted),
    )


def _versions(running: Running) -> tuple[str, ...]:
    """Return the versions of OpenFlow that switches speak.

    1.0 is there where the lab has ports block frames, 1.5 where our controller gives groups a hash basis."""
    early = ("OpenFlow10",) if running.config.floods_along_tree else ()
    late = ("OpenFlow15",) if running.choice.tables else ()
    return (*early, "OpenFlow13", *late)


def _create_links(running: Running, guard: tunnels.Guard | None) -> None:
    """Create the links, those to other machines as tunnels, and configure the hosts at them."""
    netns.create_veth_pairs(veth_pairs(running).values())
    if running.part is not None and guard is not None:
        if running.part.rejoins:
            guard.remove_tunnels(running.part.port)
        tunnels.create(running.part, tunnels_of(running, running.part), guard)
    configure_servers(running, running.servers)
    running.introduce_hosts(running.scheme)


def _export(running: Running, guard: tunnels.Guard | None) -> None:
    """Have the switches send what they see to the collectors that the user wants."""
    fabric, scheme, shards = running.fabric, running.scheme, running.shards
    targets: dict[int, str] = {}
    for collector in running.config.collectors():
        server = naming.server(fabric, collector.server, scheme)
        if server not in targets:
            targets[server] = _lead_to_collector(running, server, len(targets), guard)
        number, machine = list(targets).index(server), running.part.number if running.part is not None else 0
        export.start(shards, collector, number, targets[server], running.config.sampling, machine)


def _lead_to_collector(running: Running, server: int, number: int, guard: tunnels.Guard | None) -> str:
    """Let switches reach the ``number``-th host with collectors: the address that they send to, empty if it
    differs."""
    fabric, scheme, shards, part = running.fabric, running.scheme, running.shards, running.part
    address = ipv4.text(scheme.ipv4(server)) if 4 in scheme.ip_versions else ""
    if running.here(server):
        export.connect(shards, number, fabric.name(server), address, part.number if part is not None else 0)
        if part is not None and guard is not None:
            export_away.receive(number, fabric.name(server), fabric, part, guard)
    elif shards and part is not None and guard is not None:
        return export_away.send(shards, number, server, address, fabric, part, guard)
    return address


def _create_hosts(running: Running) -> None:
    """Create the servers' namespaces; with isolation they belong to user namespaces of their own."""
    names = list(map(running.fabric.name, running.servers))
    segments = () if running.impairments.any_launched() else (netns.LARGE_SEGMENTS,)
    settings = (*segments, *((netns.LOW_PORTS,) if running.config.ssh else ()))
    if running.isolation is None:
        netns.create(names, settings=settings)
        return
    with owned_namespaces(len(names)) as enter_new:
        netns.create(names, enter_new, settings)


def _await_agents(running: Running, clock: Stages) -> None:
    """Wait until all agents are ready, if there are any, with the fast path if it is required."""
    if running.agents is not None:
        clock.stage("agents")
        running.agents.wait_ready(STALL)
        if running.config.fast_path == "on" and running.agents.no_fast_path:
            text = f"no fast path: {running.agents.no_fast_path}; `--fast-path auto` does without it"
            raise LabError(text)


def bridges(fabric: Fabric, part: LocalPart | None = None) -> list[Bridge]:
    """The bridges of the switches that this machine runs, with their interfaces and port numbers."""
    return [
        Bridge(
            fabric.name(switch),
            dpid(fabric, switch),
            tuple((interface(fabric, switch, port), port) for port, _ in fabric.ports(switch)),
        )
        for switch in local(fabric, part, range(fabric.servers, fabric.size))
    ]


def veth_pairs(running: Running) -> dict[int, netns.VethPair]:
    """One veth pair per link, by its number; servers that relay use no ARP."""
    fabric = running.fabric
    pairs: dict[int, netns.VethPair] = {}
    for link in _links(running, ends=2):
        a, b = link.a, link.b
        pairs[link.index] = netns.VethPair(
            interface(fabric, a.node, a.number),
            running.namespace(a.node),
            mac.text(mac.hardware(a.node, a.number)),
            interface(fabric, b.node, b.number),
            running.namespace(b.node),
            mac.text(mac.hardware(b.node, b.number)),
            arp=_asks(running),
            mtu=running.mtu(link.index),
            index=netns.FIRST_INDEX + 2 * len(pairs),
        )
    return pairs


def _asks(running: Running) -> bool:
    """Whether nodes at a link ask each other for hardware addresses: agents do not."""
    return not running.fabric.relaying


def _links(running: Running, ends: int) -> Iterator[Link]:
    """Yield the links, as they are wired, of which so many ends are on this machine."""
    for link in wired(running.fabric, running.config.miswire):
        if running.here(link.a.node) + running.here(link.b.node) == ends:
            yield link


def tunnels_of(running: Running, part: LocalPart) -> Iterator[tunnels.Tunnel]:
    """The ends of links to other machines."""
    fabric = running.fabric
    for link in _links(running, ends=1):
        end = link.a if running.here(link.a.node) else link.b
        yield tunnels.Tunnel(
            link.index,
            interface(fabric, end.node, end.number),
            running.namespace(end.node),
            mac.text(mac.hardware(end.node, end.number)),
            tunnels.index(fabric, link.index),
            running.mtu(link.index),
            arp=_asks(running),
        )


def shape_shard(running: Running, shard: Shard) -> None:
    """Shape the switch ports of a shard again: Open vSwitch removes what it finds at ports that it adds."""
    running.impairments.again(shard.netns, (name for bridge in shard.bridges for name, _ in bridge.ports))


def _ends(running: Running) -> Iterator[tuple[str, str]]:
    """Yield namespace and interface of the ends of links that have both ends here: others have no carrier.

    Ends that agents wait for are left out."""
    for link in _links(running, ends=2):
        for end in (link.a, link.b):
            if running.agents is None or not running.fabric.is_server(end.node):
                yield running.nic(end)


def configure_servers(running: Running, servers: Iterable[int]) -> None:
    """Set the addresses of these servers, but for relays, whose agents set them."""
    fabric, scheme = running.fabric, running.scheme
    if isinstance(scheme, Unrouted):
        routing.configure(running, servers)
        return
    interfaces = running.host_interfaces
    for node in (node for node in servers if node in interfaces):
        name = interfaces[node]
        address = ipv4.text(scheme.ipv4(node))
        if not running.config.offloads:
            netns.inside(fabric.name(node), partial(compute_checksums, name))
        if 4 in scheme.ip_versions:
            netns.set_address_in(fabric.name(node), name, address, scheme.ipv4_length)
        if 6 in netns.usable_versions(scheme.ip_versions):
            wide = ipv6.text(ipv6.embed(scheme.ipv4(node)))
            netns.set_address6_in(fabric.name(node), name, wide, ipv6.NETWORK.prefixlen)
        if lines := list(_further_lines(running, node, name)):
            netns.batch(["ip", "-n", fabric.name(node)], lines)


def _further_lines(running: Running, node: int, name: str) -> Iterator[str]:
    """The lines of ``ip -batch`` that give a plain host its further addresses."""
    versions = netns.usable_versions(running.scheme.ip_versions)
    for address in running.further.get(node, ()):
        if 4 in versions:
            yield f"address replace {ipv4.text(address)}/32 dev {name}"
        if 6 in versions:
            yield f"address replace {ipv6.text(ipv6.embed(address))}/128 dev {name} nodad preferred_lft 0"


def placements(
    fabric: Fabric, servers: Iterable[int], configured: bool = False, generation: int = 0
) -> list[AgentPlacement]:
    """Where the agent of each of these servers runs: its namespace and the interface of each port;
    ``configured``: servers that start without addresses have them by now; ``generation``: where those of the
    agents begin."""
    return [
        AgentPlacement(
            node,
            str(netns.path(fabric.name(node))),
            {port: interface(fabric, node, port) for port, _ in fabric.ports(node)},
            configured,
            generation,
        )
        for node in servers
    ]
