"""The agents' parent: builds what all agents share, then forks them.

An agent so costs a fork and its own devices, not an interpreter (preparing.py).  The parent
passes orders down and events up, and gathers answers of all into one.  Where there are many
agents it first forks deputies, one per processor, each of which is such a parent of its share:
preparing and forking are then done on all processors.
"""

from __future__ import annotations

import contextlib
import gc
import os
import selectors
import socket
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from hostagent.channel import Channel, Message
from hostagent.options import AgentPlacement, LoadBalance
from hostagent.runtime.agent_io import AgentIO
from hostagent.runtime.devices import ranges_excluding
from hostagent.runtime.factory import AgentFactory
from hostagent.runtime.worker import Worker, failure_event
from topos.graph import ALL_UP, LinkState

#: How many agents are prepared before they are forked; bounds the descriptors that are open meanwhile.
_FORK_BATCH = 64


@dataclass(eq=False)
class ChildProcess:
    """A forked worker or deputy: its process, its channel, and its agents that have not failed."""

    pid: int
    channel: Channel
    nodes: set[int]


@dataclass
class PendingQuery:
    """A question to all children: who still owes an answer, and the answers so far."""

    answer: Message
    waiting: set[int]


class Supervisor:
    """Serves the lab's end of ``control`` until that is closed."""

    def __init__(
        self,
        preparer: AgentFactory,
        control: Channel,
        links: LinkState = ALL_UP,
        load_balance: LoadBalance | None = None,
    ) -> None:
        self._preparer = preparer
        self._options = preparer.options
        self._control = control
        self._links = links
        self._load_balance: LoadBalance = load_balance or preparer.options.load_balance
        self._children: dict[int, ChildProcess] = {}
        self._pending_queries: dict[int, PendingQuery] = {}
        #: For each order to start agents that deputies carry out: those that are not done.
        self._starts: list[set[int]] = []
        self._selector = selectors.DefaultSelector()
        self._selector.register(control.socket, selectors.EVENT_READ, None)

    def serve(self) -> None:
        """Until the lab is gone; the children end with their parent."""
        while True:
            for key, _ in self._selector.select():
                if key.data is not None:
                    self._on_message(key.data)
                    continue
                orders = self._control.receive()
                if orders is None:
                    return
                for order in orders:
                    self._handle(order)

    # --- orders ---------------------------------------------------------------

    def _handle(self, order: Message) -> None:
        match order["op"]:
            case "start":
                self._start([AgentPlacement.from_json(place) for place in order["agents"]])
            case "links":
                self._links = LinkState(frozenset(order["down"]))
                self._query(order, {"event": "links-applied", "count": 0})
            case "pin":
                self._query(order, {"event": "pinned", "count": 0})
            case "enable":
                self._query(order, {"event": "enabled", "count": 0})
            case "initiate":
                self._broadcast(order)
            case "stats":
                self._query(order, {"event": "stats", "agents": {}})
            case "load_balance":
                self._load_balance = order["value"]
                self._broadcast(order)

    def _broadcast(self, order: Message) -> None:
        for child in self._children.values():
            with contextlib.suppress(OSError):  # it has ended, and is buried when that is heard
                child.channel.send(order)

    def _start(self, places: Sequence[AgentPlacement]) -> None:
        if self._options.agents == "host" and (shares := _shares(places)):
            self._starts.append({self._fork_supervisor(share) for share in shares})
        else:
            self.start_local(places)

    def _fork_supervisor(self, share: Sequence[AgentPlacement]) -> int:
        """Fork a deputy that starts a share of the agents; its process number."""
        ours, theirs = socket.socketpair()
        foreign = ranges_excluding({theirs.fileno(), 0, 1, 2})
        pid = os.fork() or _run_child(foreign, lambda: self._run_supervisor(theirs, share))
        theirs.close()
        self._add_child(ChildProcess(pid, Channel(ours), {place.node for place in share}))
        return pid

    def _run_supervisor(self, control: socket.socket, share: Sequence[AgentPlacement]) -> None:
        """What a deputy does: it is a parent with the same state and other children."""
        deputy = Supervisor(self._preparer, Channel(control), self._links, self._load_balance)
        deputy.start_local(share)
        deputy.serve()

    def start_local(self, places: Sequence[AgentPlacement]) -> None:
        """Start agents as children of this process, and say so of each and of all."""
        together = _FORK_BATCH if self._options.agents == "host" else max(1, len(places))
        for first in range(0, len(places), together):
            self._start_batch(places[first : first + together])
        self._control.send({"event": "ready"})

    def _start_batch(self, places: Sequence[AgentPlacement]) -> None:
        """Prepare agents, then fork them in a tight loop: every page that the parent touches
        between two forks is one more page that the child does not share."""
        prepared = [agent_io for agent_io in map(self._prepare, places) if agent_io is not None]
        per_host = self._options.agents == "host"
        processes = len(prepared) if per_host else min(len(prepared), len(os.sched_getaffinity(0)))
        groups = [prepared[first::processes] for first in range(processes)]
        pairs = [socket.socketpair() for _ in groups]
        workers = [Worker(Channel(theirs), group) for (_, theirs), group in zip(pairs, groups, strict=True)]
        gc.freeze()
        shared = self._preparer.shared_descriptors | {0, 1, 2}
        foreign = [ranges_excluding(worker.descriptors | shared) for worker in workers]
        pids = [
            os.fork() or _run_child(other, worker.run) for worker, other in zip(workers, foreign, strict=True)
        ]
        for pid, (ours, _), worker in zip(pids, pairs, workers, strict=True):
            self._add_child(ChildProcess(pid, Channel(ours), worker.nodes))
            for node in sorted(worker.nodes):  # their devices are open and keep what arrives
                self._control.send({"event": "ready", "node": node})
            worker.close()

    def _prepare(self, place: AgentPlacement) -> AgentIO | None:
        """An agent with its devices; None when it failed."""
        try:
            return self._preparer.agent_io(place, self._links, self._load_balance, self._control.send)
        except Exception as error:
            self._control.send(failure_event(place.node, error))
            return None

    def _add_child(self, child: ChildProcess) -> None:
        self._children[child.pid] = child
        self._selector.register(child.channel.socket, selectors.EVENT_READ, child)

    def _query(self, order: Message, answer: Message) -> None:
        serial = order["serial"]
        self._pending_queries[serial] = PendingQuery({**answer, "serial": serial}, set(self._children))
        self._broadcast(order)
        self._finish(serial)

    # --- events ---------------------------------------------------------------

    def _on_message(self, child: ChildProcess) -> None:
        messages = child.channel.receive()
        if messages is None:
            self._reap(child)
            return
        for message in messages:
            if "serial" in message:
                self._gather(child, message)
            elif message == {"event": "ready"}:
                self._done_starting(child)
            else:
                self._control.send(message)
                if message["event"] == "failed":
                    self._preparer.invalidate(message["node"])
                    child.nodes.discard(message["node"])

    def _gather(self, child: ChildProcess, message: Message) -> None:
        current = self._pending_queries[message["serial"]]
        if message["event"] == "stats":
            current.answer["agents"].update(message["agents"])
        else:
            current.answer["count"] += message["count"]
        current.waiting.discard(child.pid)
        self._finish(message["serial"])

    def _done_starting(self, deputy: ChildProcess) -> None:
        """All its agents run, or it has ended: when that is so of all deputies, the order is carried out."""
        for waiting in self._starts:
            waiting.discard(deputy.pid)
        while self._starts and not self._starts[0]:
            del self._starts[0]
            self._control.send({"event": "ready"})

    def _finish(self, serial: int) -> None:
        if not self._pending_queries[serial].waiting:
            self._control.send(self._pending_queries.pop(serial).answer)

    def _reap(self, child: ChildProcess) -> None:
        """A child has ended, which none does of itself: report its agents as failed."""
        self._selector.unregister(child.channel.socket)
        child.channel.close()
        _, status = os.waitpid(child.pid, 0)
        del self._children[child.pid]
        for node in sorted(child.nodes):
            self._preparer.invalidate(node)
            code = os.waitstatus_to_exitcode(status)
            self._control.send({"event": "failed", "node": node, "error": f"its process ended with {code}"})
        for serial, current in list(self._pending_queries.items()):
            current.waiting.discard(child.pid)
            self._finish(serial)
        self._done_starting(child)


def _shares(places: Sequence[AgentPlacement]) -> list[Sequence[AgentPlacement]]:
    """The agents of each deputy, one per processor; none where one parent is as fast."""
    deputies = min(len(os.sched_getaffinity(0)), len(places) // _FORK_BATCH)
    return [places[first::deputies] for first in range(deputies)] if deputies > 1 else []


def _run_child(foreign: Sequence[tuple[int, int]], work: Callable[[], None]) -> NoReturn:
    """The life of a forked process, which ends with its parent: that is the end of its channel.
    It first closes what is not its own."""
    code = 1
    try:
        for descriptors in foreign:
            os.closerange(*descriptors)
        work()
        code = 0
    except BrokenPipeError:  # the parent is gone: so are we
        code = 0
    except BaseException:  # nothing may return into the parent's life
        traceback.print_exc()
    finally:
        os._exit(code)
