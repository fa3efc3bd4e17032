"""The processes of a lab that it cannot do without, each with what it takes to start it again."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from controller.client import ControllerError, ControllerProcess
from dcnlab.lab.control import upgrade
from dcnlab.lab.control.holders import named_state, state_of
from dcnlab.lab.emulation import launch, network
from dcnlab.lab.emulation.launch import OnEvent
from dcnlab.lab.emulation.running import Running
from dcnlab.lab.emulation.switches import openvswitch, waking
from dcnlab.lab.emulation.switches.shards import Shard
from dcnlab.lab.emulation.waiting import STALL
from dcnlab.lab.errors import LabError
from dcnlab.lab.running.guard import Guard
from dcnlab.lab.running.processes.backoff import Backoff
from hostagent.client import AgentPool
from topos.graph import LinkState, Port

#: Seconds after which one who waits for another process looks whether it still runs.
_SLICE = 0.2
#: Seconds between two looks at whether a process is stopped.
_PAUSE = 0.001
#: The states of processes that have ended or are stopped.
_ABSENT = ("", "Z", "T")


@dataclass
class SupervisedProcess(ABC):
    """One of these processes, and what supervision knows about it."""

    running: Running
    backoff: Backoff = field(default_factory=Backoff, init=False)
    #: Whether its program is dcnlab, as installed when it starts.
    is_ours: ClassVar[bool] = False
    #: How often it was started again.
    restarts: int = field(default=0, init=False)
    #: When it is to be started again; None while it runs, or when that was given up.
    due: float | None = field(default=None, init=False)
    #: Since when it has been found dead; None while it runs.
    dead_since: float | None = field(default=None, init=False)
    #: Since when it has been stopped; None while it is not.
    stopped_since: float | None = field(default=None, init=False)
    #: Whether the user has stopped it, so that it stays so.
    held: bool = field(default=False, init=False)

    @property
    @abstractmethod
    def name(self) -> str:
        """What the user calls it."""

    @property
    def nodes(self) -> Sequence[str]:
        """The nodes that it serves, where it is not all."""
        return ()

    @abstractmethod
    def pid(self) -> int | None:
        """Its process, as long as that runs."""

    @property
    def hangs(self) -> bool:
        """Whether it runs, but gets no further."""
        return False

    @property
    def alive(self) -> bool:
        """Whether it runs, or is stopped."""
        return self.pid() is not None

    def ending(self) -> tuple[int, int] | None:
        """Open a descriptor that shows the end of the part; return it and the events of poll(2) that show it.

        The caller closes it.  None when the part has ended."""
        with contextlib.suppress(ProcessLookupError):
            if (pid := self.pid()) is not None:
                return os.pidfd_open(pid), select.POLLIN
        return None

    @abstractmethod
    def start(self, state: LinkState) -> None:
        """Start it again, with the links in ``state`` down; returns when it works as before."""

    def check(self) -> None:
        """Raise LabError where the process could not be started again."""
        if self.is_ours:
            upgrade.check_replaced()

    def kill(self, number: int) -> None:
        """Send it a signal; LabError when it has ended."""
        pid = self.pid()
        if pid is None:
            raise LabError(f"{self.name} has ended")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    @property
    def stopped(self) -> bool:
        """Whether it was stopped by a signal, or hangs."""
        pid = self.pid()
        return pid is not None and (state_of(pid) == "T" or self.hangs)


@dataclass
class Daemon(SupervisedProcess):
    """ovsdb-server or ovs-vswitchd of a shard."""

    shard: Shard
    program: str

    @property
    def name(self) -> str:
        return self.program

    @property
    def nodes(self) -> Sequence[str]:
        return [bridge.name for bridge in self.shard.bridges]

    def pid(self) -> int | None:
        with contextlib.suppress(OSError, ValueError):
            pid = int((self.shard.rundir / f"{self.program}.pid").read_text())
            name, state = named_state(pid)
            if name == self.program and state != "Z":
                return pid
        return None

    def start(self, state: LinkState) -> None:
        controller = self.running.controller
        seen = controller.received if controller is not None else 0
        end(self)  # it may have come up after its last start counted as failed
        openvswitch.restart(self.shard, self.program)
        if self.program == "ovs-vswitchd":
            network.shape_shard(self.running, self.shard)
            if self.running.flooding is not None:
                self.running.flooding.forget(self.nodes)
        if controller is None or not self.running.choice.tables:
            return
        pid, switches = controller.process.pid, self.program == "ovs-vswitchd"
        with waking.woken([self.shard]):
            if switches:
                await_tables(
                    controller,
                    lambda stall: controller.wait_installed(self.nodes, seen, stall),
                    lambda: state_of(pid) not in _ABSENT,
                )
            else:  # a controller that was started meanwhile has waited for nobody
                await_tables(
                    controller,
                    controller.wait_ready,
                    lambda: state_of(pid) not in _ABSENT and all_work(self.running),
                )


@dataclass
class Controller(SupervisedProcess):
    """The controller."""

    is_ours = True

    on_link_change: Callable[[Port, bool], None]
    on_event: OnEvent
    follow: Callable[[], None]

    @property
    def name(self) -> str:
        return "controller"

    @property
    def process(self) -> ControllerProcess:
        """The one that runs now."""
        assert self.running.controller is not None
        return self.running.controller

    def pid(self) -> int | None:
        return running_child(self.process.process)

    def start(self, state: LinkState) -> None:
        running = self.running
        self.process.close()
        running.controller = launch.spawn_controller(
            running.config, running.fabric, running.shards, running.outside,
            self.on_link_change, self.on_event, sorted(state.down), running.part,
            running.beside,
        )  # fmt: skip
        self.follow()
        with waking.woken(running.shards):
            await_tables(self.process, self.process.wait_ready, lambda: all_work(running))


@dataclass
class Forwarder(SupervisedProcess):
    """What connects switches with a remote controller.  It runs outside the sandbox, and only the guard sees
    its process."""

    guard: Guard

    @property
    def name(self) -> str:
        return "forwarder"

    def pid(self) -> int | None:
        return None

    @property
    def alive(self) -> bool:
        return not self._channel_events(select.POLLRDHUP)

    def ending(self) -> tuple[int, int] | None:
        assert self.running.outside.remote is not None
        return os.dup(self.running.outside.remote.fileno()), select.POLLRDHUP

    def start(self, state: LinkState) -> None:
        self.running.outside.renew(*self.guard.ask("forward"))

    def _channel_events(self, wanted: int) -> list[tuple[int, int]]:
        assert self.running.outside.remote is not None
        watched = select.poll()
        watched.register(self.running.outside.remote, wanted)
        return watched.poll(0)


@dataclass
class AgentParent(SupervisedProcess):
    """The supervisor of all agents; with it all of them end."""

    is_ours = True

    on_link_change: Callable[[Port, bool], None]
    follow: Callable[[], None]

    @property
    def name(self) -> str:
        return "supervisor"

    @property
    def pool(self) -> AgentPool:
        """The agents that run now."""
        assert self.running.agents is not None
        return self.running.agents

    def pid(self) -> int | None:
        return running_child(self.pool.process)

    @property
    def hangs(self) -> bool:
        return self.pool.hangs()

    def start(self, state: LinkState) -> None:
        running = self.running
        self.pool.close()
        self.pool.end_orphans()
        running.agents = launch.spawn_agents(running.config, running.fabric, self.on_link_change, running.part)
        running.renew_generation()
        places = network.placements(running.fabric, running.servers, True, running.generation)
        self.pool.start(places)
        self.follow()
        self.pool.wait_ready(STALL)
        launch.enable_protocols(running)
        self.pool.links(state.down)
        self.pool.wait_links(state.down)


@dataclass
class Agent(SupervisedProcess):
    """The agent of one server."""

    node: int

    @property
    def name(self) -> str:
        return "agent"

    @property
    def nodes(self) -> Sequence[str]:
        return [self.running.fabric.name(self.node)]

    def pid(self) -> int | None:
        assert self.running.agents is not None
        return self.running.agents.process_of(self.node)

    @property
    def stopped(self) -> bool:
        assert self.running.agents is not None
        return self.node in self.running.agents.stopped

    def start(self, state: LinkState) -> None:
        agents = self.running.agents
        assert agents is not None
        running = self.running
        agents.restart(network.placements(running.fabric, [self.node], True, running.generation))


def await_tables(
    controller: ControllerProcess, wait: Callable[[float], object], able: Callable[[], bool]
) -> None:
    """Wait until switches have their tables; returns early when the other side is not ``able`` to go on.

    It has ended or is stopped then.  The tables are installed when it is back; the thread that waits here
    might be the one that must start it.  ``wait`` raises ControllerError after so many seconds without
    an event.
    """
    progress, received = time.monotonic(), controller.received
    while able():
        begun = time.monotonic()
        try:
            wait(_SLICE)
        except ControllerError:
            now = time.monotonic()
            if controller.received != received:
                progress, received = now, controller.received
            if (now - begun < _SLICE and able()) or now - progress > STALL:
                raise
        else:
            return


def end(part: SupervisedProcess) -> None:
    """End a part that still runs, and wait for it."""
    pid = part.pid()
    if pid is None:
        return
    with contextlib.suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            wait_for_end(handle)
        finally:
            os.close(handle)


def await_stop(part: SupervisedProcess) -> None:
    """Wait until a part that was sent SIGSTOP is stopped, which it is once it would run again, or has ended."""
    pid = part.pid()
    while pid is not None and state_of(pid) not in _ABSENT:
        time.sleep(_PAUSE)


def wait_for_end(handle: int) -> None:
    """Wait until the process of a descriptor has ended."""
    watched = select.poll()
    watched.register(handle, select.POLLIN)
    watched.poll()


def all_work(running: Running) -> bool:
    """Whether all of Open vSwitch's daemons run, and none is stopped: switches connect only then."""
    daemons = [Daemon(running, shard, program) for shard in running.shards for program in openvswitch.DAEMONS]
    return all(daemon.pid() is not None and not daemon.stopped for daemon in daemons)


def working_shards(running: Running, switches: Collection[str] | None = None) -> list[Shard]:
    """Return the shards, of these switches or all, whose ovs-vswitchd has not ended and is not stopped."""
    shards = [
        one
        for one in running.shards
        if switches is None or any(bridge.name in switches for bridge in one.bridges)
    ]
    daemons = (Daemon(running, shard, "ovs-vswitchd") for shard in shards)
    return [one.shard for one in daemons if one.alive and not one.stopped]


def running_child(process: subprocess.Popen[bytes]) -> int | None:
    """The process number of a child, as long as it runs or is stopped.

    While another thread waits for the child, ``poll`` alone says that it runs although it has ended.
    """
    return process.pid if process.poll() is None and state_of(process.pid) not in ("", "Z") else None
