"""The lab's side of the agents: a blocking interface over the supervisor's control channel.

pool = AgentPool(Options("bcube:4,1", "brp"))       # returns at once
pool.start([AgentPlacement(0, "/run/netns/h0", {1: "h0-eth1", 2: "h0-eth2"}), ...])
pool.wait_ready(10)
pool.on_link_change = lambda node, port, up: ...    # called from the reader thread
pool.links([3, 17]); pool.wait_links([3, 17])
pool.close()
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hostagent.linux import process_exit, secret
from hostagent.linux.channel import Message
from hostagent.linux.child import Child
from hostagent.options import AgentPlacement, LoadBalance, Options
from hostagent.reported import Reported, frames_sent
from hostagent.runtime import progress

if TYPE_CHECKING:
    from hostagent.protocols.labelling.frames import Label

__all__ = ["AgentError", "AgentPlacement", "AgentPool"]

LinkChangeCallback = Callable[[int, int, bool], None]
_TIMEOUT = 30.0
#: Seconds between two looks at whether the supervisor hangs.
_LOOK = 1.0


class AgentError(RuntimeError):
    """An agent or the supervisor failed; one line with the reason."""


class AgentPool(Child):
    """All agents of a lab."""

    def __init__(self, options: Options, key: bytes = b"") -> None:
        """Start the supervisor and return; the calls that wait raise its errors.

        ``key`` authenticates control frames where other supervisors' agents send them too; one of its own
        without.
        """
        ours, theirs = socket.socketpair()
        turns = progress.new_memory()
        self._cell, self._turn = progress.shared_cell(turns), progress.Turn()
        with theirs, os.fdopen(turns), secret.readable_once(key) as file:
            passed = [theirs.fileno(), turns, file.fileno()]
            arguments = [str(passed[0]), json.dumps(options.to_json()), *map(str, passed[1:])]
            argv = [sys.executable, "-P", "-m", "hostagent", *arguments]
            # Agents need no thread pool of numpy's, which would slow the forks down.
            environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
            process = subprocess.Popen(argv, pass_fds=passed, env=environment)
        super().__init__(process, ours, "supervisor")
        self._state = Reported()
        self._starts = self._serial = 0
        self._link_state_serials: dict[tuple[int, ...], int] = {}
        self._on_link_change: LinkChangeCallback | None = None
        self._early: list[tuple[int, int, bool]] = []
        self._reader.start()

    @property
    def failures(self) -> list[tuple[int | None, str]]:
        """(server, error) pairs in the order of their events; an agent that was started again has none."""
        return self._state.failures

    @property
    def no_fast_path(self) -> str:
        """Why agents, some or all, forward without the fast path that was asked for; empty if none do."""
        return self._state.no_fast_path

    @property
    def on_link_change(self) -> LinkChangeCallback | None:
        """Called with (server, port, up) when a link at a server goes down or comes up, from the reader thread.

        Changes that came before it was set are passed on when it is."""
        return self._on_link_change

    @on_link_change.setter
    def on_link_change(self, callback: LinkChangeCallback | None) -> None:
        with self._changed:
            self._on_link_change = callback
            early, self._early = (self._early, []) if callback else ([], self._early)
        for change in early:
            assert callback is not None
            callback(*change)

    def start(self, places: Iterable[AgentPlacement]) -> None:
        """Start agents; :meth:`wait_ready` waits for them."""
        self._starts += 1
        self.send({"op": "start", "agents": [place.to_json() for place in places]})

    def wait_ready(self, stall: float = _TIMEOUT) -> None:
        """Wait until all agents started so far are ready.

        AgentError as soon as one fails, or when for ``stall`` seconds no further agent became ready.
        """
        with self._changed:
            while not self.failures and self._state.ready < self._starts:
                if self._ended:
                    raise self._failure()
                if not self._changed.wait(stall):
                    text = f"{len(self._state.pids)} agents are ready, and no further one within {stall:g} s"
                    raise AgentError(text)
        if self.failures:
            raise self._failure()

    @property
    def silent(self) -> frozenset[int]:
        """The servers whose agents have ended or are stopped."""
        with self._changed:
            if self._ended:
                return frozenset(self._state.pids)
            return frozenset(self._state.stopped | self._state.failed)

    def hangs(self) -> bool:
        """Whether the supervisor hangs: to be asked from time to time."""
        return self._turn.look(self._cell[0], self.process.pid, time.monotonic())

    @property
    def stopped(self) -> frozenset[int]:
        """The servers whose agents are stopped."""
        with self._changed:
            return frozenset(self._state.stopped)

    def process_of(self, node: int) -> int | None:
        """The process of an agent that has not ended."""
        with self._changed:
            return None if self._ended or node in self._state.failed else self._state.pids.get(node)

    def restart(self, places: Iterable[AgentPlacement], timeout: float = _TIMEOUT) -> None:
        """Start agents again, first ending those that still run; returns when they are ready.

        AgentError when one fails or is not ready in time.
        """
        wanted = {place.node: place for place in places}
        self._end(wanted.keys(), timeout)
        with self._changed:
            ended = self._state.forget(wanted)
            self._starts += 1
        self.send({"op": "restart", "agents": [wanted[node].to_json() for node in sorted(ended)]})
        self._wait(
            lambda: all(node in self._state.pids or node in self._state.failed for node in ended),
            timeout,
            "start again",
            watch=True,
        )
        if failed := [error for node, error in self.failures if node in wanted]:
            raise AgentError(failed[0])

    def _end(self, nodes: Iterable[int], timeout: float) -> None:
        """End the processes of agents that still run, and wait until the supervisor has noticed.

        A stopped second-level supervisor notices nothing: it is ended, and with it all of its agents."""
        with self._changed:
            parents = {
                self._state.stopped_parents[node] for node in nodes if node in self._state.stopped_parents
            }
        agents = {pid for node in nodes if (pid := self.process_of(node)) is not None}
        for pid in parents | agents:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._wait(lambda: set(nodes) <= self._state.failed, timeout, "end")

    def links(self, down: Iterable[int], waiting: Iterable[int] | None = None) -> None:
        """Send agents the links that are down; :meth:`wait_links` waits until they follow.

        Where they follow in an order those of the servers ``waiting`` do not yet; then no agent forwards by
        what it knew before when that wait has ended."""
        state = sorted(down)
        order = {} if waiting is None else {"waiting": sorted(waiting)}
        self._link_state_serials[tuple(state)] = self._ask({"op": "links", "down": state, **order})

    def wait_links(self, down: Iterable[int], timeout: float = _TIMEOUT) -> int:
        """Wait until the state that :meth:`links` sent as ``down`` is applied; returns by how many agents."""
        return int(self._answer(self._link_state_serials.pop(tuple(sorted(down))), timeout)["count"])

    def stats(self, timeout: float = _TIMEOUT) -> dict[int, dict[str, int]]:
        """Every agent's counters, by server."""
        agents = self._answer(self._ask({"op": "stats"}), timeout)["agents"]
        return {int(node): counts for node, counts in sorted(agents.items(), key=lambda item: int(item[0]))}

    def buffers(self, timeout: float = _TIMEOUT) -> dict[int, list[tuple[int, ...]]]:
        """How full every agent's buffers are, by server: rows as of
        :meth:`hostagent.flowcontrol.relay.Relay.levels`; none where buffers have no limit."""
        agents = self._answer(self._ask({"op": "buffers"}), timeout)["agents"]
        return {int(node): [tuple(row) for row in agents[node]] for node in sorted(agents, key=int)}

    def sent(self, title: str) -> Counter[str]:
        """Frames that all agents have sent for a protocol, by kind, and how many were ``retransmitted``.

        ``title`` is how the protocol's counters begin: ``AACM``, ``labelling``.
        """
        return frames_sent(self.stats().values(), title)

    def enable(self, protocol: str, timeout: float = _TIMEOUT, **arguments: Any) -> int:
        """Have all agents run a control protocol from now on; returns how many do.

        ``arguments`` are those of the protocol's class.  Raises SpecError for an unknown name.
        """
        from hostagent import registry  # it imports all protocols

        registry.find(protocol)
        order = {"op": "enable", "protocol": protocol, "arguments": arguments}
        return int(self._answer(self._ask(order), timeout)["count"])

    def watch_carriers(self, timeout: float = _TIMEOUT) -> int:
        """Have agents that were placed as ``late`` act on their carriers, also on changes since they started;
        returns how many did not before."""
        return int(self._answer(self._ask({"op": "watch"}), timeout)["count"])

    def initiate(self, protocol: str, node: int, **arguments: Any) -> None:
        """Have server ``node`` start a run of a protocol; ``arguments`` are those of its ``initiate``."""
        self.send({"op": "initiate", "protocol": protocol, "node": node, "arguments": arguments})

    def configure(self, sizes: tuple[int, ...], epoch: int, timeout: float) -> Message:
        """Have server 0 configure all servers by AACM; :meth:`wait_coordinates` waits for them.

        Returns ``success``, ``ms``, ``findings`` (lines of text), the numbers of ``causes`` and of
        ``secondary`` alarms.
        """
        with self._changed:
            self._state.outcome = None
        self.initiate("aacm", 0, sizes=sizes, epoch=epoch)
        self._wait(lambda: self._state.outcome is not None, timeout, "report how AACM went")
        assert self._state.outcome is not None
        return self._state.outcome

    def forget_coordinates(self) -> None:
        """Forget the coordinates that servers have reported."""
        with self._changed:
            self._state.coordinates = {}

    def wait_coordinates(
        self, servers: Collection[int], timeout: float
    ) -> dict[int, tuple[tuple[int, ...], float]]:
        """Wait until these servers have reported their coordinates: those, and when each did, in seconds on the
        clock of time.monotonic()."""
        self._wait(lambda: self._state.coordinates.keys() >= set(servers), timeout, "report their coordinates")
        with self._changed:
            return {node: self._state.coordinates[node] for node in servers}

    def label(self, root: int) -> None:
        """Have server ``root`` start labelling all servers; :meth:`wait_labels` waits for the result."""
        self.initiate("labelling", root)

    def forget_labels(self) -> None:
        """Forget the labels that servers have reported."""
        with self._changed:
            self._state.labels = {}

    def wait_labels(self, wanted: Mapping[int, Label], timeout: float) -> float | None:
        """Wait until every server has its ``wanted`` label; None after ``timeout`` seconds.

        Returns when the last server took its label, in seconds on the clock of time.monotonic().
        """

        def labelled() -> bool:
            return all(
                node in self._state.labels and self._state.labels[node][0] == wanted[node] for node in wanted
            )

        with self._changed:
            if not self._changed.wait_for(lambda: labelled() or self._ended, timeout) or not labelled():
                return None
            return max(at for _, at in self._state.labels.values())

    @property
    def labels(self) -> dict[int, Label]:
        """The label that each server has learned last."""
        with self._changed:
            return {node: label for node, (label, _) in self._state.labels.items()}

    @property
    def labelled_at(self) -> dict[int, float]:
        """When each server took its label, in seconds on the clock of time.monotonic()."""
        with self._changed:
            return {node: at for node, (_, at) in self._state.labels.items()}

    def pin(self, paths: Iterable[Sequence[int]], timeout: float = _TIMEOUT) -> int:
        """Pin packets between the ends of each path to that path (source routing only).

        This replaces what was pinned before; other packets follow the scheme.
        """
        message = {"op": "pin", "paths": [list(path) for path in paths]}
        return int(self._answer(self._ask(message), timeout)["count"])

    def load_balance(self, value: LoadBalance) -> None:
        """Set how agents choose among several next hops."""
        self.send({"op": "load_balance", "value": value})

    def end_orphans(self) -> None:
        """End the agents whose supervisor has ended, and wait until their devices are closed."""
        for pid in set(self._state.pids.values()):
            process_exit.kill(pid)

    # --- orders and answers ---------------------------------------------------

    def _ask(self, message: Message) -> int:
        with self._changed:
            self._serial += 1
            serial = self._serial
        self.send({**message, "serial": serial})
        return serial

    def _answer(self, serial: int, timeout: float) -> Message:
        self._wait(lambda: serial in self._state.answers, timeout, "answer")
        return self._state.answers.pop(serial)

    def _wait(self, condition: Callable[[], bool], timeout: float, what: str, *, watch: bool = False) -> None:
        """Wait for a condition; AgentError after ``timeout`` seconds, or with ``watch`` as soon as the
        supervisor hangs: it would seem to when it starts many agents."""
        end = time.monotonic() + timeout
        with self._changed:
            while not self._changed.wait_for(lambda: condition() or self._ended, min(_LOOK, timeout)):
                if watch and self.hangs():
                    raise AgentError("the agents' supervisor hangs")
                if time.monotonic() >= end:
                    raise AgentError(f"the agents did not {what} within {timeout:g} s")
            if not condition():
                raise self._failure()

    def _failure(self) -> AgentError:
        if not self.failures:
            return AgentError(f"the agents' supervisor has ended{self._how_it_ended()}")
        node, error = self.failures[0]
        return AgentError(error if node is None else f"the agent of h{node} failed: {error}")

    # --- the reader thread ----------------------------------------------------

    def _handle(self, message: Message) -> bool:
        if message["event"] == "link":
            self._handle_link_change(message["node"], message["port"], message["up"])
            return False
        with self._changed:
            self._state.add(message, time.monotonic())
            self._changed.notify_all()
        return True

    def _handle_link_change(self, node: int, port: int, up: bool) -> None:
        with self._changed:
            callback = self._on_link_change
            if callback is None:
                self._early.append((node, port, up))
                return
        callback(node, port, up)
