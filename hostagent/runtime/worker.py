"""One process that runs agents: an event loop over the devices of one host, or of many.

It knows its parent by a :class:`Channel` and is ended by the end of that.  An error in
one agent is reported and ends that agent only.
"""

from __future__ import annotations

import os
import select
import time
import traceback
from collections.abc import Sequence

from hostagent.channel import Channel, Message
from hostagent.runtime.agent_io import Handler, Station
from topos.graph import LinkState


class Worker:
    """The event loop over the parent's channel and any number of stations.

    It is made before its process is forked and enters :meth:`run` there.
    """

    def __init__(self, channel: Channel, stations: Sequence[Station]) -> None:
        self.channel = channel
        self._stations = {station.agent.node: station for station in stations}
        self._owners = {descriptor: station for station in stations for descriptor in station.descriptors()}
        self._handlers: dict[int, Handler] = {channel.socket.fileno(): self._from_parent}
        for station in stations:
            station.report = channel.send
            self._handlers |= station.handlers()
        self._timed: list[Station] = []
        self._open = True

    @property
    def nodes(self) -> set[int]:
        """The servers whose agents run here."""
        return set(self._stations)

    @property
    def descriptors(self) -> set[int]:
        """All that are open for these agents."""
        return set(self._handlers).union(*(station.descriptors() for station in self._stations.values()))

    def close(self) -> None:
        """Give up all devices and the channel: what the parent does with its copies."""
        for station in self._stations.values():
            station.devices.close()
        self.channel.close()

    def run(self) -> None:
        """Until the parent is gone."""
        epoll = select.epoll()
        for descriptor in self._handlers:
            epoll.register(descriptor, select.EPOLLIN)
        for station in self._stations.values():
            station.watch = epoll.modify
        self._find_timed()
        last: set[int] = set()
        while self._open:
            ready = [descriptor for descriptor, _ in epoll.poll(self._idle())]
            for descriptor in ready:
                handler = self._handlers.get(descriptor)
                if handler is None:  # its agent has just failed
                    continue
                try:
                    handler(descriptor in last)
                except Exception as error:
                    self._fail(self._owners.get(descriptor), error)
            last = set(ready)
            if self._timed:
                self._tick()

    def _find_timed(self) -> None:
        """Which stations have timers: most often none, and then no time is spent on them."""
        self._timed = [station for station in self._stations.values() if station.timed]

    def _idle(self) -> float | None:
        """How long nothing is due, in seconds; None: until something arrives."""
        if not self._timed:
            return None
        timers = (station.next_timer() for station in self._timed)
        due = min((timer for timer in timers if timer is not None), default=None)
        return None if due is None else max(0.0, due - time.monotonic())

    def _tick(self) -> None:
        now = time.monotonic()
        for station in self._timed:
            station.tick(now)

    def _fail(self, station: Station | None, error: Exception) -> None:
        """Report an error; a station that raised it is served no more."""
        if station is None:
            raise error
        node = station.agent.node
        for descriptor in station.descriptors():
            self._handlers.pop(descriptor, None)
            self._owners.pop(descriptor, None)
        del self._stations[node]
        self._find_timed()
        station.devices.close()
        self.channel.send(failure(node, error))

    def _from_parent(self, again: bool) -> None:
        messages = self.channel.receive()
        if messages is None:
            self._open = False
            return
        for message in messages:
            self._obey(message)
        self._find_timed()

    def _obey(self, message: Message) -> None:
        agents = [station.agent for station in self._stations.values()]
        match message["op"]:
            case "links":
                state = LinkState(frozenset(message["down"]))
                for station in self._stations.values():
                    station.announce(state)
                self._answer(message, {"event": "links-applied", "count": len(agents)})
            case "listen":
                for station in self._stations.values():
                    station.listen(message["dimensions"])
                self._answer(message, {"event": "listening", "count": len(agents)})
            case "pin":
                for agent in agents:
                    agent.pin(tuple(way) for way in message["ways"] if way[0] == agent.node)
                self._answer(message, {"event": "pinned", "count": len(agents)})
            case "learn":
                for station in self._stations.values():
                    station.learn_label(message["root"])
                self._answer(message, {"event": "listening", "count": len(agents)})
            case "label":
                labelled = self._stations.get(message["node"])
                if labelled is not None and labelled.labelling is not None:
                    labelled.say(labelled.labelling.start(time.monotonic()))
            case "configure":
                self._configure(message)
            case "spread":
                for agent in agents:
                    agent.spread = message["value"]
            case "stats":
                counts = {str(node): station.counts() for node, station in self._stations.items()}
                self._answer(message, {"event": "stats", "agents": counts})

    def _configure(self, message: Message) -> None:
        """One of the agents here, or none of them, is the origin of a configuration."""
        station = self._stations.get(message["node"])
        if station is not None and station.configuring is not None:
            sizes, now = tuple(message["sizes"]), time.monotonic()
            station.say(station.configuring.start(sizes, message["epoch"], now))

    def _answer(self, question: Message, answer: Message) -> None:
        self.channel.send({**answer, "serial": question["serial"]})


def failure(node: int, error: BaseException) -> Message:
    """The event that tells of an agent's end."""
    text = "".join(traceback.format_exception_only(error)).strip()
    where = traceback.extract_tb(error.__traceback__)[-1:]
    place = f" ({os.path.basename(where[0].filename)}:{where[0].lineno})" if where else ""
    return {"event": "failed", "node": node, "error": text + place}
