"""How agents, controller and switches of a machine follow link state: all at once, or in turns.

Each turn begins when the nodes of the one before forward by what they were told.  The farthest from a failure
come first, the nearest to what was restored first (:mod:`topos.stages`).  Where no such order helps, all
switches take each of the phases of :mod:`controller.phases` at a turn.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from controller import phases
from controller.client import ControllerError
from dcnlab.lab.control.holders import state_of
from dcnlab.lab.emulation.switches import openvswitch
from dcnlab.lab.errors import LabError
from dcnlab.lab.events.kinds import ChangedInOrder, LearnedFailures
from dcnlab.lab.network import flooding
from dcnlab.lab.running.processes import supervised
from topos.graph import LinkState
from topos.stages import stages

if TYPE_CHECKING:
    from controller.client import ControllerProcess
    from dcnlab.lab.contract.machine import Apply
    from dcnlab.lab.emulation.running import Running
    from dcnlab.lab.events.journal import Journal
    from dcnlab.lab.running.processes.supervision import Supervision
    from dcnlab.lab.switchpath.driver import SwitchFastPath
    from hostagent.linux.channel import Message

#: Seconds for the controller to converge on link state; agents have as long.
_TIMEOUT = 30.0
#: The events by which the controller says that a switch has another table.
_CHANGES = ("installed", "updated")

#: The controller, how many events of it there were, and the links that were down.
_Moment = tuple["ControllerProcess | None", int, frozenset[int]]


@dataclass(frozen=True)
class Turn:
    """The nodes that change at once (None: all), and the phase that they take (0: the new tables alone)."""

    nodes: Sequence[int] | None = None
    phase: int = 0


class Following:
    """What tells processes of the failures that the lab knows, and waits until they follow."""

    def __init__(
        self, running: Running, supervision: Supervision, journal: Journal, switch_path: SwitchFastPath | None
    ) -> None:
        self._running, self._supervision, self._journal = running, supervision, journal
        self._switch_path = switch_path
        #: When tables were last waited for.
        self._awaited = self._now(frozenset())
        #: The last change in an order.
        self.in_order: ChangedInOrder | None = None

    def follow(self, update: Apply) -> object:
        """Send link state to the agents and the controller and wait until both have converged: what they were
        told, which is not told again where agents exchange link state themselves
        (:mod:`dcnlab.lab.network.flooding`).

        A controller that works is waited for in any case: what a switch reported to it becomes tables somewhat
        later.
        """
        running, config = self._running, self._running.config
        to_agents, to_controller = self._to_tell(update)
        if running.flooding is not None:
            running.flooding.follow(update.down)
            if config.routed:  # what the switches have learnt leads along the tree of before
                openvswitch.forget_addresses(supervised.working_shards(running))
        if config.link_state == "agents" and update.told == (to_agents, to_controller):
            if not self.controller_is_silent():
                self._converge_tables(to_controller)
            return to_agents, to_controller
        self._supervision.settle()
        problem = self._tell(update, to_agents, to_controller)
        running.introduce_hosts(running.scheme.with_failures(LinkState(update.down)))
        if problem:
            raise LabError(problem)
        return to_agents, to_controller

    def await_tables(self, among: Collection[str] | None = None) -> None:
        """Wait until switches, all or those named, forward by the tables that they have now, and by nothing
        that was cached."""
        if self._switch_path is not None:
            self._switch_path.await_tables(among)  # the kernel forwards for the switches
        openvswitch.purge_datapath_caches(supervised.working_shards(self._running, among))

    def await_changes(self, down: frozenset[int]) -> None:
        """Await the tables of the switches that changed since the last time, with the links ``down``."""
        now = self._now(down)
        self.await_tables(self._changed(now))
        self._awaited = now

    def controller_is_silent(self) -> bool:
        """Whether the lab has a controller that has ended or is stopped."""
        controller = self._running.controller
        return controller is not None and state_of(controller.process.pid) in ("", "T", "Z")

    # --- inside ---------------------------------------------------------------

    def _now(self, down: frozenset[int]) -> _Moment:
        controller = self._running.controller
        return controller, controller.received if controller is not None else 0, down

    def _changed(self, now: _Moment) -> frozenset[str] | None:
        """The switches whose tables or ports have changed since tables were last waited for; None where it is
        not known: others change tables too, or the controller was started again."""
        running, (former, seen, before) = self._running, self._awaited
        controller, received, down = now
        if controller is None or controller is not former:
            return None
        events = controller.events_since(seen)
        if running.choice.kind != "ours" or running.flooding is not None or len(events) < received - seen:
            return None
        ends = (port.node for link in map(running.fabric.link, before ^ down) for port in (link.a, link.b))
        return frozenset(map(running.fabric.name, ends)).union(
            event["switch"] for event in events if event["event"] in _CHANGES
        )

    def _to_tell(self, update: Apply) -> tuple[LinkState, LinkState]:
        """Return the failed links of which to tell agents, and those of which to tell the controller."""
        state, silent = LinkState(update.down), LinkState(update.silent)
        if self._running.config.link_state == "lab":
            return state, state
        scheme = self._running.scheme
        to_controller = flooding.to_controller(scheme, state, silent, update.elsewhere)
        return flooding.to_agents(scheme, state, silent), to_controller

    def _tell(self, update: Apply, to_agents: LinkState, to_controller: LinkState) -> str:
        """Tell agents and controller, in turns; what is wrong with the controller: agents follow anyway."""
        agents, problem, at_once, begun = self._running.agents, "", "", time.monotonic()
        turns = self._turns(update, to_agents)
        for place, turn in enumerate(turns or [Turn()]):
            later = [node for others in turns[place + 1 :] for node in others.nodes or ()]
            if agents is not None:
                servers = range(self._running.fabric.servers)
                agents.links(to_agents.down, [node for node in later if node in servers] if turns else None)
            try:
                at_once = self._tell_controller(update, to_controller, turn, place, len(turns)) or at_once
            except (ControllerError, LabError) as error:
                problem = str(error)
            if agents is not None:
                agents.wait_links(to_agents.down)
        if agents is not None:
            self._journal.add(LearnedFailures("all agents", sorted(to_agents.down), update.revision))
        if turns:
            ms = round(1000 * (time.monotonic() - begun), 2)
            self.in_order = ChangedInOrder(0 if at_once else len(turns), ms, update.revision, at_once)
            self._journal.add(self.in_order)
        return problem

    def _turns(self, update: Apply, state: LinkState) -> list[Turn]:
        """What changes at each turn; none where all nodes do at once, or nobody knows what they follow."""
        if self._running.config.update_order != "loop-free" or not isinstance(update.told, tuple):
            return []
        changed = state.down ^ update.told[0].down
        if not changed:
            return []
        if not self._running.scheme.ordered_by_distance:
            return [Turn(phase=phase) for phase in phases.PHASES]
        return [Turn(nodes) for nodes in stages(self._running.fabric, changed, bool(state.down & changed))]

    def _tell_controller(self, update: Apply, state: LinkState, turn: Turn, place: int, turns: int) -> str:
        """Have tables follow: all, or those of the switches of a turn.  Why they do at once, where they do."""
        servers, last = self._running.fabric.servers, place >= turns - 1
        switches = None if turn.nodes is None else [node for node in turn.nodes if node >= servers]
        if switches == [] and not last:
            return ""
        converged = self._converge_tables(state, switches, turn.phase)
        if converged is None:
            return ""
        if turns:
            self.await_changes(update.down)
        if last:
            self._journal.add(LearnedFailures("the controller", sorted(state.down), update.revision))
        return str(converged.get("at_once", ""))

    def _converge_tables(
        self, state: LinkState, among: Sequence[int] | None = None, phase: int = 0
    ) -> Message | None:
        """Tell the controller of failures and wait until the tables follow, also where it is started again
        meanwhile; what it says, None without a controller."""
        controller = self._running.controller
        if controller is None or not self._running.choice.tables:
            return None
        if state_of(controller.process.pid) == "T":
            raise LabError("the controller does not answer: it is stopped")
        try:
            return controller.converge(state.down, _TIMEOUT, among, phase)
        except ControllerError:
            self._supervision.settle()
            started = self._running.controller
            if started is None or started is controller:
                raise
            if phase > phases.BESIDE:  # it has left the tables as they are: what they begin with comes first
                started.converge(state.down, _TIMEOUT, among, phases.BESIDE)
                self.await_tables()
            return started.converge(state.down, _TIMEOUT, among, phase)
