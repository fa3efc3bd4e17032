"""The coordinator of a lab: it knows the network, the links and the journal, and has machines do the rest."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from dcnlab.lab.contract.machine import Apply, LinksSet, MachineUnreachable
from dcnlab.lab.coordinator.link_state.driver import LinkStateDriver
from dcnlab.lab.coordinator.machine import Machine, OtherMachines, at_once
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.events.journal import Journal
from dcnlab.lab.events.kinds import Configured, LabState
from dcnlab.lab.network.endpoint import Endpoint
from dcnlab.lab.network.measured_lab import MeasuredLab
from dcnlab.lab.options.config import LabConfig
from dcnlab.lab.options.link_shape import Direction, Shape
from topos.graph import ALL_UP

if TYPE_CHECKING:
    from addressing.scheme import Scheme
    from dcnlab.lab.contract import lab as contract
    from dcnlab.lab.contract.links import LinkChange
    from dcnlab.lab.contract.operation import Operation
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.instruments.probe import Context

A = TypeVar("A")

_log = logging.getLogger(__name__)


class OnOneMachine(Exception):
    """What was asked for needs the namespaces of that machine, which is another one, and of no other."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine.name)
        self.machine = machine


class Coordinator(MeasuredLab):
    """A lab.  ``nodes`` are those of each machine, by its name; without it one machine has all.

    Machines are launched with its :attr:`link_state` and :attr:`journal`; :attr:`machines` are set then, and
    the lab starts.
    """

    link_state: LinkStateDriver

    def __init__(
        self, config: LabConfig, scheme: Scheme, nodes: Mapping[str, Iterable[int]] | None = None
    ) -> None:
        super().__init__()
        self.config, self.started = config, time.time()
        self.launched_scheme, self.fabric = scheme, scheme.fabric
        #: What has happened in the lab.
        self.journal = Journal()
        #: Which links are down, why, and which machines follow; they are launched with all links up.
        self.link_state = LinkStateDriver(self.fabric, self._apply, self.journal, nodes, (ALL_UP, ALL_UP))
        self.machines: list[Machine] = []
        #: Where it has several machines.
        self.others: OtherMachines | None = None
        #: Seconds of each stage of the launch.
        self.seconds: dict[str, float] = {}
        #: How many autoconfigurations there were.
        self._epoch = 0
        self.stop = threading.Event()
        self.ending = False
        self._end_lock = threading.Lock()
        #: Held while links change: each caller waits until the lab has converged on its change.
        self.link_lock = threading.Lock()

    def start(self) -> None:
        """The machines have been launched."""
        stages = [machine.seconds for machine in self.machines]
        self.seconds = {stage: max(one.get(stage, 0.0) for one in stages) for stage in stages[0]}
        self.journal.add(LabState("ready", f"{self.fabric.spec} with {self.config.scheme}"))
        self.link_state.start()

    def end(self) -> None:
        """End the lab; those who follow its events learn it."""
        with self._end_lock:
            begun, self.ending = self.ending, True
        if begun:
            return
        self.link_state.stop()
        self.journal.add(LabState("ending"))
        at_once(self.living, _end)
        if self.others is not None:
            self.others.end()
        self.journal.close()
        self.stop.set()

    # --- machines -------------------------------------------------------------

    @property
    def living(self) -> list[Machine]:
        """The machines that answer."""
        return [machine for machine in self.machines if not machine.problem]

    def at(self, node: int) -> Machine:
        """The machine that runs a node; LabError when it does not answer."""
        name = self.fabric.name(node)
        machine = next((machine for machine in self.machines if machine.runs(node)), None)
        if machine is None:
            raise LabError(f"{name} is on another machine")
        if machine.problem:
            raise LabError(f"{name}: {machine.problem}")
        return machine

    # --- operations -----------------------------------------------------------

    def perform(self, wanted: Operation[A], call: Call) -> A:
        """Have an operation performed by whom its route says."""
        from dcnlab.lab.contract.operation import Route  # not needed by a launch

        if not wanted.public and self.others is not None:
            raise UsageError(f"only the machines of this lab ask each other for {wanted.op()}")
        if wanted.route is Route.COORDINATOR:
            return wanted.perform(self, call)
        if wanted.route is Route.EVERYWHERE:
            return wanted.merge([*self.perform_all(wanted).values()])
        if (node := wanted.node_of(self)) is not None:
            return self.at(node).perform(wanted, call)
        if len(self.machines) == 1:
            return self.machines[0].perform(wanted, call)
        return wanted.merge(self._where_possible(wanted))

    def perform_all(self, wanted: Operation[A]) -> dict[str, A]:
        """The answers by machine, of those that answer; LabError when none does."""
        answers: dict[str, A] = {}

        def ask(machine: Machine) -> None:
            with contextlib.suppress(MachineUnreachable):
                answers[machine.name] = machine.perform(wanted)

        machines = self.living
        at_once(machines, ask)
        if not answers:
            raise LabError("no machine of this lab answers")
        return {machine.name: answers[machine.name] for machine in machines if machine.name in answers}

    def _where_possible(self, wanted: Operation[A]) -> list[A]:
        """The answers of the machines that can do it; the UsageError of one where none can."""

        def attempt(machine: Machine) -> A | UsageError:
            try:
                return machine.perform(wanted)
            except UsageError as error:
                return error

        attempts = at_once(self.living, attempt)
        if answers := [one for one in attempts if not isinstance(one, UsageError)]:
            return answers
        raise next(one for one in attempts if isinstance(one, UsageError))

    # --- links ----------------------------------------------------------------

    def change_links(self, links: Sequence[int], node: int | None = None, *, up: bool) -> LinkChange:
        """Cut links by themselves, or ``node`` with these links, or bring them up again, at all their ends;
        returns when the lab has converged.

        One change at a time: a change that undid this one meanwhile would make it wait forever.
        """
        from dcnlab.lab.contract.links import LinkChange  # not needed by a launch

        with self.link_lock:
            if not any(self.ends_at(machine, links) for machine in self.living):
                raise LabError("the machines that have these links do not answer")
            begun = time.monotonic()
            change = (self.link_state.restore if up else self.link_state.cut)(links, node, begun)
            ends = [(machine, self.ends_at(machine, sorted(change.links))) for machine in self.living]
            concerned = {machine: some for machine, some in ends if some}
            asked = at_once(list(concerned), lambda machine: machine.set_links(concerned[machine], up))
            try:
                try:
                    converged = self.link_state.wait_for(frozenset(links), up)
                finally:  # what remains to be done where links were made again, also if nobody hears of them
                    done = LinksSet.together([answer() for answer in asked])
            except LabError as error:
                now = "up again" if up else "down"
                raise LabError(f"{self._names(sorted(links))}: {now} now, but {error}") from error
            converged_ms = round(1000 * (converged - begun), 2)
        _log.info("links %s %s: converged after %s ms", links, "up" if up else "down", converged_ms)
        return LinkChange(
            links=list(links),
            up=up,
            silent=[self.fabric.name(server) for server in self.link_state.silent],
            still_down=self.link_state.still_down(sorted(links)) if up else [],
            detection_ms=done.detection_ms,
            converged_ms=converged_ms,
            flow_mods=done.flow_mods,
            switches=done.switches,
            tables_ms=done.tables_ms,
            turns=done.turns,
            order_ms=done.order_ms,
            at_once=done.at_once,
            repair=self.scheme.repair_report() or None,
        )

    def extend(self, config: LabConfig, scheme: Scheme) -> None:
        """The network has become that of ``scheme``, which begins with the present one."""
        self.config, self.launched_scheme, self.fabric = config, scheme, scheme.fabric
        self.link_state.extend(scheme.fabric)

    def ends_at(self, machine: Machine, links: Iterable[int]) -> list[int]:
        """The links that can be cut at a machine: a plain host's at its switch."""
        return [
            number
            for number in links
            for link in (self.fabric.link(number),)
            if any(
                machine.runs(node) and not self.fabric.is_end_host(node) for node in (link.a.node, link.b.node)
            )
        ]

    def _names(self, links: Sequence[int]) -> str:
        names = ["-".join(self.fabric.link_names(link)) for link in links[:4]]
        return ", ".join(names) + (" and others" if len(links) > 4 else "")

    def _apply(self, update: Apply) -> object:
        """Have a machine follow the link state."""
        machine = next(machine for machine in self.machines if machine.name == update.machine)
        return machine.apply(update)

    # --- what measurements and clients ask for --------------------------------

    @property
    def impairments(self) -> Mapping[Direction, Shape]:
        """The impairments of links, by direction."""
        for machine in self.living:
            with contextlib.suppress(MachineUnreachable):
                return machine.impairments
        raise LabError("no machine of this lab answers")

    def two_endpoints(self, a: str, b: str) -> tuple[Endpoint, Endpoint]:
        """The endpoints of two servers by name, for sockets in their namespaces; UsageError when they are on
        different machines."""
        servers = self.two_servers(a, b)
        source, target = map(self.at, servers)
        if source is not target:
            text = f"{a} is on {source.name}, {b} on {target.name}"
            raise UsageError(f"this measurement needs both servers on one machine, and {text}")
        if not source.is_here():
            raise OnOneMachine(source)
        return self.endpoint(servers[0]), self.endpoint(servers[1])

    def inside(self, name: str, argv: list[str]) -> list[str]:
        """The command line that runs ``argv`` in a node, where that is on this machine."""
        machine = self.at(self.node(name))
        if not machine.is_here():
            raise OnOneMachine(machine)
        return machine.inside(name, argv)

    def configure(self, context: Context) -> contract.Configured:
        """Let all servers configure themselves, by the scheme's protocol; LabError with every error found."""
        from dcnlab.lab.autoconfig import configuring
        from dcnlab.lab.instruments.configuration import ConfigurationProbe

        self._epoch += 1
        with context.probes(ConfigurationProbe) as sides:
            configured = configuring.configure(sides, self.scheme, self._epoch)
        self.note_configuration(configured)
        return configured

    def note_configuration(self, configured: contract.Configured) -> None:
        """Servers have configured themselves so."""
        self.configured, self._epoch = configured, max(self._epoch, 1)
        self.journal.add(Configured(configured.protocol, configured.ms, configured.servers))


def _end(machine: Machine) -> None:
    try:
        machine.end()
    except LabError as error:
        _log.warning("%s: %s", machine.name, error)
