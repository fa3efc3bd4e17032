"""The link state of a lab: reports of switches and agents, merged and distributed.

A link is down while either of its ends is reported down.  The controller reports switch ports
(PORT_STATUS), agents report the carrier of servers' NICs.  Every change is distributed to both.  Changes
that arrive during a round of distribution are distributed together in the next.  The error of a failed
round is raised in those who wait for it.

The links of a server whose agent has ended or is stopped count as down as well: it forwards nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from dcnlab.lab.errors import LabError
from dcnlab.lab.events.journal import Journal
from dcnlab.lab.events.kinds import Converged, LinkChanged
from topos.fabric import Fabric
from topos.graph import ALL_UP, LinkState, Port

#: Seconds until the lab must have converged on a change.
_TIMEOUT = 30.0


@dataclass
class LinkStateTracker:
    """The merged link state, and the thread that distributes it; the journal gets every change."""

    fabric: Fabric
    distribute: Callable[[LinkState], None]
    journal: Journal = field(default_factory=Journal)
    #: When a link changed last, in monotonic seconds; None before the first change.
    last_change: float | None = None
    #: When the first link changed that the present round, or the next, distributes.
    _first_change: float | None = None
    _down_ends: dict[int, set[Port]] = field(default_factory=dict)
    #: The links of each server whose agent is silent.
    _silent: dict[int, frozenset[int]] = field(default_factory=dict)
    #: The links that are down as parts of the lab on other machines report them.
    _elsewhere: frozenset[int] = frozenset()
    #: The links whose ends here are down only because their other machine does not answer: see :meth:`hold`.
    _held: frozenset[int] = frozenset()
    #: The state that the last round distributed, and its error.
    _distributed_state: LinkState = ALL_UP
    _error: str = ""
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _ended: bool = False
    #: Whether a round is due although nothing has changed.
    _stale: bool = False
    #: Whether a round is going on.
    _distributing: bool = False

    def start(self) -> None:
        """Start to distribute changes."""
        threading.Thread(target=self._run, daemon=True, name="link-state").start()

    def stop(self) -> None:
        """Stop distributing."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def report(self, end: Port, up: bool) -> None:
        """Report one end of a link as up or down."""
        link = self.fabric.link_at(end.node, end.number)
        with self._changed:
            ends = self._down_ends.setdefault(link, set())
            before = bool(ends)
            (ends.discard if up else ends.add)(end)
            if bool(ends) != before and link not in self._held:
                self.last_change = time.monotonic()
                self._first_change = self._first_change or self.last_change
                names = [self.fabric.name(port.node) for port in self._ends(link)]
                reporter = f"{self.fabric.name(end.node)}:{end.number}"
                self.journal.add(LinkChanged(names, link, up, reporter))
            self._changed.notify_all()

    def report_silence(self, servers: Iterable[int]) -> None:
        """Report which servers have an agent that has ended or is stopped; all others forward."""
        with self._changed:
            silent, before = set(servers), self._known().down
            for server in silent ^ self._silent.keys():
                if server in silent:
                    links = (self.fabric.link_at(server, port) for port, _ in self.fabric.ports(server))
                    self._silent[server] = frozenset(links)
                else:
                    del self._silent[server]
            self._note_changes(before, "supervision")

    def report_elsewhere(self, links: Iterable[int]) -> None:
        """Report all links that are down at their ends on other machines."""
        with self._changed:
            before, self._elsewhere = self._known().down, frozenset(links)
            self._note_changes(before, "another machine")

    def hold(self, links: Iterable[int]) -> None:
        """The ends here of these links, and of no others, are down only because their other machine does not
        answer: they are no failures as seen from here, and come up when it does."""
        with self._changed:
            self._held = frozenset(links)
            self._changed.notify_all()

    @property
    def held(self) -> frozenset[int]:
        """The links that are held: see :meth:`hold`."""
        with self._changed:
            return self._held

    @property
    def elsewhere(self) -> frozenset[int]:
        """The links that are down as parts of the lab on other machines report them."""
        with self._changed:
            return self._elsewhere

    def await_ends(self, links: Iterable[int], up: bool, timeout: float = _TIMEOUT) -> None:
        """Wait until the ends of links are reported as up or down; LabError after ``timeout`` seconds."""
        wanted = tuple(links)
        with self._changed:
            if not self._changed.wait_for(
                lambda: all(bool(self._down_ends.get(link)) != up for link in wanted), timeout
            ):
                raise LabError(f"ends of links were not seen {'up' if up else 'down'} within {timeout:g} s")

    def _note_changes(self, before: frozenset[int], reporter: str) -> None:
        """Journal which links differ from ``before``, and have the new state distributed."""
        after = self._known().down
        for link in sorted(before ^ after):
            self.last_change = time.monotonic()
            self._first_change = self._first_change or self.last_change
            names = [self.fabric.name(port.node) for port in self._ends(link)]
            self.journal.add(LinkChanged(names, link, link not in after, reporter))
        self._changed.notify_all()

    def retry(self) -> None:
        """Distribute the present state once more: to parts that were started again."""
        with self._changed:
            self._stale = True
            self._changed.notify_all()

    @property
    def silent(self) -> tuple[int, ...]:
        """The servers whose agents are silent."""
        with self._changed:
            return tuple(sorted(self._silent))

    def silent_links(self) -> LinkState:
        """The links that count as down because of silent agents."""
        with self._changed:
            return LinkState(self._silenced())

    def state(self) -> LinkState:
        """The links that are reported down now."""
        with self._changed:
            return self._known()

    def own_changes(self, known: frozenset[int], timeout: float) -> frozenset[int]:
        """The links that are down as seen from this machine, once they differ from ``known``, or after
        ``timeout`` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._own() != known, timeout)
            return self._own()

    def await_state(self, timeout: float = _TIMEOUT) -> None:
        """Wait until the lab has converged on all that was reported so far; LabError as :meth:`wait_for`."""
        with self._changed:
            if not self._changed.wait_for(lambda: not self._distributing and not self._has_work(), timeout):
                raise LabError(f"the lab did not converge within {timeout:g} s")
            if self._error:
                raise LabError(self._error)

    def unsettled(self) -> str:
        """Why agents and tables may not follow the present state; empty if they do."""
        with self._changed:
            if self._distributing or self._has_work():
                return "link state is being distributed"
            return self._error

    def wait_for(self, links: frozenset[int], up: bool, timeout: float = _TIMEOUT) -> None:
        """Wait until the lab has converged on the links being up (or down); LabError after ``timeout``
        seconds, or with the error of the distribution.

        The links of silent agents stay down; they are not waited for."""

        def converged() -> bool:
            down = self._distributed_state.down & links
            if up and any(self._down_ends.get(link) for link in (links & self._elsewhere) - self._held):
                return False  # they stay down, but our own ends come up
            return down == ((self._silenced() | self._elsewhere) & links if up else links)

        with self._changed:
            if not self._changed.wait_for(converged, timeout):
                raise LabError(f"the lab did not converge within {timeout:g} s")
            if self._error:
                raise LabError(self._error)

    def _ends(self, number: int) -> tuple[Port, Port]:
        link = self.fabric.link(number)
        return link.a, link.b

    def _known(self) -> LinkState:
        return LinkState(self._own() | self._elsewhere)

    def _own(self) -> frozenset[int]:
        """The links that are down as seen from this machine."""
        failed = frozenset(link for link, ends in self._down_ends.items() if ends)
        return (failed - self._held) | self._silenced()

    def _silenced(self) -> frozenset[int]:
        return frozenset().union(*self._silent.values())

    def _has_work(self) -> bool:
        return self._ended or self._stale or self._known() != self._distributed_state

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(self._has_work)
                if self._ended:
                    return
                self._stale, self._distributing = False, True
                state, begun = self._known(), self._first_change
                self._first_change = None
            failure = ""
            try:
                self.distribute(state)
            except Exception as error:  # raised in those who wait; the next change starts another round
                failure = str(error)
            with self._changed:
                ms = 0.0 if begun is None else round(1000 * (time.monotonic() - begun), 2)
                self.journal.add(Converged(sorted(state.down), ms, failure))
                self._distributed_state, self._error, self._distributing = state, failure, False
                self._changed.notify_all()
