"""What the lab and the agents' parent tell each other when they start: plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

#: How one of several next hops is chosen: by a hash of the flow, anew for each packet, or for each
#: new flow by what probes of the parallel ways have found.
LoadBalance = Literal["flow", "packet", "probe"]
#: Who tells agents of links that are down: the lab, which sees all, or they each other.
LinkStateSource = Literal["lab", "agents"]
#: Whether relays with finite buffers drop what finds them full, or send only with credits.
FlowControl = Literal["none", "credits"]
#: A process per agent, or one per core for all agents.
Mode = Literal["host", "workers"]


@dataclass(frozen=True)
class Options:
    """What the parent is started with: specifications, and how agents run."""

    topology: str
    scheme: str
    mode: Mode = "host"
    load_balance: LoadBalance = "flow"
    seed: int = 1
    #: Servers start without addresses; AACM is to give them.
    autoconfigure: bool = False
    link_state: LinkStateSource = "lab"
    #: Frames per buffer of a relay; 0: as much as the kernel keeps, and no flow control.
    buffers: int = 0
    flow_control: FlowControl = "none"
    #: Hosts leave checksums and the cutting of super-packets to whoever comes later.
    offloads: bool = True
    #: Files of the user's own that define the topology or the scheme.
    custom: tuple[str, ...] = ()

    def to_json(self) -> str:
        """As text for a command line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Options:
        """From that text."""
        return cls(**json.loads(text))


@dataclass(frozen=True)
class AgentPlacement:
    """Where the agent of server ``node`` works: a namespace's file and each port's interface."""

    node: int
    netns: str
    ports: Mapping[int, str]

    def to_json(self) -> dict[str, Any]:
        """As a JSON object, whose keys are text."""
        return {"node": self.node, "netns": self.netns, "ports": {str(p): n for p, n in self.ports.items()}}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> AgentPlacement:
        """From a JSON object."""
        ports = {int(port): name for port, name in value["ports"].items()}
        return cls(int(value["node"]), value["netns"], ports)
