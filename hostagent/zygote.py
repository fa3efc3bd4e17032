"""The agents' parent: imports everything and builds fabric and scheme once, then forks the agents.

An agent so costs a fork and its own devices, not an interpreter: what was built before
stays shared between all of them (``gc.freeze`` keeps the collector from touching it).
The parent passes orders down and events up, and gathers answers of all into one.
"""

from __future__ import annotations

import gc
import os
import random
import selectors
import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from addressing import registry as schemes
from addressing.scheme import Scheme, walk
from hostagent.channel import Channel, Message
from hostagent.core import Agent, addresses_of
from hostagent.linux import end_with_parent, open_devices
from hostagent.mmsg import Slots
from hostagent.options import AgentPlace, Options, Spread
from hostagent.worker import Station, Worker, failure
from topos import registry as topologies
from topos.graph import ALL_UP, LinkState

_ALL_DESCRIPTORS = 1 << 20


@dataclass(eq=False)
class Child:
    """A forked worker: its process, its channel, and its agents that have not failed."""

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

    def __init__(self, options: Options, control: Channel) -> None:
        self._options = options
        self._control = control
        self._scheme = schemes.bind(options.scheme, topologies.fabric(options.topology))
        self._nodes = addresses_of(self._scheme)
        self._links = ALL_UP
        self._spread: Spread = options.spread
        self._children: dict[int, Child] = {}
        self._starting: set[int] = set()
        self._rounds: dict[int, Round] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(control.socket, selectors.EVENT_READ, None)
        _warm(self._scheme)
        gc.collect()
        gc.freeze()

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
            case "stats":
                self._ask(order, {"event": "stats", "agents": {}})
            case "spread":
                self._spread = order["value"]
                for child in self._children.values():
                    child.channel.send(order)

    def _start(self, places: Sequence[AgentPlace]) -> None:
        self._starting.update(place.node for place in places)
        per_host = self._options.mode == "host"
        processes = len(places) if per_host else min(len(places), len(os.sched_getaffinity(0)))
        for first in range(processes):
            self._fork(places[first::processes])
        self._tell_when_ready()

    def _fork(self, places: Sequence[AgentPlace]) -> None:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if not pid:
            self._work(theirs, places)
        theirs.close()
        child = Child(pid, Channel(ours), {place.node for place in places})
        self._children[pid] = child
        self._selector.register(ours, selectors.EVENT_READ, child)

    def _ask(self, order: Message, answer: Message) -> None:
        serial = order["serial"]
        self._rounds[serial] = Round({**answer, "serial": serial}, set(self._children))
        for child in self._children.values():
            child.channel.send(order)
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
                continue
            self._control.send(message)
            if message["event"] in ("ready", "failed"):
                self._starting.discard(message["node"])
                self._tell_when_ready()
            if message["event"] == "failed":
                child.nodes.discard(message["node"])

    def _tell_when_ready(self) -> None:
        if not self._starting:
            self._control.send({"event": "ready"})

    def _gather(self, child: Child, message: Message) -> None:
        current = self._rounds[message["serial"]]
        if message["event"] == "stats":
            current.answer["agents"].update(message["agents"])
        else:
            current.answer["count"] += message["count"]
        current.waiting.discard(child.pid)
        self._finish(message["serial"])

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
        if self._starting & child.nodes:
            self._starting -= child.nodes
            self._tell_when_ready()
        for serial, current in list(self._rounds.items()):
            current.waiting.discard(child.pid)
            self._finish(serial)

    # --- in the child ---------------------------------------------------------

    def _work(self, connection: socket.socket, places: Sequence[AgentPlace]) -> NoReturn:
        """The life of a forked process."""
        code = 1
        try:
            end_with_parent(signal.SIGKILL)
            keep = connection.fileno()
            os.closerange(3, keep)
            os.closerange(keep + 1, _ALL_DESCRIPTORS)
            self._run_agents(Channel(connection), places)
            code = 0
        finally:
            os._exit(code)

    def _run_agents(self, channel: Channel, places: Sequence[AgentPlace]) -> None:
        worker, slots = Worker(channel), Slots()
        for place in places:
            try:
                agent = self._agent(place.node)
                devices = open_devices(place.netns, place.ports, agent.own)
                worker.add(Station(agent, devices, slots, channel.send))
            except Exception as error:
                channel.send(failure(place.node, error))
        worker.run()

    def _agent(self, node: int) -> Agent:
        draw = random.Random(f"{self._options.seed}:{node}")
        agent = Agent(self._scheme, node, self._nodes, draw, self._spread)
        if self._links:
            agent.announce(self._links)
        return agent


def _warm(scheme: Scheme) -> None:
    """Have the scheme compute what it computes once, so that the agents share it."""
    servers = scheme.fabric.servers
    if servers > 1:
        list(walk(scheme, 0, servers - 1))
