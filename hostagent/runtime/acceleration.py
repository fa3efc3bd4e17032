"""The fast path at the devices of servers: whether a lab has one, and what one server attaches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hostagent import registry
from hostagent.fastpath.program import Shape
from hostagent.fastpath.tables import LabTables
from hostagent.forwarding.agent import Agent
from hostagent.forwarding.decisions import TO_HOST
from hostagent.linux import bpf
from hostagent.linux.netlink import Netlink
from hostagent.linux.traffic_control import attach_classifier
from hostagent.options import Options

#: TUN devices get indices from here on, which differ throughout a lab as those of its links do.
_FIRST_TUN_INDEX = 1 << 30


@dataclass(frozen=True)
class Acceleration:
    """The fast path of one server: its tables, and the EtherTypes of frames that stay with the agent."""

    tables: LabTables
    node: int
    control_ethertypes: tuple[int, ...]

    @property
    def tun_index(self) -> int:
        """The interface index that the server's TUN device is to have."""
        return _FIRST_TUN_INDEX + self.node

    def attach(self, netlink: Netlink, interfaces: Mapping[int, int]) -> None:
        """Attach the programs in the server's namespace; ``interfaces`` gives the interface index of each
        port, and of the TUN device under port 0.  Raises OSError where that is not possible."""
        self.tables.claim(self.node, interfaces)
        for port, index in interfaces.items():
            if port == TO_HOST:
                attach_classifier(netlink, index, self.tables.host_program, ingress=False)
            else:
                attach_classifier(netlink, index, self.tables.nic_program, ingress=True)

    def connect(self, agent: Agent, interfaces: Mapping[int, int]) -> None:
        """Have an agent write its decisions into the server's tables."""
        agent.fast_path = self.tables.server(self.node, interfaces, agent.load_balance)


def open_tables(options: Options, agent: Agent) -> tuple[LabTables | None, str]:
    """The tables of a lab that asks for a fast path, or None and why it has none; ``agent`` is any of its."""
    if options.buffers:
        return None, "finite buffers need packets to wait in the agents"
    shape = Shape(agent.framing.by_address, agent.framing.tagged, agent.has_aliases)
    try:
        return LabTables.open(agent.scheme.fabric.servers, shape), ""
    except bpf.BpfError as error:
        return None, f"the kernel refuses: {error.strerror}"


def control_ethertypes() -> tuple[int, ...]:
    """The EtherTypes of all control protocols, whether they run or not."""
    return tuple(sorted(protocol.ethertype for protocol in registry.known().values()))
