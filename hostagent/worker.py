"""One process that runs agents: an event loop over the devices of one host, or of many.

It knows its parent by a :class:`Channel` and is ended by the end of that.  An error in
one agent is reported and ends that agent only.
"""

from __future__ import annotations

import os
import select
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from addressing import labelwire
from addressing.directions import Coordinates
from addressing.wire import ETHERTYPE
from hostagent import linkstate, packet, probing
from hostagent.burst import WORTH
from hostagent.channel import Channel, Message
from hostagent.configuring import Configuring
from hostagent.core import Agent
from hostagent.decisions import TO_HOST
from hostagent.labelled import Labelling
from hostagent.linux import Card, Devices
from hostagent.mmsg import BATCH, Slots
from hostagent.neighbours import Neighbours, Probing
from topos.families.torus import Torus
from topos.graph import LinkState

Report = Callable[[Message], None]


class Station:
    """An agent with its devices: reads a batch, has the agent decide, sends it on.

    ``report`` is told of carriers lost and found, first of those missing to begin with.  All agents
    have the same ``key``, by which they know each other's own frames.
    """

    def __init__(self, agent: Agent, devices: Devices, slots: Slots, report: Report, key: bytes) -> None:
        self.agent = agent
        self.devices = devices
        self.report = report
        self.configuring: Configuring | None = None
        self.neighbours: Neighbours | None = None
        self.probing: Probing | None = None
        self.labelling: Labelling | None = None
        self.sent: Counter[str] = Counter()
        #: Says what is waited for at a descriptor, as epoll's modify does, once the loop runs.
        self.watch: Callable[[int, int], None] = lambda descriptor, events: None
        self._slots = slots
        self._key = key
        self._cards = {card.port: card.socket.fileno() for card in devices.cards}
        self._ports = {card.index: card.port for card in devices.cards}
        for card in devices.cards:
            self._carrier(card.port, card.port in devices.up)

    def descriptors(self) -> set[int]:
        """All that are open for this agent."""
        netlink = self.devices.netlink
        spare = set() if netlink is None else {netlink.socket.fileno()}
        return spare | {*self._cards.values(), self.devices.tun, self.devices.carriers.socket.fileno()}

    def handlers(self) -> dict[int, Callable[[], None]]:
        """What to call when a descriptor becomes readable."""
        cards = {card.socket.fileno(): partial(self._from_card, card) for card in self.devices.cards}
        return {
            **cards,
            self.devices.tun: self._from_host,
            self.devices.carriers.socket.fileno(): self._from_kernel,
        }

    def counts(self) -> dict[str, int]:
        """The agent's counters and those of the devices."""
        counts = self.agent.counts() | self.sent
        for protocol in self.protocols():
            counts |= protocol.counts()
        return counts

    def protocols(self) -> list[Configuring | Neighbours | Probing | Labelling]:
        """What runs at this agent beside packets, with timers."""
        running = (self.configuring, self.neighbours, self.probing, self.labelling)
        return [protocol for protocol in running if protocol is not None]

    def announce(self, links: LinkState) -> None:
        """The lab says that ``links`` are down."""
        self.agent.announce(links)

    @property
    def timed(self) -> bool:
        """Whether anything here has timers at all; changes only by orders from the parent."""
        return bool(self.protocols())

    def next_timer(self) -> float | None:
        """When :meth:`tick` is due."""
        timers = (protocol.next_timer() for protocol in self.protocols())
        return min((timer for timer in timers if timer is not None), default=None)

    def tick(self, now: float) -> None:
        """Do what is due."""
        for protocol in self.protocols():
            self.say(protocol.tick(now))

    def keep_link_state(self) -> None:
        """Tell other agents of links that are down, and follow what they tell."""
        self.neighbours = Neighbours(self.agent, self._key)
        self.agent.control = {**self.agent.control, linkstate.ETHERTYPE: self.neighbours.receive}
        for port in self._cards.keys() - self.devices.up:
            self.neighbours.carrier(port, False, time.monotonic())

    def probe(self) -> None:
        """Probe the parallel ways to the servers that the host sends to, and answer others' probes."""
        self.probing = Probing(self.agent, self._key)
        self.agent.control = {**self.agent.control, probing.ETHERTYPE: self.probing.receive}

    # --- labels and addresses -------------------------------------------------

    def learn_label(self, root: int) -> None:
        """Take part in distributed labelling from now on."""
        take = partial(self.devices.give_address, self.agent.own)
        self.labelling = Labelling(self.agent.node, root, self._cards, self._key, take, self.report)
        self.agent.control = {**self.agent.control, labelwire.ETHERTYPE: self.labelling.receive}

    def listen(self, dimensions: int) -> None:
        """Take part in AACM from now on, by the ports that lie in a torus of so many dimensions."""
        ports = [port for port in self._cards if port <= 2 * dimensions]
        self.configuring = Configuring(self.agent.node, ports, self._key, self._adopt, self.report)
        self.agent.control = {**self.agent.control, ETHERTYPE: self.configuring.receive}

    def say(self, frames: Iterable[tuple[int, bytes]]) -> None:
        """Send frames of the agent's own."""
        offload = bytes(packet.VNET_SIZE)
        self.agent.outbox.extend((port, offload + frame) for port, frame in frames)
        self._send_own()

    def _adopt(self, place: Coordinates) -> None:
        """Be the server at ``place``: its address is this host's."""
        family = self.agent.scheme.fabric.family
        assert isinstance(family, Torus)
        address = self.agent.scheme.ipv4(family.server(place))
        self.devices.give_address(address.to_bytes(4, "big"))

    # --- events ---------------------------------------------------------------

    def _from_card(self, card: Card) -> None:
        slots, port, receive, now = self._slots, card.port, self.agent.receive_frame, time.monotonic()
        try:
            count = slots.receive(card.socket.fileno())
        except OSError:  # the card went down; the carrier watch says so as well
            self.sent["receive errors"] += 1
            return
        if count >= WORTH and (ports := self.agent.receive_burst(slots.headers, slots.lengths[:count], port)):
            self._send_burst(ports, count)
            return
        leaving: dict[int, list[int]] = {}
        for view, address, end in zip(slots.views, slots.addresses, slots.ends(count), strict=False):
            out = receive(view, end, port, now)
            if out > 0:
                if out in leaving:
                    leaving[out] += (address, end)
                else:
                    leaving[out] = [address, end]
            elif out == TO_HOST:
                self._to_host(view[packet.HOST_AT : end])
        self._send(leaving)

    def _from_host(self) -> None:
        slots, tun, receive, now = self._slots, self.devices.tun, self.agent.receive_packet, time.monotonic()
        leaving: dict[int, list[int]] = {}
        for index in range(BATCH):
            try:
                end = os.readv(tun, slots.host_buffers[index]) + packet.HOST_AT
            except BlockingIOError:
                break
            except OSError:  # somebody has set the device down
                self.sent["host errors"] += 1
                break
            out = receive(slots.views[index], end, now)
            if out > 0:
                leaving.setdefault(out, []).extend((slots.addresses[index], end))
            elif out == TO_HOST:
                self._to_host(slots.views[index][packet.HOST_AT : end])
        self._send(leaving)

    def _from_kernel(self) -> None:
        for interface in self.devices.carriers.news():
            port = self._ports.get(interface.index)
            if port is not None:
                self._carrier(port, interface.up)

    def _carrier(self, port: int, up: bool) -> None:
        if self.agent.carrier(port, up):
            self.report({"event": "carrier", "node": self.agent.node, "port": port, "up": up})
            if self.neighbours is not None:
                self.neighbours.carrier(port, up, time.monotonic())
            if self.labelling is not None:
                self.say(self.labelling.carrier(port, up, time.monotonic()))

    def _send_burst(self, ports: list[int], count: int) -> None:
        """Send what fills the first slots out of ``ports``, one for all or one each."""
        if len(ports) == 1:
            self._count_sent(self._slots.send_on(self._cards[ports[0]], count), count)
            return
        leaving: dict[int, list[int]] = {}
        for port, address, end in zip(ports, self._slots.addresses, self._slots.ends(count), strict=False):
            leaving.setdefault(port, []).extend((address, end))
        self._send(leaving)

    def _send(self, leaving: dict[int, list[int]]) -> None:
        for port, extents in leaving.items():
            self._count_sent(self._slots.send(self._cards[port], extents), len(extents) // 2)
        if self.agent.outbox:
            self._send_own()

    def _count_sent(self, sent: int, wanted: int) -> None:
        self.sent["sent"] += sent
        if sent < wanted:
            self.sent["send errors"] += wanted - sent

    def _send_own(self) -> None:
        """What the agent itself has to say: rare, so one at a time."""
        for port, data in self.agent.outbox:
            if port == TO_HOST:
                self._to_host(data)
                continue
            try:
                os.write(self._cards[port], data)
                self.sent["sent"] += 1
            except OSError:
                self.sent["send errors"] += 1
        self.agent.outbox.clear()

    def _to_host(self, data: memoryview | bytes) -> None:
        try:
            os.write(self.devices.tun, data)
        except OSError:  # the stack refuses it: bad offsets in a forged header, or the device is down
            self.sent["host errors"] += 1


class Worker:
    """The event loop over the parent's channel and any number of stations.

    It is made before its process is forked and enters :meth:`run` there.
    """

    def __init__(self, channel: Channel, stations: Sequence[Station]) -> None:
        self.channel = channel
        self._stations = {station.agent.node: station for station in stations}
        self._owners = {descriptor: station for station in stations for descriptor in station.descriptors()}
        self._handlers: dict[int, Callable[[], None]] = {channel.socket.fileno(): self._from_parent}
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
        while self._open:
            for descriptor, _ in epoll.poll(self._idle()):
                handler = self._handlers.get(descriptor)
                if handler is None:  # its agent has just failed
                    continue
                try:
                    handler()
                except Exception as error:
                    self._fail(self._owners.get(descriptor), error)
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

    def _from_parent(self) -> None:
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
