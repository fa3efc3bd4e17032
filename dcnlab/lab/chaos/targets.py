"""What may fail in the lab of a configuration."""

from __future__ import annotations

from dataclasses import replace

from dcnlab.lab.chaos.plan import Targets
from dcnlab.lab.emulation.running import interface
from dcnlab.lab.errors import UsageError
from dcnlab.lab.options.config import LabConfig
from hostagent.runtime import processes
from hostagent.runtime.devices import TUN_NAME
from topos.fabric import Fabric


def targets(config: LabConfig, fabric: Fabric, vandals: bool = False) -> Targets:
    """The links, nodes and processes, and with ``vandals`` what guests may spoil; UsageError for a lab in
    which chaos cannot say what must hold."""
    if not config.supervise:
        raise UsageError("chaos kills processes that supervision starts again: leave --no-supervise out")
    if config.controller != "ours":
        raise UsageError("chaos checks the tables of our controller: leave --controller out")
    if config.loss:
        raise UsageError("chaos checks that nothing is lost: leave --loss out")
    names = [fabric.name(node) for node in range(fabric.size)]
    ends = [(names[link.a.node], names[link.b.node]) for link in fabric.links()]
    links = tuple(dict.fromkeys(" ".join(pair) for pair in ends))
    alone = fabric.relaying and processes.alone(config.agents, fabric.servers)
    agents = tuple(names[: fabric.servers]) if alone else ()
    switches = tuple(names[fabric.servers :])
    shared = (("agents",) if fabric.relaying else ()) + (("controller", "ovsdb") if switches else ())
    # As often one of these as one of all agents.
    programs = (*agents, *switches, *shared * max(1, (len(agents) + len(switches)) // 4))
    local = config.link_state == "agents" and not config.validate().floods_everywhere
    together = local and config.load_balance != "probe"
    servers = tuple(names[: fabric.servers])
    every = Targets(links, tuple(names), programs, agents, bool(switches), together, servers)
    return (
        replace(every, guests=_guests(fabric), spoils=_spoils(fabric), deeds=_deeds(fabric))
        if vandals
        else every
    )


_OFF = "ip link set {0} down"
_RENAME = f"{_OFF} && ip link set {{0}} name v{{0}} && ip link set v{{0}} up"


def _spoils(fabric: Fabric) -> tuple[str, ...]:
    """What takes a link down.  A plain host, which has no agent, uses a renamed interface as before."""
    return ("ip link del {0}", _OFF, *((_RENAME,) if fabric.relaying else ()))


def _guests(fabric: Fabric) -> tuple[tuple[str, str, str], ...]:
    """The interfaces of hosts, after their link and their host; not of parallel links, which share a name."""
    interfaces = {}
    for link in fabric.links():
        a, b = fabric.name(link.a.node), fabric.name(link.b.node)
        alone = len(fabric.links_between(link.a.node, link.b.node)) == 1
        for end in (link.a, link.b):
            if alone and fabric.is_server(end.node):
                interfaces[f"{a} {b}", fabric.name(end.node)] = interface(fabric, end.node, end.number)
    return tuple((link, host, name) for (link, host), name in interfaces.items())


def _deeds(fabric: Fabric) -> tuple[tuple[str, str], ...]:
    """What spoils the addresses and routes of each host."""
    deeds = []
    for server in range(fabric.servers):
        device = TUN_NAME if fabric.relaying else interface(fabric, server, 1)
        renamed = () if fabric.relaying else (_RENAME.format(device),)
        commands = (f"ip addr flush dev {device}", "ip route flush table main", *renamed)
        deeds += [(fabric.name(server), command) for command in commands]
    return tuple(deeds)
