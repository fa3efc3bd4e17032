"""Creates agents and their devices in the supervisor.

Fabric, scheme and everything else that all agents have in common is built once.  Forked processes share this
memory; ``gc.freeze`` keeps the garbage collector from touching it.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from addressing import registry as schemes
from addressing.scheme import Scheme, walk
from hostagent import further_addresses, registry
from hostagent.control.authentication import KEY_SIZE
from hostagent.forwarding.agent import Agent, addresses_of
from hostagent.linux.mounts import PROC
from hostagent.options import AgentPlacement, LoadBalance, Options
from hostagent.runtime import processes
from hostagent.runtime.agent_io import AgentIO, EventSink
from hostagent.runtime.devices import Devices, open_devices
from hostagent.runtime.mmsg import PacketBuffers
from hostagent.runtime.shared_links import SharedLinkState
from topos import plugins
from topos import registry as topologies
from topos.graph import LinkState

if TYPE_CHECKING:  # few labs have buffers or a fast path
    from hostagent.fastpath.tables import LabTables
    from hostagent.flowcontrol.escape import Escape
    from hostagent.runtime.acceleration import Acceleration


class AgentFactory:
    """Creates the agents of one lab, or of one machine's part of it."""

    def __init__(self, options: Options, key: bytes = b"") -> None:
        self.options = options
        plugins.load(options.custom)
        self._scheme = schemes.bind(options.scheme, topologies.fabric(options.topology))
        further = further_addresses.parse(options.addresses, self._scheme)
        self._further = {address.to_bytes(4, "big"): server for address, server in further.items()}
        self._nodes = addresses_of(self._scheme) | self._further
        #: Authenticates the agents' control frames; no host ever sees it.
        self._key = key or os.urandom(KEY_SIZE)
        self._buffers = PacketBuffers()
        #: A descriptor of each server's TUN device, so that no program can take its name between two agents.
        self._held: dict[int, int] = {}
        #: The lab's link state, which all agents share.
        fabric = self._scheme.fabric
        self.links = SharedLinkState(len(fabric.link_ends), fabric.servers)
        #: Whether each agent is a process of its own.
        self.alone = processes.alone(options.agents, fabric.servers)
        #: Whether agents act on link state at once: with buffers, and with control protocols.
        self.prompt = bool(options.buffers or registry.enabled_by(options))
        #: Maps and programs of the fast path, and why there are none where one is asked for.
        self._tables, self.no_fast_path = self._open_tables()
        _precompute(self._scheme)
        gc.collect()
        gc.freeze()

    def agent_io(
        self,
        place: AgentPlacement,
        links: LinkState,
        load_balance: LoadBalance,
        report: EventSink,
        generation: int = 0,
        proc: Path = PROC,
    ) -> AgentIO:
        """An agent with its devices open; one that is started again has the address that it had.  Settings are
        written to ``proc``.

        It is created before its process is forked: a child would first copy every page that this work touches.
        """
        options = self.options
        agent = self._agent(place.node, links, load_balance)
        acceleration = self._acceleration(place.node)
        configured = not options.autoconfigure or place.configured
        address = agent.own_address if configured else None
        devices = open_devices(
            place.netns, place.ports, address, acceleration, options.autoconfigure, options.offloads,
            self._held.get(place.node), 6 in self._scheme.ip_versions,
            tuple(address for address, server in self._further.items() if server == place.node), proc,
            not place.late,
        )  # fmt: skip
        self._hold(place.node, devices.tun)
        if acceleration is not None and devices.accelerated:
            acceleration.connect(agent, devices.interfaces)
        elif acceleration is not None:
            report({"event": "no-fast-path", "reason": "the kernel lets no programs be attached"})
        agent_io = self._open_io(agent, devices, links, report, generation)
        for name in registry.enabled_by(options):
            agent_io.enable(name)
        return agent_io

    def _hold(self, node: int, tun: int) -> None:
        """Keep a server's TUN device for its next agent."""
        before = self._held.pop(node, None)
        if before is not None:
            os.close(before)
        with contextlib.suppress(OSError):  # no descriptor is left: the next agent opens the device again
            self._held[node] = os.dup(tun)

    @property
    def shared_descriptors(self) -> frozenset[int]:
        """What every agent's process keeps open beside its own devices."""
        return self._tables.descriptors if self._tables is not None else frozenset()

    def invalidate(self, node: int) -> None:
        """Have the kernel forward nothing more by what the agent of a server has decided."""
        if self._tables is not None:
            self._tables.invalidate(node)

    def invalidate_all(self) -> None:
        """The same for all servers: their agents decide again."""
        if self._tables is not None:
            self._tables.invalidate_all()

    def _open_tables(self) -> tuple[LabTables | None, str]:
        """The tables of the fast path; see :func:`hostagent.runtime.acceleration.open_tables`."""
        if self.options.fast_path == "off":
            return None, ""
        from hostagent.runtime import acceleration

        return acceleration.open_tables(self.options, Agent(self._scheme, 0, self._nodes, random.Random(0)))

    def _acceleration(self, node: int) -> Acceleration | None:
        """The fast path of a server, if the lab has one."""
        if self._tables is None:
            return None
        from hostagent.runtime import acceleration

        return acceleration.Acceleration(self._tables, node, acceleration.control_ethertypes())

    def _agent(self, node: int, links: LinkState, load_balance: LoadBalance) -> Agent:
        rng = random.Random(f"{self.options.seed}:{node}")
        agent = Agent(self._scheme, node, self._nodes, rng, load_balance, broadcast=self.options.broadcast)
        if links:
            agent.apply_link_state(links)
        return agent

    def _open_io(
        self, agent: Agent, devices: Devices, links: LinkState, report: EventSink, generation: int
    ) -> AgentIO:
        """Agent I/O with finite buffers if the options ask for them, otherwise without."""
        options = self.options
        if not options.buffers:
            return AgentIO(agent, devices, self._buffers, report, self._key, generation)
        from hostagent.flowcontrol.relay import Relay
        from hostagent.runtime.buffered_io import BufferedAgentIO

        shared = None if links else self._escape
        relay = Relay(
            agent, options.buffers, options.flow_control == "credits", shared, generation,
            options.virtual_channels,
        )  # fmt: skip
        return BufferedAgentIO(relay, devices, self._buffers, report, self._key, generation)

    @cached_property
    def _escape(self) -> Escape:
        """The escape routes of the intact fabric, which all agents share."""
        from hostagent.flowcontrol.escape import Escape

        escape = Escape(self._scheme)
        taken = self.options.flow_control == "credits" and self.options.virtual_channels == "escape"
        return escape.prepare() if taken else escape


def _precompute(scheme: Scheme) -> None:
    """Have the scheme compute what it caches, so that the agents share it."""
    servers = scheme.fabric.servers
    if servers > 1:
        list(walk(scheme, 0, servers - 1))
