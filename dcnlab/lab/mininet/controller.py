"""The controller of a scheme for stock Mininet; it starts the agents of relaying hosts too."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import weakref
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from mininet.node import Controller, Node

from addressing import registry as schemes
from addressing.scheme import Scheme
from controller.client import ControllerProcess
from dcnlab.lab.contract.machine import Apply
from dcnlab.lab.coordinator.link_state.driver import LinkStateDriver
from dcnlab.lab.emulation.switches.openvswitch import kernel_datapath
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.mininet import members
from dcnlab.lab.mininet import topo as topologies
from dcnlab.lab.mininet.gateway import Gateway
from dcnlab.lab.mininet.topo import FabricTopo
from hostagent.client import AgentPool
from hostagent.linux.channel import Message
from hostagent.options import AgentPlacement, Options
from topos.graph import Port

#: Seconds without progress of the launch, and until all follow a change of links.
_STALL = _TIMEOUT = 30.0
#: Parameters that Mininet gives to controllers.
_MININET = {"command", "cargs", "cdir", "ip", "port", "protocol", "inNamespace", "privateDirs", "waitExited"}


class SchemeController(Controller):  # type: ignore[misc]
    """``SchemeController("brp")``: the controller and, where servers relay, the agents of a routing scheme.

    Arguments after the scheme's name are its parameters: ``SchemeController("ksp", k=8)``, on Mininet's
    command line ``--controller scheme,ksp,k=8``.  ``backend`` is os-ken or ryu; options of agents
    (:class:`hostagent.options.Options`, such as ``fast_path="auto"``) are taken too.  Its topology is the
    ``FabricTopo`` of the network, or ``topo`` where a program builds several networks at once.
    """

    def __init__(
        self, name: str = "c0", scheme: str | None = None, *values: object,
        topo: FabricTopo | None = None, backend: str = "os-ken", **params: Any,
    ) -> None:  # fmt: skip
        if scheme is None:  # SchemeController("brp"): Mininet takes controllers as objects too
            name, scheme = "c0", name
        own = {field.name for field in fields(Options)}
        # Open vSwitch's userspace datapath passes on partial checksums only after a setting of the machine.
        self._options = {"offloads": kernel_datapath()} | {key: params.pop(key) for key in own & set(params)}
        named = [f"{key}={params.pop(key)}" for key in set(params) - _MININET]
        arguments = ",".join([*map(str, values), *named])
        self.specification = f"{scheme}:{arguments}" if arguments else scheme
        self._backend = backend
        self._topo: FabricTopo | None = None
        self._process: ControllerProcess | None = None
        self._agents: AgentPool | None = None
        self._links: LinkStateDriver | None = None
        super().__init__(name, **params)
        if topo is not None:
            topo.scheme = self.bind(topo)
        else:
            topologies.unbound.append(weakref.ref(self))

    def bind(self, topo: FabricTopo) -> Scheme:
        """Route in the fabric of ``topo``; SpecError for a scheme that does not fit."""
        scheme = schemes.bind(self.specification, topo.fabric)
        scheme.check_width()
        self._topo = topo
        return scheme

    def checkListening(self) -> None:
        """Nothing to do: :meth:`start` says if the port is taken."""

    def start(self) -> None:
        """Start the controller's process and the agents; Mininet starts the switches next."""
        topo = self._topo
        if topo is None or topo.scheme is None:
            raise UsageError(
                f"controller {self.name} has no fabric: use a topology of dcnlab/mn.py, or FabricTopo"
            )
        fabric = topo.fabric
        if fabric.relaying and len(topo.relays) < fabric.servers:
            raise UsageError(f"the servers of {fabric.spec} relay packets: use --host relay, or host=RelayHost")
        gateway = Gateway.of(topo)
        self._links = LinkStateDriver(fabric, self._distribute)
        with _spawning():
            if fabric.switches:
                self._process = self._spawn_controller(topo)
            if fabric.relaying:
                self._start_agents(topo)
            elif members.userspace(topo):
                members.compute_checksums(members.servers(topo))
        self._links.start()
        if gateway is not None:
            gateway.connect()
        for host in topo.relays.values():
            host.wait_ready = self.wait_ready

    def _spawn_controller(self, topo: FabricTopo) -> ControllerProcess:
        """The controller's process, which listens at this controller's address; its log is where Mininet's
        controllers have theirs."""
        try:
            listener = socket.create_server((self.ip, self.port), backlog=4096)
        except OSError as error:
            text = f"{self.name} cannot listen at {self.ip}:{self.port} ({error.strerror}): give port=N"
            raise UsageError(text) from None

        def event(message: Message) -> None:
            if message["event"] == "port":
                self._report(Port(topo.fabric.index(message["switch"]), message["port"]), message["up"])

        with listener, Path(f"/tmp/{self.name}.log").open("wb") as log:
            return ControllerProcess.spawn(
                topo.fabric.spec,
                self.specification,
                [listener],
                backend=self._backend,
                on_event=event,
                log=log,
                sockets=Path(os.environ.get("OVS_RUNDIR", "/var/run/openvswitch")),
            )

    def _start_agents(self, topo: FabricTopo) -> None:
        """Start an agent in each host's namespace, and wait until all are ready."""
        self._agents = AgentPool(Options(topo.fabric.spec, self.specification, **self._options))
        self._agents.on_link_change = lambda node, port, up: self._report(Port(node, port), up)
        self._agents.start(
            AgentPlacement(
                topo.fabric.index(name),
                f"/proc/{host.pid}/ns/net",
                {port: str(host.intfs[port]) for port, _ in topo.fabric.ports(topo.fabric.index(name))},
            )
            for name, host in topo.relays.items()
        )
        self._agents.wait_ready(_STALL)
        for host in topo.relays.values():
            host.add_agent_device()

    def wait_ready(self) -> None:
        """Wait until every switch has acknowledged its table."""
        if self._process is not None and self._topo is not None:
            for host in self._topo.relays.values():
                host.wait_ready = None
            self._process.wait_ready(_STALL)

    def stop(self, *args: Any, **kwargs: Any) -> None:
        """End the agents and the controller's process."""
        if self._links is not None:
            self._links.stop()
        for part in (self._agents, self._process):
            if part is not None:
                part.close()
        self._agents = self._process = None
        Node.stop(self, *args, **kwargs)

    # --- links that go down and come up -----------------------------------------

    def _report(self, port: Port, up: bool) -> None:
        if self._links is not None:
            self._links.report(port, up)

    def _distribute(self, state: Apply) -> None:
        """Send link state to agents and controller, and wait until both follow."""
        agents, process = self._agents, self._process
        if agents is not None:
            agents.links(state.down)
        if process is not None:
            process.converge(state.down, _TIMEOUT)
        if agents is not None:
            agents.wait_links(state.down)


@contextlib.contextmanager
def _spawning() -> Iterator[None]:
    """Let processes that start meanwhile find these packages, and survive Ctrl-C at Mininet's prompt.

    Debian's ``mn`` runs Debian's Python, which finds them only because ``dcnlab/mn.py`` says where they are.
    """
    before = os.environ.get("PYTHONPATH")
    folders = [str(Path(__file__).resolve().parents[3]), str(Path(np.__file__).resolve().parents[1])]
    os.environ["PYTHONPATH"] = os.pathsep.join([*folders, *filter(None, [before])])
    main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    try:
        yield
    except OSError as error:
        raise LabError(f"cannot start: {error}") from error
    finally:
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
