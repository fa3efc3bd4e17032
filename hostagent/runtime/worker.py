"""One process that runs agents: an event loop over the devices of one host, or of many.

It is connected to its parent process, a supervisor, by a :class:`Channel`, and ends when that closes.  An error
in one agent is reported and ends that agent only.
"""

from __future__ import annotations

import os
import select
import time
import traceback
from collections.abc import Mapping, Sequence

from hostagent.linux.channel import Channel, Message
from hostagent.runtime.agent_io import AgentIO, Handler
from hostagent.runtime.late_watch import LateWatch
from hostagent.runtime.progress import STOPPED, discards, milliseconds
from hostagent.runtime.shared_links import SharedLinkState
from topos import plugins
from topos.graph import LinkState


class Worker:
    """The event loop over the parent's channel and any number of agents.

    It is created before its process is forked, which then calls :meth:`run`.  That does little until something
    arrives: a new process copies each page of memory that it touches.
    """

    def __init__(
        self,
        channel: Channel,
        agent_ios: Sequence[AgentIO],
        links: SharedLinkState,
        epoch: int,
        progress: memoryview,
    ) -> None:
        """``epoch`` is that of the link state which the agents know; ``progress`` a cell of
        :mod:`hostagent.runtime.progress`."""
        self.channel = channel
        self._progress = progress
        self._links, self._epoch = links, epoch
        #: What agents follow since they run here.
        self._followed: dict[int, LinkState] = {}
        self._agent_ios = {agent_io.agent.node: agent_io for agent_io in agent_ios}
        self._owners = {descriptor: agent_io for agent_io in agent_ios for descriptor in agent_io.descriptors()}
        self._handlers: dict[int, Handler] = {channel.socket.fileno(): self._from_parent}
        for agent_io in agent_ios:
            agent_io.report = channel.send
            self._handlers |= agent_io.handlers()
        self._epoll = select.epoll()
        for descriptor in self._handlers:
            self._epoll.register(descriptor, select.EPOLLIN)
        for agent_io in agent_ios:
            agent_io.modify_epoll = self._epoll.modify
        self._with_timers: list[AgentIO] = []
        self._update_timed()
        self._open = True

    @property
    def nodes(self) -> set[int]:
        """The servers whose agents run here."""
        return set(self._agent_ios)

    def late_watches(self, pid: int, namespaces: Mapping[int, str]) -> list[LateWatch]:
        """What starts the watches of the agents in these namespaces, which run here in process ``pid``."""
        return [
            LateWatch.of(node, pid, namespaces[node], agent_io.devices)
            for node, agent_io in self._agent_ios.items()
            if node in namespaces
        ]

    @property
    def descriptors(self) -> set[int]:
        """All descriptors that are open for these agents."""
        own = {self._epoll.fileno(), *self._handlers}
        return own.union(*(agent_io.descriptors() for agent_io in self._agent_ios.values()))

    def close(self) -> None:
        """Close all devices and the channel: the parent does this with its copies."""
        for agent_io in self._agent_ios.values():
            agent_io.devices.close()
        self._epoll.close()
        self.channel.close()

    def run(self) -> None:
        """Run until the parent closes the channel."""
        epoll = self._epoll
        last: set[int] = set()
        cells, progress, turn = self._links.cells, self._progress, 0
        while self._open:
            # Before the wait as well: what was decided since the last look may be carried out by the kernel.
            if cells[0] != self._epoch:
                self._apply_link_state()
            timeout = self._poll_timeout()
            progress[0] = 0
            ready = epoll.poll(timeout)
            turn += 1
            progress[0] = turn
            if cells[0] != self._epoch:
                self._apply_link_state()
            if progress[STOPPED] and discards(progress, milliseconds()):
                for agent_io in self._agent_ios.values():
                    agent_io.discard_waiting()
            for descriptor, _ in ready:
                handler = self._handlers.get(descriptor)
                if handler is None:  # its agent has just failed
                    continue
                try:
                    handler(descriptor in last)
                except Exception as error:
                    self._fail(self._owners.get(descriptor), error)
            last = {descriptor for descriptor, _ in ready}
            if self._with_timers:
                self._handle_timers()
        for agent_io in self._agent_ios.values():
            agent_io.agent.stop_fast_path()

    def _apply_link_state(self) -> None:
        """Have agents follow the lab's link state, but those whose turn has not come."""
        self._epoch, state, waiting = self._links.read()
        for node, agent_io in list(self._agent_ios.items()):
            if node in waiting or self._followed.get(node) == state:
                continue
            self._followed[node] = state
            try:
                agent_io.apply_link_state(state)
            except Exception as error:
                self._fail(agent_io, error)

    def _update_timed(self) -> None:
        """Note which agents have timers: mostly none, and then they take no time."""
        self._with_timers = [agent_io for agent_io in self._agent_ios.values() if agent_io.has_timers]

    def _poll_timeout(self) -> float | None:
        """Seconds until a timer is due; None: wait until something arrives."""
        if not self._with_timers:
            return None
        timers = (agent_io.next_timer() for agent_io in self._with_timers)
        due = min((timer for timer in timers if timer is not None), default=None)
        return None if due is None else max(0.0, due - time.monotonic())

    def _handle_timers(self) -> None:
        now = time.monotonic()
        for agent_io in self._with_timers:
            agent_io.handle_timer(now)

    def _fail(self, agent_io: AgentIO | None, error: Exception) -> None:
        """Report an error; the agent that raised it runs no longer."""
        if agent_io is None:
            raise error
        node = agent_io.agent.node
        for descriptor in agent_io.descriptors():
            self._handlers.pop(descriptor, None)
            self._owners.pop(descriptor, None)
        del self._agent_ios[node]
        self._update_timed()
        agent_io.devices.close()
        self.channel.send(failure_event(node, error))

    def _from_parent(self, again: bool) -> None:
        messages = self.channel.receive()
        if messages is None:
            self._open = False
            return
        for message in messages:
            self._handle(message)
        self._update_timed()

    def _handle(self, message: Message) -> None:
        agents = [agent_io.agent for agent_io in self._agent_ios.values()]
        match message["op"]:
            case "follow":  # done already, because the order has woken this process
                self._answer(message, {"event": "links-applied", "count": len(agents)})
            case "enable":
                for agent_io in self._agent_ios.values():
                    agent_io.enable(message["protocol"], **message["arguments"])
                self._answer(message, {"event": "enabled", "count": len(agents)})
            case "lost":
                self._agent_ios[message["node"]].lose(message["ports"])
            case "initiate":
                initiator = self._agent_ios.get(message["node"])
                if initiator is not None:
                    initiator.initiate(message["protocol"], **message["arguments"])
            case "pin":
                for agent_io in self._agent_ios.values():
                    agent_io.pin(message["paths"])
                self._answer(message, {"event": "pinned", "count": len(agents)})
            case "load_balance":
                for agent in agents:
                    agent.set_load_balance(message["value"])
            case "stats":
                counts = {str(node): agent_io.counts() for node, agent_io in self._agent_ios.items()}
                self._answer(message, {"event": "stats", "agents": counts})
            case "buffers":
                levels = {str(node): agent_io.levels() for node, agent_io in self._agent_ios.items()}
                self._answer(message, {"event": "buffers", "agents": levels})

    def _answer(self, question: Message, answer: Message) -> None:
        self.channel.send({**answer, "serial": question["serial"]})


def failure_event(node: int, error: BaseException) -> Message:
    """The event that reports an agent's failure.

    The traceback goes to standard error, a lab's log.  Agents do without ``logging``, which imports
    ``threading``.
    """
    where = traceback.extract_tb(error.__traceback__)[-1:]
    place = f" ({os.path.basename(where[0].filename)}:{where[0].lineno})" if where else ""
    text = plugins.custom_error(error) or f"{plugins.described(error)}{place}"
    header = f"{time.strftime('%Y-%m-%dT%H:%M:%S')} agent ERROR agent {node}: {text}\n"
    os.write(2, "".join([header, *traceback.format_exception(error)]).encode())
    return {"event": "failed", "node": node, "error": text}
