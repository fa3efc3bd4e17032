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
from hostagent.options import AgentPlace, Spread
from hostagent.runtime.agent_io import Station
from hostagent.runtime.devices import all_but
from hostagent.runtime.factory import Preparer
from hostagent.runtime.worker import Worker, failure
from topos.graph import ALL_UP, LinkState

#: How many agents are prepared before they are forked; bounds the descriptors that are open meanwhile.
_TOGETHER = 64


@dataclass(eq=False)
class Child:
    """A forked worker or deputy: its process, its channel, and its agents that have not failed."""

    pid: int
    channel: Channel
    nodes: set[int]


@dataclass
class Round:
    """A question to all children: who still owes an answer, and the answers so far."""

    answer: Message
    waiting: set[int]


class Zygote:
    """Serves the lab's end of ``control`` until that is closed."""

    def __init__(
        self, preparer: Preparer, control: Channel, links: LinkState = ALL_UP, spread: Spread | None = None
    ) -> None:
        self._preparer = preparer
        self._options = preparer.options
        self._control = control
        self._links = links
        self._spread: Spread = spread or preparer.options.spread
        self._children: dict[int, Child] = {}
        self._rounds: dict[int, Round] = {}
        #: For each order to start agents that deputies carry out: those that are not done.
        self._starts: list[set[int]] = []
        self._selector = selectors.DefaultSelector()
        self._selector.register(control.socket, selectors.EVENT_READ, None)

    def serve(self) -> None:
        """Until the lab is gone; the children end with their parent."""
        while True:
            for key, _ in self._selector.select():
                if key.data is not None:
                    self._hear(key.data)
                    continue
                orders = self._control.receive()
                if orders is None:
                    return
                for order in orders:
                    self._obey(order)

    # --- orders ---------------------------------------------------------------

    def _obey(self, order: Message) -> None:
        match order["op"]:
            case "start":
                self._start([AgentPlace.from_json(place) for place in order["agents"]])
            case "links":
                self._links = LinkState(frozenset(order["down"]))
                self._ask(order, {"event": "links-applied", "count": 0})
            case "pin":
                self._ask(order, {"event": "pinned", "count": 0})
            case "listen" | "learn":
                self._ask(order, {"event": "listening", "count": 0})
            case "configure" | "label":
                self._pass_on(order)
            case "stats":
                self._ask(order, {"event": "stats", "agents": {}})
            case "spread":
                self._spread = order["value"]
                self._pass_on(order)

    def _pass_on(self, order: Message) -> None:
        for child in self._children.values():
            with contextlib.suppress(OSError):  # it has ended, and is buried when that is heard
                child.channel.send(order)

    def _start(self, places: Sequence[AgentPlace]) -> None:
        if self._options.mode == "host" and (shares := _shares(places)):
            self._starts.append({self._appoint(share) for share in shares})
        else:
            self.start_here(places)

    def _appoint(self, share: Sequence[AgentPlace]) -> int:
        """Fork a deputy that starts a share of the agents; its process number."""
        ours, theirs = socket.socketpair()
        foreign = all_but({theirs.fileno(), 0, 1, 2})
        pid = os.fork() or _live(foreign, lambda: self._deputise(theirs, share))
        theirs.close()
        self._adopt(Child(pid, Channel(ours), {place.node for place in share}))
        return pid

    def _deputise(self, control: socket.socket, share: Sequence[AgentPlace]) -> None:
        """What a deputy does: it is a parent with the same state and other children."""
        deputy = Zygote(self._preparer, Channel(control), self._links, self._spread)
        deputy.start_here(share)
        deputy.serve()

    def start_here(self, places: Sequence[AgentPlace]) -> None:
        """Start agents as children of this process, and say so of each and of all."""
        together = _TOGETHER if self._options.mode == "host" else max(1, len(places))
        for first in range(0, len(places), together):
            self._start_together(places[first : first + together])
        self._control.send({"event": "ready"})

    def _start_together(self, places: Sequence[AgentPlace]) -> None:
        """Prepare agents, then fork them in a tight loop: every page that the parent touches
        between two forks is one more page that the child does not share."""
        prepared = [station for station in map(self._prepare, places) if station is not None]
        per_host = self._options.mode == "host"
        processes = len(prepared) if per_host else min(len(prepared), len(os.sched_getaffinity(0)))
        groups = [prepared[first::processes] for first in range(processes)]
        pairs = [socket.socketpair() for _ in groups]
        workers = [Worker(Channel(theirs), group) for (_, theirs), group in zip(pairs, groups, strict=True)]
        gc.freeze()
        foreign = [all_but(worker.descriptors | {0, 1, 2}) for worker in workers]
        pids = [os.fork() or _live(other, worker.run) for worker, other in zip(workers, foreign, strict=True)]
        for pid, (ours, _), worker in zip(pids, pairs, workers, strict=True):
            self._adopt(Child(pid, Channel(ours), worker.nodes))
            for node in sorted(worker.nodes):  # their devices are open and keep what arrives
                self._control.send({"event": "ready", "node": node})
            worker.close()

    def _prepare(self, place: AgentPlace) -> Station | None:
        """An agent with its devices; None when it failed."""
        try:
            return self._preparer.station(place, self._links, self._spread, self._control.send)
        except Exception as error:
            self._control.send(failure(place.node, error))
            return None

    def _adopt(self, child: Child) -> None:
        self._children[child.pid] = child
        self._selector.register(child.channel.socket, selectors.EVENT_READ, child)

    def _ask(self, order: Message, answer: Message) -> None:
        serial = order["serial"]
        self._rounds[serial] = Round({**answer, "serial": serial}, set(self._children))
        self._pass_on(order)
        self._finish(serial)

    # --- events ---------------------------------------------------------------

    def _hear(self, child: Child) -> None:
        messages = child.channel.receive()
        if messages is None:
            self._bury(child)
            return
        for message in messages:
            if "serial" in message:
                self._gather(child, message)
            elif message == {"event": "ready"}:
                self._done_starting(child)
            else:
                self._control.send(message)
                if message["event"] == "failed":
                    child.nodes.discard(message["node"])

    def _gather(self, child: Child, message: Message) -> None:
        current = self._rounds[message["serial"]]
        if message["event"] == "stats":
            current.answer["agents"].update(message["agents"])
        else:
            current.answer["count"] += message["count"]
        current.waiting.discard(child.pid)
        self._finish(message["serial"])

    def _done_starting(self, deputy: Child) -> None:
        """All its agents run, or it has ended: when that is so of all deputies, the order is carried out."""
        for waiting in self._starts:
            waiting.discard(deputy.pid)
        while self._starts and not self._starts[0]:
            del self._starts[0]
            self._control.send({"event": "ready"})

    def _finish(self, serial: int) -> None:
        if not self._rounds[serial].waiting:
            self._control.send(self._rounds.pop(serial).answer)

    def _bury(self, child: Child) -> None:
        """A child has ended, which none does of itself: report its agents as failed."""
        self._selector.unregister(child.channel.socket)
        child.channel.close()
        _, status = os.waitpid(child.pid, 0)
        del self._children[child.pid]
        for node in sorted(child.nodes):
            code = os.waitstatus_to_exitcode(status)
            self._control.send({"event": "failed", "node": node, "error": f"its process ended with {code}"})
        for serial, current in list(self._rounds.items()):
            current.waiting.discard(child.pid)
            self._finish(serial)
        self._done_starting(child)


def _shares(places: Sequence[AgentPlace]) -> list[Sequence[AgentPlace]]:
    """The agents of each deputy, one per processor; none where one parent is as fast."""
    deputies = min(len(os.sched_getaffinity(0)), len(places) // _TOGETHER)
    return [places[first::deputies] for first in range(deputies)] if deputies > 1 else []


def _live(foreign: Sequence[tuple[int, int]], work: Callable[[], None]) -> NoReturn:
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
