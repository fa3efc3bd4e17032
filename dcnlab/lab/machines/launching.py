"""The launch of a lab on many machines: which of them runs what, and the part of each."""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from addressing.scheme import Scheme
from dcnlab.lab import naming
from dcnlab.lab.control import rpc
from dcnlab.lab.coordinator.lab import Coordinator
from dcnlab.lab.coordinator.machine import at_once
from dcnlab.lab.errors import UsageError
from dcnlab.lab.instruments.probe import Context
from dcnlab.lab.machines import placement, placement_file, transport
from dcnlab.lab.machines.placement import Placement
from dcnlab.lab.machines.remote_machine import RemoteMachine
from dcnlab.lab.machines.transport.contract import Worker
from dcnlab.lab.machines.watching import Watch
from dcnlab.lab.options import miswiring, mtu
from dcnlab.lab.options.config import LabConfig, lab_options
from dcnlab.lab.options.local_part import LocalPart
from hostagent.control.authentication import KEY_SIZE

#: UDP ports of labs' tunnels: those that no service is registered for.
_PORTS = range(49152, 60000)
#: The longest name of a lab: those of its parts are a little longer.
_LONGEST_NAME = 27
#: Fields of the configuration that the parts have from elsewhere.
_OF_THE_WHOLE = frozenset({"topology", "scheme", "name", "machines", "placement", "multipath", "expose"})


class Launch:
    """Launches :attr:`lab`; ``report`` is called with the name of each stage.  LabError if that fails."""

    def __init__(self, config: LabConfig, report: Callable[[str], None]) -> None:
        if len(config.name) > _LONGEST_NAME:
            raise UsageError(f"a lab on several machines has a name of at most {_LONGEST_NAME} letters")
        self.config = config
        self.scheme: Scheme = config.validate()
        self.fabric = self.scheme.fabric
        #: Of the agents' control frames.
        self._key = os.urandom(KEY_SIZE).hex()
        report("machines")
        self.transport = transport.connect(config.machines)
        try:
            self._launch(report)
        except BaseException:
            self.transport.close()
            raise

    def _launch(self, report: Callable[[str], None]) -> None:
        workers = self.transport.workers()
        self.placement = self._place(workers)
        underlay = min(worker.mtu for worker in workers)
        self.mtu = mtu.over(underlay, 6 if ":" in workers[0].address else 4, self.config.mtu)
        port = random.SystemRandom().choice(_PORTS)
        crossing = self._crossing()
        parts = {number: self._part(workers, number, port, crossing[number]) for number in range(len(workers))}
        wanted = [(workers[number], part) for number, part in parts.items() if part.nodes]
        self.lab = Coordinator(
            self.config, self.scheme, {worker.machine.name: part.nodes for worker, part in wanted}
        )
        self._addresses = {worker.machine.name: worker.address for worker in workers}
        self.watch = Watch(self.lab)
        self.machines = [self.machine(worker, part) for worker, part in wanted]
        report("parts")
        at_once(self.machines, self.launch_part)
        self.lab.machines = list(self.machines)
        if self.config.autoconfigure:
            report("addresses")
            with rpc.without_client({}) as call:
                self.lab.configure(Context(call, self.machines))
        self.lab.start()
        for machine in self.machines:
            self.watch.begin(machine)

    def machine(self, worker: Worker, part: LocalPart) -> RemoteMachine:
        """A machine that runs a part of the lab, which is to be launched."""
        return RemoteMachine(self.transport, worker, part, self.lab, self._addresses)

    def _place(self, workers: Sequence[Worker]) -> Placement:
        machines = tuple(worker.machine for worker in workers)
        if self.config.placement:
            placed = placement_file.read(self.config.placement, self.fabric, machines)
        else:
            placed = placement.place(self.fabric, machines, self.config.agents)
        for worker, part in zip(workers, placed.parts(self.config.agents), strict=True):
            if not part.fits:
                needed, free = part.memory >> 20, worker.machine.memory >> 20
                text = f"needs about {needed:,} MB of memory and {free:,} MB are free: add machines"
                raise UsageError(f"the part of {worker.machine.name} ({worker.address}) {text}")
            if placed.cut and not worker.root:
                raise UsageError(
                    f"links between machines need root: run the worker at {worker.address} as root"
                )
        return placed

    def _crossing(self) -> dict[int, dict[int, int]]:
        """The links of each machine to others, with the other: found for all at once, since there are many."""
        crossing: dict[int, dict[int, int]] = defaultdict(dict)
        for link in miswiring.wired(self.fabric, self.config.miswire):
            a, b = self.placement.of[link.a.node], self.placement.of[link.b.node]
            if a != b:
                crossing[a][link.index], crossing[b][link.index] = b, a
        return crossing

    def _part(
        self, workers: Sequence[Worker], number: int, port: int, crossing: Mapping[int, int]
    ) -> LocalPart:
        peers = {link: workers[other].address for link, other in crossing.items()}
        nodes = frozenset(self.placement.nodes(number))
        machines = tuple(worker.address for worker in workers)
        collectors = {server: self.placement.of[server] for server in self._collecting()}
        return LocalPart(
            nodes,
            peers,
            machines[number],
            port,
            self.mtu,
            key=self._key,
            number=number,
            machines=machines,
            collectors=collectors,
        )

    def _collecting(self) -> list[int]:
        """The servers to which switches send what they see."""
        return [
            naming.node(self.fabric, collector.server, self.scheme) for collector in self.config.collectors()
        ]

    def launch_part(self, machine: RemoteMachine, again: bool = False) -> None:
        """Launch the part of one machine, maybe ``again``."""
        options = {name: getattr(self.config, name) for name in lab_options() if name not in _OF_THE_WHOLE}
        options["controller"] = self.config.choice().resolved()
        for file in ("controller_ca", "controller_cert", "controller_key"):
            options[file] = str(Path(options[file]).resolve()) if options[file] else ""
        name = f"{self.config.name}-{machine.name}"
        machine.create(self.config.topology, self.config.scheme, name, self.config.custom, options)
        machine.launch(again)
