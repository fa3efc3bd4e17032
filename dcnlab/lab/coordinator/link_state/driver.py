"""The link state of a running lab: the state machine, the threads that carry out its effects, and who waits."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from dcnlab.lab.contract.machine import Apply, Observation
from dcnlab.lab.coordinator.link_state.state_machine import (
    Convergence,
    Effect,
    LinkEvent,
    LinkStateMachine,
    SetLinks,
)
from dcnlab.lab.errors import LabError
from dcnlab.lab.events.journal import Journal
from dcnlab.lab.events.kinds import Converged, LinkChanged
from topos import plugins
from topos.fabric import Fabric
from topos.graph import LinkState, Port

if TYPE_CHECKING:
    from dcnlab.lab.contract.links import Cuts, DownLink

#: Seconds until the lab must have converged on a change.
_TIMEOUT = 30.0


class LinkStateDriver:
    """Any thread may call the methods.

    ``apply`` has a machine follow an update, and returns what it has told processes there: the next update has
    it (the first one ``told``).  An error that it raises is raised in those who wait.  Each machine has a
    thread that calls it, so one call for a machine ends before the next.  The journal gets every change.
    """

    def __init__(
        self,
        fabric: Fabric,
        apply: Callable[[Apply], object],
        journal: Journal | None = None,
        machines: Mapping[str, Iterable[int]] | None = None,
        told: object = None,
    ) -> None:
        self.fabric = fabric
        self.journal = Journal() if journal is None else journal
        self._apply = apply
        self._machine = LinkStateMachine(fabric, machines, told)
        self._changed = threading.Condition()
        self._due: dict[str, deque[Apply]] = {name: deque() for name in self._machine.machines}
        self._ended = False

    def start(self) -> None:
        """Have machines follow from now on."""
        with self._changed:
            self._perform(self._machine.start(time.monotonic()))
        for name in self._due:
            threading.Thread(target=self._run, args=(name,), daemon=True, name="link-state").start()

    def extend(self, fabric: Fabric) -> None:
        """The network of the lab's only machine has become ``fabric``: what it had keeps its numbers."""
        with self._changed:
            self.fabric = fabric
            self._machine.extend(fabric)

    def stop(self) -> None:
        """Nobody follows any more."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    # --- what is observed -----------------------------------------------------

    def report(self, port: Port, up: bool, clock: float | None = None) -> None:
        """A port was seen with or without carrier: at ``clock``, in seconds of the monotonic clock, or now."""
        with self._changed:
            self._perform(self._machine.port(port, up, time.monotonic(), clock))

    def report_silence(self, servers: Iterable[int]) -> None:
        """These servers have an agent that has ended or is stopped; all others forward."""
        with self._changed:
            self._perform(self._machine.silent_agents(servers, time.monotonic()))

    def report_elsewhere(self, links: Iterable[int]) -> None:
        """These links are down at their ends on other machines; all others are not."""
        with self._changed:
            self._perform(self._machine.elsewhere(links, time.monotonic()))

    def report_observed(self, machine: str, seen: Observation) -> None:
        """One of several machines observes this."""
        with self._changed:
            self._perform(self._machine.observed(machine, seen, time.monotonic()))

    def report_contact(self, machine: str, answers: bool) -> None:
        """One of several machines does not answer, or answers again."""
        with self._changed:
            change = self._machine.reachable if answers else self._machine.unreachable
            self._perform(change(machine, time.monotonic()))

    def report_isolation(self, links: Iterable[int], ends: Iterable[int]) -> list[SetLinks]:
        """Nobody asks this machine, one of several, so its ``links`` to others are down; none: somebody asks.
        Which interfaces of ``ends`` are to follow that."""
        with self._changed:
            effects = self._machine.isolated(links, ends, time.monotonic())
            self._perform(effects)
        return [effect for effect in effects if isinstance(effect, SetLinks)]

    def report_absent(self, links: Iterable[int]) -> list[SetLinks]:
        """These links lead to machines that do not answer: which interfaces are to follow that."""
        with self._changed:
            return self._machine.absent(links)

    def retry(self) -> None:
        """Processes were started again: have them follow."""
        with self._changed:
            for name in self._machine.machines:
                self._perform(self._machine.restarted(name, time.monotonic()))

    # --- what the user wants --------------------------------------------------

    def cut(self, links: Iterable[int], node: int | None = None, asked: float | None = None) -> SetLinks:
        """Cut links by themselves, or ``node`` with all its links: which interfaces are to follow that.  It was
        ``asked`` for then; :meth:`wait_for` follows."""
        with self._changed:
            self._machine.asked = asked
            return self._machine.cut(links, node)

    def restore(self, links: Iterable[int], node: int | None = None, asked: float | None = None) -> SetLinks:
        """Undo :meth:`cut`: which interfaces are to follow that."""
        with self._changed:
            self._machine.asked = asked
            return self._machine.restore(links, node)

    # --- what is known --------------------------------------------------------

    def state(self) -> LinkState:
        """The links that are down."""
        with self._changed:
            return LinkState(self._machine.down)

    @property
    def silent(self) -> tuple[int, ...]:
        """The servers whose agents are silent."""
        with self._changed:
            return tuple(sorted(self._machine.silent))

    def silent_links(self) -> LinkState:
        """The links that count as down because of silent agents."""
        with self._changed:
            return LinkState(self._machine.silent_links)

    @property
    def cut_links(self) -> frozenset[int]:
        """The links that the user has cut, by themselves or with a node."""
        with self._changed:
            return self._machine.cuts.all()

    def cut_names(self) -> Cuts:
        """What the user has cut and not removed, for clients: links by themselves, by number, and nodes, by
        name."""
        with self._changed:
            cuts = self._machine.cuts
            return self._named_cuts(cuts.links - cuts.removed_links, cuts.nodes - cuts.removed_nodes)

    def removed_names(self) -> Cuts:
        """What the user has removed, for clients."""
        with self._changed:
            return self._named_cuts(*self.removed)

    @property
    def removed(self) -> tuple[set[int], set[int]]:
        """The links and the nodes that were removed; who removes them notes them here."""
        return self._machine.cuts.removed_links, self._machine.cuts.removed_nodes

    def _named_cuts(self, links: set[int], nodes: set[int]) -> Cuts:
        from dcnlab.lab.contract.links import Cuts  # not needed by a launch

        return Cuts(sorted(links), list(map(self.fabric.name, sorted(nodes))))

    def still_down(self, links: Iterable[int]) -> list[DownLink]:
        """Those of the links that are down, and what keeps them down, for clients."""
        from dcnlab.lab.contract.links import DownLink  # not needed by a launch

        with self._changed:
            down = self._machine.still_down(links)
        return [DownLink(list(self.fabric.link_names(link)), link, because) for link, because in down.items()]

    @property
    def last_change(self) -> float | None:
        """When a link changed last, in seconds of the monotonic clock; None before the first change."""
        with self._changed:
            return self._machine.last_change

    def noticed(self, links: Iterable[int], since: float) -> float | None:
        """When the first of the links lost or regained its carrier after ``since``; None if none has."""
        with self._changed:
            times = [self._machine.noticed.get(link, since) for link in links]
        return min((moment for moment in times if moment > since), default=None)

    def own(self, known: Observation | None = None, timeout: float = 0.0) -> Observation:
        """What this machine observes of links, once it is not ``known`` or after ``timeout`` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._machine.own != known, timeout)
            return replace(self._machine.own, clock=time.monotonic())

    def unsettled(self) -> str:
        """Why agents and tables may not follow the present state; empty if they do."""
        with self._changed:
            return self._machine.error if self._machine.is_settled else "link state is being distributed"

    # --- who waits ------------------------------------------------------------

    def await_state(self, timeout: float = _TIMEOUT) -> None:
        """Wait until the lab has converged on all that was reported so far; LabError as :meth:`wait_for`."""
        self._await(lambda: self._machine.is_settled, timeout)

    def wait_for(self, links: frozenset[int], up: bool, timeout: float = _TIMEOUT) -> float:
        """Wait until the lab has converged on the links being down, or up but for those that other causes keep
        down; LabError after ``timeout`` seconds, or with the error of a machine that does not follow.  Returns
        when it had: the time of the event, or now where nothing changed."""
        asked = self._machine.asked
        try:
            self._await(lambda: self._machine.has_reached(links, up), timeout)
            with self._changed:
                done = self._machine.concluded
                return time.monotonic() if asked is None or done < asked else done
        finally:
            self._machine.asked = None

    def await_carriers(self, links: frozenset[int], up: bool, timeout: float = _TIMEOUT) -> None:
        """Wait until the ends of links were seen; LabError after ``timeout`` seconds."""
        seen = self._machine.are_seen_up if up else self._machine.are_seen_down
        with self._changed:
            if not self._changed.wait_for(lambda: seen(links), timeout):
                raise LabError(f"ends of links were not seen {'up' if up else 'down'} within {timeout:g} s")

    def _await(self, reached: Callable[[], bool], timeout: float) -> None:
        with self._changed:
            if not self._changed.wait_for(reached, timeout):
                raise LabError(f"the lab did not converge within {timeout:g} s")
            if self._machine.error:
                raise LabError(self._machine.error)

    # --- effects --------------------------------------------------------------

    def _perform(self, effects: Iterable[Effect]) -> None:
        """Carry out effects, in their order; the caller holds the condition."""
        for effect in effects:
            if isinstance(effect, Apply):
                self._due[effect.machine].append(effect)
            elif isinstance(effect, LinkEvent):
                names, reporter = self._names(effect.link), effect.cause.reporter(self.fabric)
                self.journal.add(LinkChanged(names, effect.link, effect.up, reporter, effect.cause.word))
            elif isinstance(effect, Convergence):
                self.journal.add(Converged(sorted(effect.down), effect.ms, effect.error, effect.revision))
        self._changed.notify_all()

    def _names(self, link: int) -> list[str]:
        """The ends of a link, and which of several it is."""
        return list(self.fabric.link_names(link))

    def _run(self, name: str) -> None:
        """Have one machine follow, one update after the other."""
        due = self._due[name]
        while True:
            with self._changed:
                self._changed.wait_for(lambda: due or self._ended)
                if self._ended:
                    return
                update = due.popleft()
            told, error = None, ""
            try:
                told = self._apply(update)
            except Exception as failed:  # raised in those who wait; the next change is another try
                error = plugins.custom_error(failed) or str(failed)
            with self._changed:
                self._perform(self._machine.applied(update, told, error, time.monotonic()))
