"""The link state of a lab: one owner of which links are down, why, and which machines follow.

It has no sockets, clocks or threads: the time is an argument of its inputs, and each input returns effects that
:mod:`dcnlab.lab.coordinator.link_state.driver` carries out.  The rules:

- A link is down while it has a cause (:mod:`dcnlab.lab.coordinator.link_state.causes`).  What the user has cut
  is kept apart: it becomes a cause when somebody has noticed.
- The events of a link alternate, and the last one says what the state says.
- Each change of the links that are down is a *revision*.  Each machine applies one revision at a time; changes
  meanwhile are in the next.  The lab has converged when all machines that answer have applied the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dcnlab.lab.contract.machine import Apply, Observation
from dcnlab.lab.coordinator.link_state.causes import (
    Carrier,
    Cause,
    Cuts,
    Elsewhere,
    SilentAgent,
    Unreachable,
)
from dcnlab.lab.coordinator.link_state.machine_state import MachineState
from topos.fabric import Fabric
from topos.graph import Port


@dataclass(frozen=True)
class LinkEvent:
    """Effect: the journal gets that a link is down or up, and the cause that began or ended."""

    link: int
    up: bool
    cause: Cause


@dataclass(frozen=True)
class Convergence:
    """Effect: the journal gets that all machines follow, ``ms`` after the change began; or the ``error``."""

    revision: int
    down: frozenset[int]
    ms: float
    error: str


@dataclass(frozen=True)
class SetLinks:
    """Effect: interfaces of links are to be taken down, or brought up."""

    links: frozenset[int]
    up: bool


Effect = LinkEvent | Apply | Convergence | SetLinks


class LinkStateMachine:
    """The state of all links of a fabric, and of the machines that follow it.

    ``machines`` are the nodes of each machine by its name; without it one machine, with an empty name, runs
    all.  ``told`` is what a launch has told their processes.
    """

    def __init__(
        self, fabric: Fabric, machines: Mapping[str, Iterable[int]] | None = None, told: object = None
    ) -> None:
        self.fabric = fabric
        self.cuts = Cuts(fabric)
        self.machines = {
            name: MachineState(name, frozenset(nodes), told=told)
            for name, nodes in (machines or {"": range(fabric.size)}).items()
        }
        #: The revision of :attr:`down`.
        self.revision = 0
        #: When a link changed last, and when the first did that not all machines follow yet.
        self.last_change: float | None = None
        self.since: float | None = None
        #: When a change was asked for that no link has shown yet, and when all machines followed last.
        self.asked: float | None = None
        self.concluded = 0.0
        #: When the first end of a link lost its carrier, or the last one regained it.
        self.noticed: dict[int, float] = {}
        self._causes: dict[int, dict[Cause, None]] = {}
        #: When each port was seen last.
        self._seen: dict[Port, float] = {}
        #: Links to machines that do not answer, those to all others where nobody asks this one, and those whose
        #: ends here are down for no other reason.
        self._absent: frozenset[int] = frozenset()
        self._isolated: frozenset[int] = frozenset()
        self._held: set[int] = set()
        self._started = self._unconcluded = False

    def extend(self, fabric: Fabric) -> None:
        """The network of the only machine has become ``fabric``; its new links are up."""
        self.fabric = self.cuts.fabric = fabric
        for one in self.machines.values():
            one.nodes = frozenset(range(fabric.size))

    # --- what it knows --------------------------------------------------------

    @property
    def down(self) -> frozenset[int]:
        """The links that have a cause."""
        return frozenset(self._causes)

    def causes(self, link: int) -> tuple[Cause, ...]:
        """Why a link is down, the oldest cause first."""
        return tuple(self._causes.get(link, ()))

    @property
    def silent(self) -> frozenset[int]:
        """The servers whose agents are silent."""
        causes = (cause for causes in self._causes.values() for cause in causes)
        return frozenset(cause.server for cause in causes if isinstance(cause, SilentAgent))

    @property
    def silent_links(self) -> frozenset[int]:
        """The links of silent agents."""
        return self._with(SilentAgent)

    @property
    def own(self) -> Observation:
        """What this machine observes, of several that run the lab."""
        ports = (
            cause.port
            for link, causes in self._causes.items()
            for cause in causes
            if link not in self._held and isinstance(cause, Carrier)
        )
        return Observation(frozenset(ports), self.silent)

    def has_carriers(self, links: Iterable[int]) -> bool:
        """Whether no end of the links is without carrier, but for what leads to machines that do not answer."""
        return not any(self._carriers(link) and link not in self._held for link in links)

    def are_seen_up(self, links: Iterable[int]) -> bool:
        """Whether no end of the links is without carrier."""
        return not any(map(self._carriers, links))

    def are_seen_down(self, links: Iterable[int]) -> bool:
        """Whether an end of each link is without carrier."""
        return all(map(self._carriers, links))

    @property
    def error(self) -> str:
        """Why a machine that answers does not follow; empty if all do."""
        return next((one.error for one in self.machines.values() if one.reachable and one.error), "")

    @property
    def is_settled(self) -> bool:
        """Whether no machine that answers has anything to do."""
        return all(one.is_settled(self.revision) for one in self.machines.values())

    @property
    def has_converged(self) -> bool:
        """Whether all machines that answer have applied the present revision."""
        return self.is_settled and not self.error

    def has_reached(self, links: frozenset[int], up: bool) -> bool:
        """Whether links are down, or up but for those that other causes keep down, and all machines follow."""
        if up:
            noticed = self.has_carriers(link for link in links if link not in self.cuts)
        else:
            noticed = all(self._carriers(link) or self._is_unreachable(link) for link in links)
        down = frozenset(link for link in links if link in self._causes)
        return noticed and all(one.follows(links, down) for one in self.machines.values())

    def still_down(self, links: Iterable[int]) -> dict[int, list[str]]:
        """Return which of the links are down, and what keeps them down, in words."""
        return {link: self._reasons(link) for link in links if link in self._causes}

    # --- what is observed -----------------------------------------------------

    def port(self, port: Port, up: bool, now: float, clock: float | None = None) -> list[Effect]:
        """A port was seen with or without carrier at ``clock``, or now; older news of it are ignored."""
        link, clock = self.fabric.link_at(port.node, port.number), now if clock is None else clock
        if link < 0 or clock < self._seen.get(port, clock):
            return []
        self._seen[port] = clock
        before = self._carriers(link)
        effects = self._change(
            {} if up else {Carrier(port): (link,)}, {Carrier(port): (link,)} if up else {}, now
        )
        if self._carriers(link) != before:
            self.noticed[link] = now
        if not self._carriers(link) and not self._is_absent(link):
            self._held.discard(link)
        return effects

    def silent_agents(self, servers: Iterable[int], now: float) -> list[Effect]:
        """These servers' agents are silent; all others forward."""
        now_silent, before = frozenset(servers), self.silent
        return self._change(self._silence(now_silent - before), self._silence(before - now_silent), now)

    def elsewhere(self, links: Iterable[int], now: float) -> list[Effect]:
        """These links are down as seen from other machines; all others are not."""
        wanted = frozenset(links)
        return self._change({Elsewhere(): wanted}, {Elsewhere(): self._with(Elsewhere) - wanted}, now)

    def observed(self, machine: str, seen: Observation, now: float) -> list[Effect]:
        """What one of several machines observes now; older news of it are ignored."""
        state = self.machines[machine]
        if seen.clock < state.observed:
            return []
        state.observed = seen.clock
        wanted = self._silence(seen.silent)
        wanted |= {Carrier(port): (self.fabric.link_at(port.node, port.number),) for port in seen.carriers}
        over = {cause: links for cause, links in self._seen_by(state).items() if cause not in wanted}
        return self._change(wanted, over, now)

    def absent(self, links: Iterable[int]) -> list[SetLinks]:
        """Set the links to unresponsive machines; return the local ends that changed.

        Those ends are taken down, for an interface to another machine has no carrier of its own.  All others
        come up again, but for those that are cut, or were down before."""
        self._absent = frozenset(links)
        return self._hold()

    def isolated(self, links: Iterable[int], ends: Iterable[int], now: float) -> list[Effect]:
        """Nobody asks this machine, one of several, so its ``links`` to others are down, and ``ends`` of them
        are taken down; or somebody asks again, and there are none."""
        wanted, cause = frozenset(links), Unreachable("the coordinator")
        self._isolated = frozenset(ends)
        effects = self._change({cause: wanted}, {cause: self._with(Unreachable) - wanted}, now)
        return [*effects, *self._hold()]

    # --- what the user wants --------------------------------------------------

    def cut(self, links: Iterable[int], node: int | None = None) -> SetLinks:
        """The user cuts links by themselves, or ``node`` with all its links."""
        wanted = frozenset(links)
        self.cuts.cut(wanted, node)
        self._held -= wanted
        return SetLinks(wanted, False)

    def restore(self, links: Iterable[int], node: int | None = None) -> SetLinks:
        """The user undoes :meth:`cut`: those come up that nothing else keeps cut.  One that leads to a machine
        that does not answer comes up with that machine."""
        free = self.cuts.restore(frozenset(links), node)
        absent = frozenset(filter(self._is_absent, free))
        self._held |= absent
        return SetLinks(free - absent, True)

    # --- machines -------------------------------------------------------------

    def start(self, now: float) -> list[Effect]:
        """The lab has been launched: from now on machines follow.  They know of no link that is down."""
        self._started, self.since = True, now if self._causes else None
        if not self._causes:
            for one in self.machines.values():
                one.revision = self.revision
        return self._advance(now)

    def unreachable(self, machine: str, now: float) -> list[Effect]:
        """A machine does not answer: the links of its nodes are down, nobody waits for it, and nobody knows
        what it sees."""
        state = self.machines[machine]
        state.reachable, state.applying = False, None
        links = frozenset(link for node in state.nodes for link in self.fabric.links_of(node))
        return self._change({Unreachable(machine): links}, self._seen_by(state), now)

    def reachable(self, machine: str, now: float) -> list[Effect]:
        """A machine answers again; what it sees was reported before.  It is told all."""
        self.machines[machine].return_again()
        return self._change({}, {Unreachable(machine): self._with(Unreachable)}, now)

    def applied(self, update: Apply, told: object, error: str, now: float) -> list[Effect]:
        """A machine has carried out an update and has ``told`` its processes so much, or there was an error."""
        return self._advance(now) if self.machines[update.machine].end(update, told, error) else []

    def restarted(self, machine: str, now: float) -> list[Effect]:
        """Processes of a machine were started again: they know nothing of what was told."""
        self.machines[machine].forget()
        return self._advance(now)

    # --- inside ---------------------------------------------------------------

    def _change(
        self, begun: Mapping[Cause, Iterable[int]], ended: Mapping[Cause, Iterable[int]], now: float
    ) -> list[Effect]:
        """Causes begin at links, and then others end; events of the links that change by that."""
        effects: list[Effect] = []
        for cause, links in begun.items():
            for link in sorted(links):
                if link not in self._causes:
                    effects.append(LinkEvent(link, False, cause))
                self._causes.setdefault(link, {})[cause] = None
        for cause, links in ended.items():
            for link in sorted(links):
                causes = self._causes.get(link, {})
                if causes.pop(cause, cause) is None and not causes:
                    del self._causes[link]
                    effects.append(LinkEvent(link, True, cause))
        if effects:
            self.revision += 1
            self.last_change = now
            first = now if self.asked is None else self.asked
            self.since = first if self.since is None else self.since
        return effects + self._advance(now)

    def _advance(self, now: float) -> list[Effect]:
        """Machines that are due begin; where none has anything to do any more, the lab has converged."""
        if not self._started:
            return []
        due = [one for one in self.machines.values() if one.is_due(self.revision)]
        effects: list[Effect] = [one.begin(self._update(one)) for one in due]
        self._unconcluded |= bool(due)
        if self._unconcluded and self.is_settled:
            ms = 0.0 if self.since is None else round(1000 * (now - self.since), 2)
            effects.append(Convergence(self.revision, self.down, ms, self.error))
            self._unconcluded, self.since, self.concluded = False, None, now
        return effects

    def _update(self, machine: MachineState) -> Apply:
        outside = (
            link
            for link, causes in self._causes.items()
            if any(_is_outside(cause, machine) for cause in causes)
        )
        unreachable = frozenset(one.name for one in self.machines.values() if not one.reachable)
        return Apply(
            machine.name, self.revision, self.down, self.silent_links, frozenset(outside), unreachable,
            machine.told, machine.generation,
        )  # fmt: skip

    def _hold(self) -> list[SetLinks]:
        """Take the ends of links down that are absent now, and bring those up that were down for that only."""
        absent = self._absent | self._isolated
        up = (link for link in absent - self._held if link not in self.cuts and not self._carriers(link))
        taken, back = frozenset(up), frozenset(self._held - absent)
        self._held |= taken
        self._held.difference_update([link for link in back if not self._carriers(link)])
        return [SetLinks(some, there) for some, there in ((taken, False), (back, True)) if some]

    def _is_absent(self, link: int) -> bool:
        return link in self._absent or link in self._isolated

    def _seen_by(self, machine: MachineState) -> dict[Cause, set[int]]:
        """The causes that a machine observes itself, with their links."""
        by_cause: dict[Cause, set[int]] = {}
        for link, causes in self._causes.items():
            for cause in causes:
                if not _is_outside(cause, machine):
                    by_cause.setdefault(cause, set()).add(link)
        return by_cause

    def _silence(self, servers: Iterable[int]) -> dict[Cause, tuple[int, ...]]:
        return {SilentAgent(server): self.fabric.links_of(server) for server in sorted(servers)}

    def _with(self, kind: type[Cause]) -> frozenset[int]:
        """The links that have a cause of a kind."""
        return frozenset(
            link for link, causes in self._causes.items() if any(isinstance(cause, kind) for cause in causes)
        )

    def _carriers(self, link: int) -> bool:
        """Whether an end of a link is without carrier."""
        return any(isinstance(cause, Carrier) for cause in self._causes.get(link, ()))

    def _is_unreachable(self, link: int) -> bool:
        return any(isinstance(cause, Unreachable) for cause in self._causes.get(link, ()))

    def _reasons(self, link: int) -> list[str]:
        cut = self.cuts.reasons(link)
        causes = (cause for cause in self._causes[link] if not (cut and isinstance(cause, Carrier)))
        return cut + [cause.because(self.fabric) for cause in causes]


def _is_outside(cause: Cause, machine: MachineState) -> bool:
    """Whether a machine does not see a cause by itself."""
    if isinstance(cause, Carrier):
        return cause.port.node not in machine.nodes
    if isinstance(cause, SilentAgent):
        return cause.server not in machine.nodes
    return True
