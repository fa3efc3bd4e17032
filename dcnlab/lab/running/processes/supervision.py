"""Supervision: what dies in a lab comes back.

A thread notices at once when a part of the lab has ended or is stopped: ovsdb-server, ovs-vswitchd, the
controller or the forwarder to it, an agent, the agents' supervisor.  It starts the part again: the first time
at once, later with growing pauses, and after a number of restarts in a row no more
(:mod:`dcnlab.lab.running.processes.backoff`).  A part that is stopped for a while counts as ended, unless the
user has stopped it.  The journal gets an event for each end and each restart.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from dcnlab.lab.control.holders import state_of
from dcnlab.lab.errors import LabError
from dcnlab.lab.events.journal import Journal
from dcnlab.lab.events.kinds import Alarm, ProcessEnded, ProcessRestarted, ProcessStopped
from dcnlab.lab.running.processes import supervised
from dcnlab.lab.running.processes.endings import Endings
from dcnlab.lab.running.processes.supervised import Agent, AgentParent, Daemon, Forwarder, SupervisedProcess
from topos.graph import LinkState

#: Seconds after which a stopped part counts as ended.
STOPPED = 5.0
#: Seconds between two looks at whether parts are stopped; their ends are noticed at once.
_LOOK = 1.0
#: Seconds that a part may take to start again while others wait for it.
_TIMEOUT = 60.0

_log = logging.getLogger(__name__)


@dataclass
class Supervision:
    """The supervision of one lab.  With ``enabled`` False it restarts only what it is asked to.

    ``state`` gives the links that are down, ``silent`` the servers whose agents have ended or are stopped.
    ``on_silence`` is told which servers have no agent that forwards, ``on_restart`` that a part was started
    again.
    """

    parts: Sequence[SupervisedProcess]
    journal: Journal
    enabled: bool
    state: Callable[[], LinkState]
    silent: Callable[[], frozenset[int]]
    on_silence: Callable[[frozenset[int]], None]
    on_restart: Callable[[SupervisedProcess], None]
    _changed: threading.Condition = field(default_factory=threading.Condition)
    #: Held while parts are started or ended.
    _working: threading.RLock = field(default_factory=threading.RLock)
    _endings: Endings = field(default_factory=Endings)
    #: Why a part was not started again.
    _errors: dict[int, str] = field(default_factory=dict)

    def start(self) -> None:
        """Start to supervise."""
        threading.Thread(target=self._run, daemon=True, name="supervision").start()

    def wake(self) -> None:
        """Have the thread look at all parts now."""
        self._endings.wake()

    def extend(self, parts: Iterable[SupervisedProcess]) -> None:
        """Supervise these parts too."""
        with self._working, self._changed:
            self.parts = (*self.parts, *parts)
            vars(self).pop("_others", None)
        self.wake()

    def settle(self, timeout: float = _TIMEOUT) -> None:
        """Wait until everything that has ended runs again, or that was given up; agents of single servers
        are not waited for."""
        with self._changed:
            self._changed.wait_for(lambda: not self._pending(), timeout)

    def _pending(self) -> bool:
        """Whether something is to be started again: one question to the kernel about all that is watched."""
        runs = self._endings.running()
        return any(
            part.due is not None
            if part.dead_since is not None
            else self.enabled and not (runs(part) or part.alive)
            for part in self._others
        )

    def unsettled(self) -> str:
        """The first process that is to run and does not, or whose end or stop was not noticed yet; empty if
        there is none.  Waits for restarts that are going on."""
        with self._working:
            silent = self.silent()
            return next((_what(part) for part in self.parts if self._is_unsettled(part, silent)), "")

    def _is_unsettled(self, part: SupervisedProcess, silent: frozenset[int]) -> bool:
        if part.dead_since is not None:
            return part.due is not None
        pid = part.pid()
        state = state_of(pid) if pid is not None else ""
        if state == "T":
            unnoticed = isinstance(part, Agent) and part.node not in silent
            return unnoticed or part.stopped_since is None or (self.enabled and not part.held)
        return state in ("", "Z") or part.stopped_since is not None

    @cached_property
    def _others(self) -> list[SupervisedProcess]:
        """All parts but the agents of single servers."""
        return [part for part in self.parts if not isinstance(part, Agent)]

    @cached_property
    def _agents(self) -> list[Agent]:
        return [part for part in self.parts if isinstance(part, Agent)]

    # --- what users ask for -----------------------------------------------------

    def kill(self, wanted: Iterable[SupervisedProcess]) -> None:
        """End parts, as if they had crashed."""
        for part in wanted:
            if part.pid() is None:
                raise LabError(f"{_what(part)} has ended already")
            supervised.end(part)
        self.wake()

    def pause(self, wanted: Iterable[SupervisedProcess]) -> None:
        """Stop parts until they are restarted; returns when they do nothing any more."""
        stopping = tuple(wanted)
        for part in stopping:
            part.held = True
            part.kill(signal.SIGSTOP)
        for part in stopping:
            supervised.await_stop(part)
        self.wake()

    def restart(self, wanted: Sequence[SupervisedProcess]) -> None:
        """End parts and start them again; returns when they work.  LabError when one does not."""
        with self._working:
            for part in wanted:
                part.check()
            for part in wanted:
                part.backoff.forget()
                supervised.end(part)
            for part in wanted:
                self._note_end(part, "restarted by the user")
                self._start(part)
                if part.dead_since is not None:
                    raise LabError(f"{_what(part)} was not started again: {self._errors.get(id(part), '')}")

    def hasten(self, wanted: Iterable[SupervisedProcess]) -> None:
        """Start those that have ended now, without the pause after ends in a row: somebody needs them.
        LabError when one is not to be started, or does not start."""
        with self._working:
            for part in wanted:
                self._look(part)
                if part.due is not None:
                    self._start(part)
                if part.dead_since is not None:
                    raise LabError(f"{_what(part)} does not run: `dcnlab restart` starts it")

    def restarts(self) -> dict[str, int]:
        """How often parts were started again, by their names; those that were not are left out."""
        return {_what(part): part.restarts for part in self.parts if part.restarts}

    # --- the thread -------------------------------------------------------------

    def _run(self) -> None:
        while True:
            try:
                with self._working:
                    for part in self._suspects():
                        self._look(part)
                    self._report_silence()
                    for part in self._due():
                        self._start(part)
            except Exception:
                _log.exception("supervision")
            self._wait()

    def _suspects(self) -> Iterator[SupervisedProcess]:
        """The parts to look at: of a thousand agents only those that are silent, or were."""
        yield from self._others
        silent = self.silent()
        yield from (part for part in self._agents if part.node in silent or part.stopped_since is not None)

    def _look(self, part: SupervisedProcess) -> None:
        """Notice that a part has ended, is stopped or continues."""
        if part.dead_since is not None:
            return
        if not part.alive:
            self._note_end(part, "it has ended")
        elif not part.stopped:
            if part.stopped_since is not None:
                part.stopped_since = None
                self._note_stopped(part, False)
        elif part.stopped_since is None:
            part.stopped_since = time.monotonic()
            self._note_stopped(part, True)
        elif self.enabled and not part.held and time.monotonic() - part.stopped_since > STOPPED:
            supervised.end(part)
            self._note_end(part, f"stopped for {STOPPED:g} s")

    def _note_stopped(self, part: SupervisedProcess, stopped: bool) -> None:
        if not isinstance(part, Agent):  # the agents' supervisor reports these
            self.journal.add(ProcessStopped(part.name, part.nodes, stopped, stopped and part.hangs))

    def _note_end(self, part: SupervisedProcess, reason: str) -> None:
        if part.dead_since is not None:
            return
        now = time.monotonic()
        with self._changed:
            part.dead_since, part.stopped_since, part.held = now, None, False
            part.due = part.backoff.due(now) if self.enabled else None
            self._changed.notify_all()
        if isinstance(part, Daemon | Forwarder):  # agents and controller report their ends themselves
            self.journal.add(ProcessEnded(part.name, part.nodes, reason))
        if self.enabled and part.due is None:
            text = f"{_what(part)} ended {part.backoff.in_row} times in a row: it is not started again"
            self.journal.add(Alarm("supervision", text))

    def _report_silence(self) -> None:
        """Tell which agents do not forward."""
        silent = (part.node for part in self._agents if part.dead_since or part.stopped_since)
        self.on_silence(frozenset(silent))

    def _due(self) -> Iterator[SupervisedProcess]:
        """The parts to start now, those first that others depend on."""
        for part in self.parts:
            if part.due is not None and part.due <= time.monotonic():
                yield part

    def _start(self, part: SupervisedProcess) -> None:
        """Start a part again; after an error it is tried again later."""
        if isinstance(part, Agent) and not self._has_parent():
            return  # it starts with its parent
        begun = time.monotonic()
        part.backoff.restarted(begun)
        try:
            part.check()
            part.start(self.state())
        except Exception as error:
            self._fail(part, error)
            return
        with self._changed:
            part.dead_since = part.due = None
            self._changed.notify_all()
        ms = round(1000 * (time.monotonic() - begun), 2)
        part.restarts += 1
        self.journal.add(ProcessRestarted(part.name, part.nodes, part.restarts, ms))
        _log.warning("%s was started again in %s ms", _what(part), ms)
        if isinstance(part, AgentParent):
            self._revive_agents()
        self._report_silence()
        self.on_restart(part)

    def _fail(self, part: SupervisedProcess, error: Exception) -> None:
        text = " ".join(str(error).split())
        _log.warning("%s was not started again: %s", _what(part), text)
        with self._changed:
            self._errors[id(part)] = text
            part.dead_since = part.dead_since or time.monotonic()
            part.due = part.backoff.due(time.monotonic()) if self.enabled else None
            self._changed.notify_all()
        self.journal.add(Alarm("supervision", f"{_what(part)} was not started again: {text}"))

    def _has_parent(self) -> bool:
        return all(part.dead_since is None for part in self._others if isinstance(part, AgentParent))

    def _revive_agents(self) -> None:
        """Note that all agents run: they were started with their parent."""
        with self._changed:
            for part in self._agents:
                part.dead_since = part.due = part.stopped_since = None
            self._changed.notify_all()

    def _wait(self) -> None:
        """Wait until a process ends, somebody wakes this thread, or something is due."""
        self._endings.renew(part for part in self._others if part.dead_since is None)
        due = min((part.due for part in self.parts if part.due is not None), default=float("inf"))
        self._endings.wait(max(0.01, min(_LOOK, due - time.monotonic())))


def _what(part: SupervisedProcess) -> str:
    nodes = part.nodes
    return f"{part.name} of {nodes[0]}{' and others' if len(nodes) > 1 else ''}" if nodes else part.name
