"""What one machine runs of a lab: its namespaces, switches, agents and programs, and what is done with them.

The coordinator (:mod:`dcnlab.lab.coordinator.lab`) tells it which links are to be down and which are; it
reports what it observes to the lab's link state.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from addressing.scheme import Scheme
from controller.client import ControllerError
from dcnlab.lab import naming
from dcnlab.lab.contract.machine import Apply, LinksSet, LinkStateOfLab
from dcnlab.lab.control import rpc
from dcnlab.lab.control.rpc import Call
from dcnlab.lab.emulation import capacity, launch, wiring
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.outside import Outside
from dcnlab.lab.emulation.stages import Report
from dcnlab.lab.events.journal import Journal
from dcnlab.lab.network.measured_lab import MeasuredLab
from dcnlab.lab.options.config import LabConfig
from dcnlab.lab.options.link_shape import Direction, Shape
from dcnlab.lab.options.local_part import LocalPart
from dcnlab.lab.running.following import Following
from dcnlab.lab.running.guard import Guard
from dcnlab.lab.running.mending import Mending
from dcnlab.lab.running.port_watch import PortWatch
from dcnlab.lab.running.processes import restarts, supervised

if TYPE_CHECKING:
    from dcnlab.lab.contract.operation import Operation
    from dcnlab.lab.contract.processes import ProcessChange
    from dcnlab.lab.emulation.running import Running
    from dcnlab.lab.switchpath.driver import SwitchFastPath

#: Seconds for the controller to converge on link state; agents have as long.
_TIMEOUT = 30.0
#: Seconds after which a server counts as down.
_CONNECT_TIMEOUT = 2.0


class _Closes(Protocol):
    def close(self) -> None:
        """It is needed no longer."""


A = TypeVar("A")
P = TypeVar("P", bound=_Closes)


class LocalMachine(MeasuredLab):
    """The machine of this process: all of a lab, or with ``part`` some of its nodes."""

    #: The only machine of a lab needs no name, and answers.
    name = problem = ""

    def __init__(
        self,
        config: LabConfig,
        scheme: Scheme,
        link_state: LinkStateOfLab,
        journal: Journal,
        report: Report,
        outside: Outside | None = None,
        *,
        guard: Guard,
        part: LocalPart | None = None,
    ) -> None:
        super().__init__()
        self.config, self.guard, self.journal = config, guard, journal
        self.launched_scheme, self.fabric, self.link_state = scheme, scheme.fabric, link_state
        capacity.allow_files(self.fabric, config.agents, None if part is None else part.nodes)
        self.port_watch = PortWatch(link_state.report)
        self.running = launch.launch(
            config, scheme, link_state.report, report, outside, self.port_watch.controller_event, part, guard
        )
        self.switch_path, self.switch_fast_path = _switch_path(self.running)
        _correct_answers(self.running, self.switch_path)
        self.supervision = restarts.supervise(
            self.running, link_state, journal, self.port_watch.controller_event, guard
        )
        #: Tells processes what has failed.
        self.following = Following(self.running, self.supervision, journal, self.switch_path)
        #: Repairs what programs in hosts have changed.
        self.mending = Mending(self.running, link_state, self.supervision, guard)
        #: Each gives lines about what is wrong with the control of the switches.
        self.notices: list[Callable[[], Iterable[str]]] = []
        #: Brings links of the lab up; set when that has a coordinator.
        self.restore: Callable[[Sequence[int]], object] = lambda _: None
        self.stop = threading.Event()
        self.port_watch.attach(self.running)

    # --- what the coordinator asks for ----------------------------------------

    @property
    def seconds(self) -> Mapping[str, float]:
        return self.running.seconds

    def runs(self, node: int) -> bool:
        return self.running.here(node)

    def is_here(self) -> bool:
        return True

    def perform(self, wanted: Operation[A], call: Call | None = None) -> A:
        if call is not None:
            return wanted.perform(self, call)
        with rpc.without_client(wanted.request()) as call:
            return wanted.perform(self, call)

    def probe(self, kind: Callable[[LocalMachine, Any], P], context: Any) -> AbstractContextManager[P]:
        return contextlib.closing(kind(self, context))

    def connect(self, server: int, address: str, port: int) -> socket.socket:
        target = (address, port)
        connection: socket.socket = netns.inside(
            self.endpoint(server).netns, lambda: socket.create_connection(target, _CONNECT_TIMEOUT)
        )
        return connection

    def end(self) -> None:
        """End what is to end by itself; the kernel ends the rest with the sandbox."""
        for one in self._made.values():
            if (end := getattr(one, "end", None)) is not None:
                end()
        self.stop.set()
        if self.running.agents is not None:
            # All at once.  By the end of the sandbox their devices go one after the other: 15 s for a thousand.
            self.supervision.enabled = False
            self.running.agents.process.kill()

    # --- links ----------------------------------------------------------------

    def set_links(self, links: Sequence[int], up: bool) -> Callable[[], LinksSet]:
        """Take interfaces of links down here, or bring them up, and repair what hosts have broken of these.
        What that has done, to be asked for when the lab has converged."""
        begun, seen, self.following.in_order = time.monotonic(), self._controller_events(), None
        unnoticed = [link for link in links if link not in self.link_state.state().down] if up else []
        mended = self.mending.mend_links(links) if up else None
        self.set_interfaces(links, up)
        self.report_unseen(links)
        self._await_reports(unnoticed)

        def done() -> LinksSet:
            if mended is not None:
                mended()
            detected = self.link_state.noticed(links, begun)
            ms = round((detected - begun) * 1000, 2) if detected is not None else None
            order = self.following.in_order
            turns = (0, 0.0, "") if order is None else (order.turns, order.ms, order.at_once)
            return LinksSet(ms, *self._tables_since(seen), *turns)

        return done

    def set_interfaces(self, links: Iterable[int], up: bool) -> None:
        """Take interfaces of links down here, or bring them up."""
        changed = [self.fabric.link(number) for number in sorted(links)]
        # Taken down at the switch: a plain host whose interface goes down would lose its routes.
        chosen = [
            (link.a, link.b) if self.fabric.is_end_host(link.b.node) else (link.b, link.a) for link in changed
        ]
        whole = [pair for pair in chosen if all(self.running.here(end.node) for end in pair)]
        tunnels = [(end,) for link in changed for end in self.running.tunnel_ends(link)]
        wiring.set_links([[self.running.nic(end) for end in pair] for pair in (*whole, *tunnels)], up)
        if up:
            netns.await_running(self.running.nic(end) for pair in whole for end in pair)

    def _await_reports(self, links: Iterable[int]) -> None:
        """Wait until the controller has heard how links came up of which it had not heard that they were down:
        a host has taken them down just before, or they were made again."""
        both = (end.node for link in map(self.fabric.link, links) for end in (link.a, link.b))
        switches = {node for node in both if self.running.here(node) and not self.fabric.is_server(node)}
        controller = self.running.controller
        if controller is None or not switches or not self.running.choice.tables:
            return
        if self.following.controller_is_silent():
            return
        with contextlib.suppress(ControllerError):  # the next one reads the ports
            controller.await_reports(switches, _TIMEOUT)

    def has_watched_end(self, number: int) -> bool:
        """Whether a link to another machine has an end here that is not a plain host's: nothing there notices a
        carrier, and it would lose its routes."""
        link = self.fabric.link(number)
        return any(not self.fabric.is_end_host(end.node) for end in self.running.tunnel_ends(link))

    def report_unseen(self, links: Iterable[int]) -> None:
        """Report the ends of links whose agent or controller cannot: it has ended, or is stopped."""
        silent, blind = set(self.link_state.silent), self.following.controller_is_silent()
        both = (end for link in map(self.fabric.link, sorted(links)) for end in (link.a, link.b))
        ends = [end for end in both if self.running.here(end.node)]
        unseen = [end for end in ends if end.node in silent or (blind and not self.fabric.is_server(end.node))]
        restarts.report_carriers(self.running, self.link_state, unseen)

    def _controller_events(self) -> int:
        """How many events the controller has reported so far."""
        return self.running.controller.received if self.running.controller is not None else 0

    def _tables_since(self, seen: int) -> tuple[int, int, float]:
        """The controller's changes of tables after the first ``seen`` events: flow messages, switches, and
        milliseconds until all had acknowledged."""
        controller = self.running.controller
        events = controller.events_since(seen) if controller is not None else ()
        rounds = [event for event in events if event["event"] == "converged" and event["flow_mods"]]
        switches = [event["switches"] for event in rounds]
        return (
            sum(event["flow_mods"] for event in rounds),
            sum(switches) if self.following.in_order else max(switches, default=0),
            round(1000 * sum(event["seconds"] for event in rounds), 2),
        )

    # --- link state -----------------------------------------------------------

    def apply(self, update: Apply) -> object:
        """Have agents and controller follow link state, and wait until servers and switches forward by it."""
        told = self.following.follow(update)
        self.following.await_changes(update.down)
        return told

    def await_tables(self) -> None:
        """Wait until switches forward by the tables that they have now, and by nothing that was cached."""
        self.following.await_tables()

    # --- what measurements and clients ask for --------------------------------

    @property
    def impairments(self) -> Mapping[Direction, Shape]:
        """The impairments of links, by direction."""
        shape = self.running.impairments.shape
        directions = naming.directions(self.fabric, range(len(self.fabric.link_ends)))
        return {direction: shapes for direction in directions if (shapes := shape(direction))}

    def impair(self, directions: Sequence[Direction], values: Mapping[str, str]) -> Mapping[Direction, Shape]:
        """Change the impairments of links; raises UsageError."""
        buffers = self.running.receive_buffers
        if buffers is not None and values:
            buffers.expect_queues()
        if "rate" in values:
            self.running.answering.interpose()
        return self.running.impairments.change(directions, values)

    def inside(self, name: str, argv: list[str]) -> list[str]:
        """The command line that runs ``argv`` in a node's network namespace."""
        namespace = name if name in self.later else self.running.namespace(self.node(name))
        return ["nsenter", f"--net=/run/netns/{namespace}", "--", *argv]

    @contextlib.contextmanager
    def pinned(self, paths: Sequence[tuple[int, ...]]) -> Iterator[None]:
        """Pin packets from the first to the last server of each path to that path."""
        agents = self.running.agents
        if agents is None or not paths:
            yield
            return
        agents.pin(paths)
        try:
            yield
        finally:
            agents.pin([])

    def change_processes(
        self, named: str, action: Callable[[list[supervised.SupervisedProcess]], None]
    ) -> ProcessChange:
        """End, stop or start the processes that a user names; UsageError for what this lab does not have."""
        from dcnlab.lab.contract.processes import NamedProcess, ProcessChange  # not needed by a launch

        chosen, begun = restarts.named(self.supervision, self.running, named), time.monotonic()
        action(chosen)
        processes = [NamedProcess(part.name, list(part.nodes)) for part in chosen]
        return ProcessChange(processes, round(1000 * (time.monotonic() - begun), 2))


def _correct_answers(running: Running, path: SwitchFastPath | None) -> None:
    """Have switches answer what they cannot know: what the kernel has forwarded, and the rates of links."""
    needed = path is not None or running.impairments.any_rate_launched()
    if needed or running.early_answering is not None:  # a foreign controller may ask when links have got a rate
        running.answering.kernel = path
    if needed:
        running.answering.interpose()


def _switch_path(running: Running) -> tuple[SwitchFastPath | None, str]:
    """The switch fast path of a lab, imported only if it asks for one; see
    :func:`dcnlab.lab.switchpath.driver.launch`."""
    if running.config.switch_fast_path == "off":
        return None, "off"
    if running.config.switch_fast_path == "auto" and running.config.choice().tls:
        return None, "off: a controller by TLS would not see what the kernel forwards"
    if collectors := running.config.collectors():
        return None, f"off: {collectors[0].protocol} sees only what Open vSwitch forwards"
    from dcnlab.lab.switchpath import driver

    return driver.launch(running.config.switch_fast_path, running)
