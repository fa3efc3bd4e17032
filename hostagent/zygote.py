"""The agents' parent: imports everything and builds fabric and scheme once, then forks the agents.

An agent so costs a fork and its own devices, not an interpreter: what was built before
stays shared between all of them (``gc.freeze`` keeps the collector from touching it).
The parent passes orders down and events up, and gathers answers of all into one.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
import selectors
import socket
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

from addressing import registry as schemes
from addressing.escape import Escape
from addressing.scheme import Scheme, walk
from hostagent.buffered import BufferedStation
from hostagent.channel import Channel, Message
from hostagent.core import Agent, addresses_of
from hostagent.linux import Devices, all_but, open_devices, refuse_super_packets
from hostagent.mmsg import Slots
from hostagent.options import AgentPlace, Options, Spread
from hostagent.relay import Relay
from hostagent.station import Station
from hostagent.worker import Worker, failure
from topos import registry as topologies
from topos.graph import ALL_UP, LinkState

#: How many agents are prepared before they are forked; bounds the descriptors that are open meanwhile.
_TOGETHER = 64
_KEY_SIZE = 16


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
        #: The agents' own: it authenticates what they tell each other, and is written to no channel.
        self._key = os.urandom(_KEY_SIZE)
        self._spread: Spread = options.spread
        self._children: dict[int, Child] = {}
        self._rounds: dict[int, Round] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(control.socket, selectors.EVENT_READ, None)
        self._slots = Slots()
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
        pids = [os.fork() or _work(*child) for child in zip(workers, foreign, strict=True)]
        for pid, (ours, _), worker in zip(pids, pairs, workers, strict=True):
            self._adopt(Child(pid, Channel(ours), worker.nodes))
            worker.close()

    def _adopt(self, child: Child) -> None:
        """Listen to a child, whose agents are ready: their devices are open and keep what arrives."""
        self._children[child.pid] = child
        self._selector.register(child.channel.socket, selectors.EVENT_READ, child)
        for node in sorted(child.nodes):
            self._control.send({"event": "ready", "node": node})

    def _prepare(self, place: AgentPlace) -> Station | None:
        """An agent and its devices, made here because a fresh child would first copy every page
        that this work touches; None when it failed."""
        try:
            agent = self._agent(place.node)
            devices = open_devices(place.netns, place.ports, None if self._options.unconfigured else agent.own)
            if not self._options.offloads:
                refuse_super_packets(devices.tun)
            station = self._station(agent, devices)
            if self._options.link_state == "agents":
                station.keep_link_state()
            if self._options.spread == "probe":
                station.probe()
            return station
        except Exception as error:
            self._control.send(failure(place.node, error))
            return None

    def _station(self, agent: Agent, devices: Devices) -> Station:
        """With buffers of its own when it is to have some, otherwise the fast path."""
        options, report = self._options, self._control.send
        if not options.buffers:
            return Station(agent, devices, self._slots, report, self._key)
        shared = None if self._links else self._escape
        relay = Relay(agent, options.buffers, options.flow_control == "credits", shared)
        return BufferedStation(relay, devices, self._slots, report, self._key)

    @cached_property
    def _escape(self) -> Escape:
        """The escape routes of the intact fabric, which all agents share."""
        escape = Escape(self._scheme)
        return escape.prepare() if self._options.flow_control == "credits" else escape

    def _agent(self, node: int) -> Agent:
        draw = random.Random(f"{self._options.seed}:{node}")
        agent = Agent(self._scheme, node, self._nodes, draw, self._spread)
        if self._links:
            agent.announce(self._links)
        return agent

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
                continue
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


def _work(worker: Worker, foreign: list[tuple[int, int]]) -> NoReturn:
    """The life of a forked process; the parent's end is the end of its channel."""
    code = 1
    try:
        for descriptors in foreign:
            os.closerange(*descriptors)
        worker.run()
        code = 0
    except BaseException:  # nothing may return into the parent's life
        traceback.print_exc()
    finally:
        os._exit(code)


def _warm(scheme: Scheme) -> None:
    """Have the scheme compute what it computes once, so that the agents share it."""
    servers = scheme.fabric.servers
    if servers > 1:
        list(walk(scheme, 0, servers - 1))
