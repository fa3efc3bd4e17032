"""What may fail in the lab of a configuration."""

from __future__ import annotations

from dcnlab.lab.chaos.plan import Targets
from dcnlab.lab.errors import UsageError
from dcnlab.lab.options.config import LabConfig
from topos.fabric import Fabric


def targets(config: LabConfig, fabric: Fabric) -> Targets:
    """The links, nodes and processes; UsageError for a lab in which chaos cannot say what must hold."""
    if not config.supervise:
        raise UsageError("chaos kills processes that supervision starts again: leave --no-supervise out")
    if config.controller != "ours":
        raise UsageError("chaos checks the tables of our controller: leave --controller out")
    if config.loss:
        raise UsageError("chaos checks that nothing is lost: leave --loss out")
    names = [fabric.name(node) for node in range(fabric.size)]
    ends = [(names[link.a.node], names[link.b.node]) for link in fabric.links()]
    links = tuple(dict.fromkeys(" ".join(pair) for pair in ends))
    alone = config.agents == "host" and fabric.relaying  # each agent is a process of its own
    agents = tuple(names[: fabric.servers]) if alone else ()
    switches = tuple(names[fabric.servers :])
    shared = (("agents",) if fabric.relaying else ()) + (("controller", "ovsdb") if switches else ())
    # As often one of these as one of all agents.
    processes = (*agents, *switches, *shared * max(1, (len(agents) + len(switches)) // 4))
    local = config.link_state == "agents" and not config.validate().floods_everywhere
    together = local and config.load_balance != "probe"
    servers = tuple(names[: fabric.servers])
    return Targets(links, tuple(names), processes, agents, bool(switches), together, servers)
