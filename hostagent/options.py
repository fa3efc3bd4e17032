"""The options of agents, and where each agent runs: plain values that travel as JSON.

A lab's options (:class:`dcnlab.lab.options.config.LabConfig`) are these and its own.  The command line,
scenario files and Python read names, types, help, bounds and defaults from the fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict, dataclass, field, fields
from typing import Any, Literal, Self

from topos import plugins
from topos.family import param

LoadBalance = Literal["flow", "packet", "probe"]
LinkStateSource = Literal["lab", "agents"]
FlowControl = Literal["none", "credits"]
Mode = Literal["auto", "host", "workers"]
FastPathMode = Literal["off", "on", "auto"]


@dataclass(frozen=True)
class Options:
    """How the agents of a lab run; ``topology`` and ``scheme`` are specifications."""

    topology: str
    scheme: str
    _: KW_ONLY
    agents: Mode = param(
        "Agent processes: one per server (host), one per core (workers); auto: one per core with more than"
        " 1,000 servers.",
        default="auto",
    )
    load_balance: LoadBalance = param(
        "Choose among next hops by a hash of the flow, at random per packet, or by path probing per flow.",
        default="flow",
    )
    link_state: LinkStateSource = param(
        "Agents learn of failed links from the lab, or from each other (default with multipath).", default="lab"
    )
    flow_control: FlowControl = param(
        "Relays with a full buffer drop packets (none), or neighbours hold them back (credits).", default="none"
    )
    buffers: int = param("Frames per buffer of a relay; 0: unlimited, or 10 with credits.", low=0, default=0)
    virtual_channels: str = param(
        "With credits: escape, one, datelines (tori), or a number per destination, such as 0,1,0"
        " (docs/throughput.md).",
        default="escape",
    )
    autoconfigure: bool = param("Start servers without addresses; they configure themselves.", default=False)
    offloads: bool = param(
        "Checksum and segmentation offload on hosts (default: as `dcnlab doctor --calibrate` found).",
        default=True,
    )
    fast_path: FastPathMode = param(
        "Forward in the kernel what agents have decided (docs/decisions/fast-path.md); auto: where possible.",
        default="off",
    )
    addresses: str = param(
        "Further addresses or subnets of hosts, such as h3=10.200.0.1,h4=10.200.1.0/24 (docs/routing.md).",
        default="",
    )
    broadcast: bool = param(
        "Carry broadcast and multicast: switches flood along a spanning tree, servers that relay send a copy to"
        " each (docs/routing.md).",
        default=False,
    )
    seed: int = param("Seed of the agents' random choices.", low=0, high=2**63 - 1, default=1)
    #: Files of the user that define topologies or schemes: those that this process has loaded.
    custom: tuple[str, ...] = field(default_factory=plugins.loaded)

    def to_json(self) -> dict[str, Any]:
        """Return them as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Make one from a JSON object; unknown keys are ignored."""
        known = {f.name: value[f.name] for f in fields(cls) if f.name in value}
        return cls(**{**known, "custom": tuple(known.get("custom", ()))})


@dataclass(frozen=True)
class AgentPlacement:
    """Where the agent of server ``node`` runs: its network namespace's file, and each port's interface."""

    node: int
    netns: str
    ports: Mapping[int, str]
    #: Whether a server that starts without an address has been given it before.
    configured: bool = False
    #: At which its generation begins: above those of agents that the server had before.
    generation: int = 0
    #: Whether its carriers are watched only from ``AgentPool.watch_carriers`` on.
    late: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return them as a JSON object; its keys are text."""
        ports = {str(port): name for port, name in self.ports.items()}
        more = {"configured": self.configured, "generation": self.generation, "late": self.late}
        return {"node": self.node, "netns": self.netns, "ports": ports, **more}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> AgentPlacement:
        """Make one from a JSON object."""
        ports = {int(port): name for port, name in value["ports"].items()}
        configured, generation = bool(value.get("configured")), int(value.get("generation", 0))
        late = bool(value.get("late"))
        return cls(int(value["node"]), value["netns"], ports, configured, generation, late)
