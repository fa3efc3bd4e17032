"""Link state as the whole lab knows it: reports from switches and agents, merged and sent out.

A link is down while either of its ends is reported down.  Switch ports are reported
by the controller (PORT_STATUS), servers' NICs by their agents (carrier).  Whatever
changes is sent to both, which converge on it; changes that come while a round is
under way wait for the next, all together.  A round that fails is told to those who wait for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from dcnlab.lab.errors import LabError
from topos.fabric import Fabric
from topos.graph import ALL_UP, LinkState, Port

#: Seconds that a change may take until everybody has converged on it.
_TIMEOUT = 30.0


@dataclass(frozen=True)
class Change:
    """A change of link state as it was noticed: when (monotonic seconds), who said so."""

    at: float
    link: int
    up: bool
    reporter: str


@dataclass
class LinkStateTracker:
    """The merged link state, and the thread that spreads it."""

    fabric: Fabric
    distribute: Callable[[LinkState], None]
    changes: list[Change] = field(default_factory=list)
    _down_ends: dict[int, set[Port]] = field(default_factory=dict)
    #: What the last round has spread, and why it failed if it did.
    _distributed_state: LinkState = ALL_UP
    _error: str = ""
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _ended: bool = False

    def start(self) -> None:
        """Begin to spread changes."""
        threading.Thread(target=self._run, daemon=True, name="link-state").start()

    def stop(self) -> None:
        """Spread nothing more."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def report(self, end: Port, up: bool) -> None:
        """One end of a link says that it is up or down."""
        link = self.fabric.link_at(end.node, end.number)
        with self._changed:
            ends = self._down_ends.setdefault(link, set())
            before = bool(ends)
            (ends.discard if up else ends.add)(end)
            if bool(ends) != before:
                reporter = f"{self.fabric.name(end.node)}:{end.number}"
                self.changes.append(Change(time.monotonic(), link, up, reporter))
            self._changed.notify_all()

    def state(self) -> LinkState:
        """What is known to be down now."""
        with self._changed:
            return self._known()

    def wait_for(self, links: frozenset[int], up: bool, timeout: float = _TIMEOUT) -> None:
        """Until the links are known to be up (or down) and everybody has converged on it; LabError when
        time (seconds) is up, or with what kept them from it."""

        def distribute() -> bool:
            down = self._distributed_state.down & links
            return down == (frozenset() if up else links)

        with self._changed:
            if not self._changed.wait_for(distribute, timeout):
                raise LabError(f"the lab did not notice within {timeout:g} s")
            if self._error:
                raise LabError(self._error)

    def _known(self) -> LinkState:
        return LinkState(frozenset(link for link, ends in self._down_ends.items() if ends))

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ended or self._known() != self._distributed_state)
                if self._ended:
                    return
                state = self._known()
            trouble = ""
            try:
                self.distribute(state)
            except Exception as error:  # whoever waits is told, and the next change is another round
                trouble = str(error)
            with self._changed:
                self._distributed_state, self._error = state, trouble
                self._changed.notify_all()
