"""A running lab: its parts, its link state, and the operations on its links."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from addressing.scheme import Scheme
from controller.client import ControllerError
from dcnlab.lab import naming
from dcnlab.lab.control.holders import state_of
from dcnlab.lab.coordinator.link_state.driver import LinkStateDriver
from dcnlab.lab.coordinator.link_state.machine_state import Apply
from dcnlab.lab.coordinator.link_state.state_machine import SetLinks
from dcnlab.lab.emulation import capacity, launch, netns, wiring
from dcnlab.lab.emulation.outside import Outside
from dcnlab.lab.emulation.stages import Report
from dcnlab.lab.emulation.switches import openvswitch
from dcnlab.lab.errors import LabError
from dcnlab.lab.events.journal import Journal
from dcnlab.lab.events.kinds import Configured, LabState, LearnedFailures
from dcnlab.lab.options.config import LabConfig
from dcnlab.lab.options.link_shape import Shape
from dcnlab.lab.options.local_part import LocalPart
from dcnlab.lab.running import parts, recovery, telling
from dcnlab.lab.running.endpoint import NamedNodes
from dcnlab.lab.running.guard import Guard
from dcnlab.lab.running.mending import Mending
from dcnlab.lab.running.port_watch import PortWatch
from topos.graph import ALL_UP, Link, LinkState

if TYPE_CHECKING:
    from dcnlab.lab.emulation.mininet import LabNet
    from dcnlab.lab.emulation.running import Running
    from dcnlab.lab.switchpath.driver import SwitchFastPath

#: Seconds for the controller to converge on link state; agents have as long.
_TIMEOUT = 30.0


_log = logging.getLogger(__name__)


class RunningLab(NamedNodes):
    """One running lab; the control socket and the prompt use it."""

    def __init__(
        self,
        config: LabConfig,
        report: Report,
        outside: Outside | None = None,
        *,
        guard: Guard,
        part: LocalPart | None = None,
    ) -> None:
        self.config, self.guard = config, guard
        self.started = time.time()
        scheme = config.validate()
        self.fabric = scheme.fabric
        capacity.allow_files(self.fabric, None if part is None else part.nodes)
        #: What has happened in the lab.
        self.journal = Journal()
        self.link_state = LinkStateDriver(self.fabric, self._follow, self.journal, told=(ALL_UP, ALL_UP))
        port_watch = PortWatch(self.link_state.report)
        self.running = launch.launch(
            config, scheme, self.link_state.report, report, outside, port_watch.controller_event,
            part, guard,
        )  # fmt: skip
        self.switch_path, self.switch_fast_path = _switch_path(self.running)
        _correct_answers(self.running, self.switch_path)
        self.supervision = recovery.supervise(
            self.running, self.link_state, self.journal, port_watch.controller_event, guard
        )
        #: Repairs what programs in hosts have changed.
        self.mending = Mending(self.running, self.link_state, self.supervision)
        #: Each gives lines about what is wrong with the control of the switches.
        self.notices: list[Callable[[], Iterable[str]]] = []
        port_watch.attach(self.running)
        self.report_configuration()
        self.journal.add(LabState("ready", f"{self.fabric.spec} with {config.scheme}"))
        self.stop = threading.Event()
        #: Held while links change: each caller waits until the lab has converged on its change.
        self._link_lock = threading.Lock()
        self.link_state.start()

    def report_configuration(self) -> None:
        """Tell the journal how the servers have configured themselves, if they have."""
        if found := self.running.aacm:
            self.journal.add(Configured(found["protocol"], found["ms"], found["servers"]))

    def end(self) -> None:
        """End the lab; those who follow its events learn it."""
        if not self.stop.is_set():
            self.journal.add(LabState("ending"))
            self.journal.close()
            self.stop.set()

    @cached_property
    def net(self) -> LabNet:
        """The lab as Mininet objects, created on first use."""
        from dcnlab.lab.emulation import mininet  # Mininet takes a tenth of a second to import

        return mininet.objects(
            self.running, self.set_link, lambda number, values: self.impair((number,), values)
        )

    @property
    def scheme(self) -> Scheme:
        """The scheme with the failures that the control plane knows."""
        distributed_state = self.distributed_state
        return (
            self.running.scheme.with_failures(distributed_state) if distributed_state else self.running.scheme
        )

    @property
    def distributed_state(self) -> LinkState:
        """The failed links that all agents know; where they exchange link state, once they have converged."""
        state, scheme = self.link_state.state(), self.running.scheme
        if self.config.link_state == "lab" or scheme.floods_everywhere:
            return state
        return telling.to_agents(scheme, state, self.link_state.silent_links())

    @property
    def controller_state(self) -> LinkState:
        """The failed links that the controller knows."""
        state = self.link_state.state()
        if self.config.link_state == "lab":
            return state
        return telling.seen_by_controller(self.running.scheme, state, self.link_state.silent_links())

    @property
    def launched_scheme(self) -> Scheme:
        """The scheme as the lab was launched with it."""
        return self.running.scheme

    @property
    def links(self) -> LinkState:
        """The links that are down."""
        return self.link_state.state()

    @property
    def impairments(self) -> Mapping[int, Shape]:
        """The links that have impairments, by number."""
        shape = self.running.impairments.shape
        return {number: found for number in range(len(self.fabric.link_ends)) if (found := shape(number))}

    def inside(self, name: str, words: list[str]) -> list[str]:
        """The command line that runs ``words`` in a node's network namespace."""
        return ["nsenter", f"--net=/run/netns/{self.running.namespace(self.node(name))}", "--", *words]

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

    # --- processes ------------------------------------------------------------

    def parts_named(self, what: str) -> list[parts.Part]:
        """The processes that a user names; UsageError for what this lab does not have."""
        return recovery.named(self.supervision, self.running, what)

    # --- links ----------------------------------------------------------------

    def links_named(self, kind: str, names: list[str]) -> tuple[int, ...]:
        """The link numbers of ``link A B`` or ``node A``."""
        return naming.links(self.fabric, kind, names, self.running.scheme)

    def change_links(self, links: tuple[int, ...], node: int | None = None, *, up: bool) -> dict[str, Any]:
        """Cut links by themselves, or ``node`` with these links, or bring them up again; returns when the lab
        has converged.

        One change at a time: a change that undid this one meanwhile would make it wait forever.
        """
        with self._link_lock:
            found = self._change_links(frozenset(links), up, node)
        _log.info("links %s %s: converged after %s ms", links, "up" if up else "down", found["converged_ms"])
        return {"links": list(links), **found}

    def _change_links(self, links: frozenset[int], up: bool, node: int | None) -> dict[str, Any]:
        begun, seen = time.monotonic(), self._controller_events()
        change = (self.link_state.restore if up else self.link_state.cut)(links, node)
        mended = self.mending.mend_links(change.links) if up else None
        self._set_links(change)
        self._report_unseen(map(self.fabric.link, sorted(links)))
        try:
            self.link_state.wait_for(links, up)
            if mended is not None:
                mended()
        except LabError as error:
            done = "up again" if up else "down"
            raise LabError(f"{self._named(sorted(links))}: {done} now, but {error}") from error
        converged, detected = time.monotonic(), self.link_state.noticed(links, begun)
        return {
            "up": up,
            "silent": [self.fabric.name(server) for server in self.link_state.silent],
            "still_down": self.link_state.still_down(sorted(links)) if up else [],
            "detection_ms": round((detected - begun) * 1000, 2) if detected is not None else None,
            "converged_ms": round((converged - begun) * 1000, 2),
            **self._tables_since(seen),
        }

    def _set_links(self, change: SetLinks) -> None:
        """Take interfaces of links down here, or bring them up."""
        changed = [self.fabric.link(number) for number in sorted(change.links)]
        # Taken down at the switch: a plain host whose interface goes down would lose its routes.
        chosen = [
            (link.a, link.b) if self.fabric.is_end_host(link.b.node) else (link.b, link.a) for link in changed
        ]
        whole = [pair for pair in chosen if all(self.running.here(end.node) for end in pair)]
        tunnels = [(end,) for link in changed for end in self.running.tunnel_ends(link)]
        wiring.set_links([[self.running.nic(end) for end in pair] for pair in (*whole, *tunnels)], change.up)
        if change.up:
            netns.await_running(self.running.nic(end) for pair in whole for end in pair)

    def repair_host(self, host: int) -> None:
        """Bring what the owner of a host has changed back to what the lab made."""
        with self._link_lock:
            if links := self.mending.to_mend(host):
                self._change_links(links, True, None)
            if self.fabric.is_end_host(host):
                self.mending.mend_host(host)

    def take_elsewhere(self, links: Iterable[int], unreachable: Iterable[int]) -> None:
        """Other machines report these links as down, and those to some machines are ``unreachable``: their ends
        here go down as well.  Returns when the lab has converged.

        A tunnel has no carrier of its own, so agents and switches would not notice that nobody is at the other
        end, and protocols of the agents would wait for neighbours that are gone.
        """
        with self._link_lock:
            changes = self.link_state.report_absent(filter(self._has_watched_end, unreachable))
            # Those that come back stay down until their ends here are up: else the controller would be told of
            # them before its switches tell it, and would not count the change of tables among this one.
            self.link_state.report_elsewhere(links)
            self._set_tunnels(changes)
        self.link_state.await_state()

    def take_isolation(self, links: Sequence[int]) -> None:
        """Nobody asks this machine, one of several, so its ``links`` to others are down; none: somebody asks
        again.  Returns when the lab has converged."""
        with self._link_lock:
            ends = filter(self._has_watched_end, links)
            self._set_tunnels(self.link_state.report_isolation(links, ends))
        self.link_state.await_state()

    def _set_tunnels(self, changes: Iterable[SetLinks]) -> None:
        """Take ends of links to other machines down or bring them up; returns when that is noticed."""
        for change in changes:
            self._set_links(change)
        for change in changes:
            self._report_unseen(map(self.fabric.link, sorted(change.links)))
            self.link_state.await_carriers(change.links, change.up)

    def _has_watched_end(self, number: int) -> bool:
        """Whether a link to another machine has an end here that is not a plain host's: nothing there notices a
        carrier, and it would lose its routes."""
        link = self.fabric.link(number)
        return any(not self.fabric.is_end_host(end.node) for end in self.running.tunnel_ends(link))

    def _report_unseen(self, links: Iterable[Link]) -> None:
        """Report the ends of links whose agent or controller cannot: it has ended, or is stopped."""
        silent, blind = set(self.link_state.silent), self._controller_is_silent()
        both = (end for link in links for end in (link.a, link.b))
        ends = [end for end in both if self.running.here(end.node)]
        unseen = [end for end in ends if end.node in silent or (blind and not self.fabric.is_server(end.node))]
        recovery.report_carriers(self.running, self.link_state, unseen)

    def _controller_is_silent(self) -> bool:
        """Whether the lab has a controller that has ended or is stopped."""
        controller = self.running.controller
        return controller is not None and state_of(controller.process.pid) in ("", "T", "Z")

    def _named(self, links: Sequence[int]) -> str:
        names = ["-".join(self.fabric.link_names(link)) for link in links[:4]]
        return ", ".join(names) + (" and others" if len(links) > 4 else "")

    def _controller_events(self) -> int:
        """How many events the controller has reported so far."""
        return self.running.controller.received if self.running.controller is not None else 0

    def _tables_since(self, seen: int) -> dict[str, Any]:
        """The controller's changes of tables after the first ``seen`` events: flow messages, switches,
        milliseconds until all had acknowledged, and the scheme's repair."""
        controller = self.running.controller
        found = controller.events_since(seen) if controller is not None else ()
        rounds = [event for event in found if event["event"] == "converged" and event["flow_mods"]]
        changes: dict[str, Any] = {
            "flow_mods": sum(event["flow_mods"] for event in rounds),
            "switches": max((event["switches"] for event in rounds), default=0),
            "tables_ms": round(1000 * sum(event["seconds"] for event in rounds), 2),
        }
        repair = self.scheme.repair_report()
        return changes | {"repair": repair} if repair else changes

    def impair(self, links: Sequence[int], values: Mapping[str, str]) -> Mapping[int, Shape]:
        """Change the impairments of links; raises UsageError."""
        buffers = self.running.receive_buffers
        if buffers is not None and values:
            buffers.expect_queues()
        if "rate" in values:
            self.running.answering.interpose()
        return self.running.impairments.change(links, values)

    def set_link(self, a: str, b: str, up: bool) -> None:
        """Mininet's ``link A B up|down``."""
        self.change_links(self.links_named("link", [a, b]), up=up)

    def _follow(self, update: Apply) -> object:
        """Have agents and controller follow link state, and wait until servers and switches forward by it."""
        told = self._converge(update)
        self.await_tables()
        return told

    def await_tables(self) -> None:
        """Wait until switches forward by the tables that they have now, and by nothing that was cached."""
        if self.switch_path is not None:
            self.switch_path.await_tables()  # the kernel forwards for the switches
        openvswitch.purge_datapath_caches(parts.working_shards(self.running))

    def _converge(self, update: Apply) -> object:
        """Send link state to the agents and the controller and wait until both have converged: what they were
        told, which is not told again where agents exchange link state themselves (:mod:`telling`).

        A controller that works is waited for in any case: what a switch reported to it becomes tables somewhat
        later.
        """
        state, (to_agents, to_controller) = LinkState(update.down), self._to_tell(update)
        if self.running.flooding is not None:
            self.running.flooding.follow(state.down)
        if self.config.link_state == "agents" and update.told == (to_agents, to_controller):
            if not self._controller_is_silent():
                self._converge_tables(to_controller)
            return to_agents, to_controller
        self.supervision.settle()
        agents, problem = self.running.agents, ""
        if agents is not None:
            agents.links(to_agents.down)
        try:
            if self._converge_tables(to_controller):
                learned = LearnedFailures("the controller", sorted(to_controller.down), update.revision)
                self.journal.add(learned)
        except (ControllerError, LabError) as error:  # the agents follow nevertheless
            problem = str(error)
        self.running.introduce_hosts(self.running.scheme.with_failures(state))
        if agents is not None:
            agents.wait_links(to_agents.down)
            self.journal.add(LearnedFailures("all agents", sorted(to_agents.down), update.revision))
        if problem:
            raise LabError(problem)
        return to_agents, to_controller

    def _to_tell(self, update: Apply) -> tuple[LinkState, LinkState]:
        """The failed links to tell agents and controller of."""
        state, silent = LinkState(update.down), LinkState(update.silent)
        if self.config.link_state == "lab":
            return state, state
        scheme = self.running.scheme
        to_controller = telling.to_controller(scheme, state, silent, update.elsewhere)
        return telling.to_agents(scheme, state, silent), to_controller

    def _converge_tables(self, state: LinkState) -> bool:
        """Tell the controller of failures and wait until the tables follow, also where it is started again
        meanwhile; False without a controller."""
        controller = self.running.controller
        if controller is None or not self.running.choice.tables:
            return False
        if state_of(controller.process.pid) == "T":
            raise LabError("the controller does not answer: it is stopped")
        try:
            controller.converge(state.down, _TIMEOUT)
        except ControllerError:
            self.supervision.settle()
            started = self.running.controller
            if started is None or started is controller:
                raise
            started.converge(state.down, _TIMEOUT)
        return True


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
