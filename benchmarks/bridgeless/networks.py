"""A lab's network in this sandbox: its hosts, links, agents and tables, with Open vSwitch and without."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import psutil

from benchmarks.bridgeless.compiler import Compiler, Interfaces
from benchmarks.bridgeless.program import LoneProgram
from benchmarks.launch import processor_time, proportional
from dcnlab.lab.emulation import capacity, launch, network, wiring
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.running import Running
from dcnlab.lab.emulation.stages import Stages
from dcnlab.lab.emulation.switches import openvswitch, shards
from dcnlab.lab.emulation.switches.shards import Shard
from dcnlab.lab.options.config import LabConfig, resolve
from dcnlab.lab.switchpath import driver
from dcnlab.lab.switchpath.maps import SwitchMaps

#: In nanoseconds.
SECOND = 10**9
#: What processes are called, by a word of their command lines; others by their names.
_KINDS = {"hostagent": "agents", "controller": "controller"}


class Network(ABC):
    """A network that forwards: :attr:`running` is what it consists of."""

    def __init__(self, topology: str, scheme: str) -> None:
        self.config = LabConfig(topology, scheme)
        self.fabric, self.scheme = resolve(topology, scheme)
        capacity.allow_files(self.fabric)
        before, begun = processor_ns(), time.perf_counter()
        self.running = self._launch()
        #: Of the launch: seconds, and processor time by kind of process.
        self.seconds, self.processor = time.perf_counter() - begun, since(before)

    @abstractmethod
    def _launch(self) -> Running: ...

    @abstractmethod
    def follow(self, switch: str, down: Sequence[int]) -> None:
        """Have tables follow link state, and wait until frames are forwarded by them."""

    def change(self, link: int, up: bool) -> float:
        """Bring a link up or take it down; the milliseconds until switches forward by the tables for that."""
        ends = self.fabric.link(link)
        far, near = (ends.a, ends.b) if self.fabric.is_server(ends.a.node) else (ends.b, ends.a)
        begun = time.perf_counter()
        wiring.set_links([[self.running.nic(near), self.running.nic(far)]], up)
        self.follow(self.fabric.name(near.node), [] if up else [link])
        return 1000 * (time.perf_counter() - begun)

    def at(self, host: int, *argv: str) -> str:
        """What a program in a host prints."""
        where = f"--net={netns.path(self.fabric.name(host))}"
        return subprocess.run(
            ["nsenter", where, "--", *argv], capture_output=True, text=True, check=True
        ).stdout


class WithOpenVSwitch(Network):
    """As labs are, with the switch fast path."""

    def _launch(self) -> Running:
        running = launch.launch(self.config, self.scheme, lambda *_: None, lambda _: None)
        begun = time.perf_counter()
        path, self.state = driver.launch("on", running)
        assert path is not None
        self.path = path
        running.seconds["fast path"] = round(time.perf_counter() - begun, 3)
        return running

    def follow(self, switch: str, down: Sequence[int]) -> None:
        assert self.running.controller is not None
        self.running.controller.converge(down)
        self.path.await_tables({switch})
        openvswitch.purge_datapath_caches([self.running.shard(switch)])


class Bridgeless(Network):
    """Switches are entries in maps, and a program at their interfaces."""

    def _launch(self) -> Running:
        clock, fabric = Stages(lambda _: None), self.fabric
        clock.stage("namespaces")
        parts = shards.split(network.bridges(fabric))
        running = Running(self.config, fabric, self.scheme, parts, None, None, "none")
        self.interfaces = interfaces(running)
        self.maps = SwitchMaps.open(len(running.switches))
        self.program = LoneProgram(self.maps)
        self.compiler = Compiler(self.scheme, self.maps, self.interfaces)
        running.agents = launch.spawn_agents(self.config, fabric, lambda *_: None)
        netns.create(shard.netns for shard in parts)
        # In place of what prepares and starts daemons.
        network.prepare_switches = lambda *_: []
        openvswitch.start_switches = lambda *_: self._attach(running)
        network.build_network(running, clock)
        clock.stage("tables")
        self.entries = self.compiler.await_tables()
        running.seconds = clock.finish()
        return running

    def _attach(self, running: Running) -> None:
        for switch, ports in self.interfaces.items():
            self.maps.add_ports(switch - self.fabric.servers, ports.values())
        for shard in running.shards:
            self.attach(shard)

    def attach(self, shard: Shard) -> None:
        """Attach the program at the ports of a shard's switches."""
        ports = [
            one for bridge in shard.bridges for one in self.interfaces[self.fabric.index(bridge.name)].values()
        ]
        netns.inside(shard.netns, partial(self.program.attach, ports))

    def follow(self, switch: str, down: Sequence[int]) -> None:
        self.compiler.call("links", down)


def interfaces(running: Running) -> Interfaces:
    """The interface of each port of each switch, known before there are any."""
    found: Interfaces = {switch: {} for switch in running.switches}
    for number, pair in network.veth_pairs(running).items():
        link = running.fabric.link(number)
        for end, index in ((link.a, pair.index), (link.b, pair.index + 1)):
            if end.node in found:
                found[end.node][end.number] = index
    return found


def processor_ns() -> Counter[str]:
    """Nanoseconds of processor time of the processes in this sandbox so far, by kind; ``session`` is this one,
    with programs that it has run."""
    taken = _of_others()
    taken["session"] += _own_ns()  # last: looking at others takes time
    return taken


def since(before: Counter[str]) -> Counter[str]:
    """Processor time by kind since then."""
    own = _own_ns()
    taken = _of_others()
    taken["session"] += own
    return taken - before


def _own_ns() -> int:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return int(sum(one.ru_utime + one.ru_stime for one in used) * SECOND)


def _of_others() -> Counter[str]:
    taken: Counter[str] = Counter()
    for process in _others():
        taken[kind(process)] += int(processor_time(process) * SECOND)
    return taken


def memory() -> Counter[str]:
    """Memory (PSS) of the other processes in this sandbox in bytes, by kind."""
    taken: Counter[str] = Counter()
    for process in _others():
        with contextlib.suppress(ProcessLookupError):  # it has ended
            taken[kind(process)] += proportional(process)
    return taken


def _others() -> Iterator[psutil.Process]:
    return (process for process in psutil.process_iter(["name"]) if process.pid != os.getpid())


def kind(process: psutil.Process) -> str:
    """What a process is called in tables; the compiler is a fork of this one."""
    words = Path(f"/proc/{process.pid}/cmdline").read_text().split("\0")
    if process.ppid() == os.getpid() and process.name().startswith("python") and not _KINDS.keys() & {*words}:
        return "compiler"
    return next((_KINDS[word] for word in words if word in _KINDS), process.name())
