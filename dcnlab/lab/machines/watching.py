"""The machines of a lab are watched: what they observe of links, and whether they answer."""

from __future__ import annotations

import logging
import threading

from dcnlab.lab.contract.machine import MachineLost, Observation
from dcnlab.lab.coordinator.lab import Coordinator
from dcnlab.lab.errors import LabError
from dcnlab.lab.events.kinds import Alarm
from dcnlab.lab.machines.remote_machine import RemoteMachine

#: Seconds after which a machine answers that its links have not changed.
_LONG_POLL = 8.0

_log = logging.getLogger(__name__)


class Watch:
    """Tells the link state of ``lab`` what machines observe."""

    def __init__(self, lab: Coordinator) -> None:
        self._lab, self._link_state = lab, lab.link_state
        #: Held while it is noted whether a machine answers.
        self._contact_lock = threading.Lock()
        self._lost: set[str] = set()

    def begin(self, machine: RemoteMachine) -> None:
        """Watch a machine that has been launched."""
        self._watch_from(machine, Observation(frozenset(), frozenset()))

    def begin_again(self, machine: RemoteMachine) -> None:
        """Watch a machine that was launched again."""
        self._lost.discard(machine.name)
        self._watch_from(machine, machine.observation())
        self._link_state.report_contact(machine.name, answers=True)

    def _watch_from(self, machine: RemoteMachine, seen: Observation) -> None:
        machine.on_unreachable = lambda error: self._unreachable(machine, error)
        self._link_state.report_observed(machine.name, seen)
        threading.Thread(target=self._watch, args=(machine, seen), daemon=True).start()
        threading.Thread(target=machine.open_connections, daemon=True).start()

    def _unreachable(self, machine: RemoteMachine, error: Exception) -> None:
        """A machine did not answer a request: nobody waits for it any more."""
        self._lose(machine, error)
        self._note_silence(machine)

    def _watch(self, machine: RemoteMachine, known: Observation) -> None:
        """Note what changes at a machine; while it does not answer, that its links are down."""

        def on_contact(answers: bool) -> None:
            self._alarm(f"{machine} {'answers again' if answers else 'does not answer'}")
            if answers:  # in a thread: this one goes on to notice that it does not
                threading.Thread(target=self._regain, args=(machine,), daemon=True).start()
            else:
                self._note_silence(machine)

        while not self._lab.ending:
            try:
                known = machine.await_change(known, _LONG_POLL, on_contact)
            except LabError as error:
                self._lose(machine, error)
                return
            self._link_state.report_observed(machine.name, known)

    def _regain(self, machine: RemoteMachine) -> None:
        """A machine answers again: note what it observes first, so that nothing comes up that is down there."""
        try:
            seen = machine.observation()
        except LabError:
            return  # not any more; who watches it notices
        with self._contact_lock:
            if not machine.problem:
                self._link_state.report_observed(machine.name, seen)
                self._link_state.report_contact(machine.name, answers=True)

    def _note_silence(self, machine: RemoteMachine) -> None:
        with self._contact_lock:
            if machine.silent:
                self._link_state.report_contact(machine.name, answers=False)

    def _lose(self, machine: RemoteMachine, error: Exception) -> None:
        """A machine that answers with such an error is lost: all links of its nodes are down."""
        if machine.lost or self._lab.ending or (machine.silent and not isinstance(error, MachineLost)):
            return
        _log.error("%s is lost: %s", machine.name, error)
        with self._contact_lock:
            machine.lost = f"{machine} is lost"
            self._link_state.report_contact(machine.name, answers=False)
        self._alarm(machine.lost)
        self._lost.add(machine.name)
        if all(each.name in self._lost for each in self._lab.machines):  # maybe the scheduler has ended
            threading.Thread(target=self._lab.end).start()

    def _alarm(self, problem: str) -> None:
        _log.warning("%s", problem)
        self._lab.journal.add(Alarm("machines", problem))
