"""An agent with its devices: it reads packets, decides on them and sends them.

Packets that come one at a time are read and sent by plain system calls, which takes the least time.  Where more
of them wait, they are handled in batches (:mod:`hostagent.runtime.mmsg`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from hostagent import registry
from hostagent.control.interface import AgentContext, AgentProtocol
from hostagent.forwarding import packet
from hostagent.forwarding.agent import Agent
from hostagent.forwarding.batch import MIN_BURST
from hostagent.forwarding.decisions import TO_HOST
from hostagent.linux.channel import Message
from hostagent.runtime.devices import Devices, Nic
from hostagent.runtime.mmsg import BATCH, PacketBuffers
from topos.graph import LinkState

EventSink = Callable[[Message], None]
#: Called when a descriptor is readable; the argument: whether it was readable in the last round, too.
Handler = Callable[[bool], None]

#: Bytes to read of a packet that is dropped: more than the offload header before it.
_ENOUGH = 64
#: The host, in place of a port number.
_HOST = 0
#: A descriptor that is none.
_NOTHING = -1


class AgentIO:
    """An agent with its devices.

    ``report`` sends events to the lab: links that go down or come up, first those that are down at the start.
    ``key`` authenticates the control frames of all agents of a lab.
    """

    def __init__(
        self,
        agent: Agent,
        devices: Devices,
        slots: PacketBuffers,
        report: EventSink,
        key: bytes,
        generation: int = 0,
    ) -> None:
        self.agent = agent
        self.devices = devices
        self.report = report
        #: The control protocols that run, by name.
        self.protocols: dict[str, AgentProtocol[Any]] = {}
        self.sent: Counter[str] = Counter()
        #: Changes the events that are polled for at a descriptor: epoll's modify, once the loop runs.
        self.modify_epoll: Callable[[int, int], None] = lambda descriptor, events: None
        self._buffers = slots
        #: The ports at which packets come one at a time.
        self._one_at_a_time = {_HOST, *(nic.port for nic in devices.nics)}
        #: What is sent by a port whose interface is missing is an error like others.
        self._nics = dict.fromkeys(sorted(devices.missing), _NOTHING)
        self._nics |= {nic.port: (nic.sender or nic.socket).fileno() for nic in devices.nics}
        self._ports = {nic.index: nic for nic in devices.nics}
        self._ports_down: set[int] = set()
        # Looked up at each event: the worker replaces ``report``.
        self._context = AgentContext(
            agent,
            tuple(self._nics),
            key,
            lambda event: self.report(event),
            devices.assign_address,
            generation,
        )
        for port, mtu in {_HOST: devices.mtu, **{nic.port: nic.mtu for nic in devices.nics}}.items():
            agent.set_mtu(port, mtu)
        for port in self._nics:
            self._handle_link_change(port, port in devices.up)

    def descriptors(self) -> set[int]:
        """All descriptors that are open for this agent."""
        netlink = self.devices.netlink
        spare = set() if netlink is None else {netlink.socket.fileno()}
        spare |= {each.fileno() for nic in self.devices.nics for each in nic.sockets}
        return spare | {self.devices.tun, self.devices.carriers.socket.fileno()}

    def handlers(self) -> dict[int, Handler]:
        """The handlers by descriptor, called when it becomes readable."""
        nics = {
            each.fileno(): partial(self._from_nic, nic if each is nic.socket else replace(nic, socket=each))
            for nic in self.devices.nics
            for each in (nic.socket, *nic.control)
        }
        return {
            **nics,
            self.devices.tun: self._from_host,
            self.devices.carriers.socket.fileno(): self._from_netlink,
        }

    def counts(self) -> dict[str, int]:
        """The counters of the agent, its devices and its control protocols."""
        counts = self.agent.counts() | self.sent
        for protocol in self.protocols.values():
            counts |= protocol.counts()
        return counts

    def levels(self) -> list[tuple[int, ...]]:
        """How full limited buffers are (:meth:`~hostagent.flowcontrol.relay.Relay.levels`); here are none."""
        return []

    def apply_link_state(self, links: LinkState) -> None:
        """The lab reports that ``links`` are down."""
        self.agent.apply_link_state(links)

    def discard_waiting(self) -> None:
        """Drop what has waited for an agent that was stopped; control protocols repeat what matters."""
        sockets = [each.fileno() for nic in self.devices.nics for each in (nic.socket, *nic.control)]
        for descriptor in (*sockets, self.devices.tun):
            with contextlib.suppress(OSError):  # nothing more, or the interface is down
                while os.read(descriptor, _ENOUGH):
                    self.sent["discarded: the agent was stopped"] += 1

    # --- control protocols ------------------------------------------------------

    def enable(self, name: str, **arguments: Any) -> None:
        """Run a control protocol from now on; raises SpecError for an unknown name."""
        protocol = registry.create(name, self._context, **arguments)
        self.protocols[name] = protocol
        self.agent.protocols[protocol.ethertype] = protocol
        for port in sorted(self._ports_down):
            protocol.handle_link_change(port, False, time.monotonic())
        self._send_frames_of(protocol)

    def follow(self, orders: Iterable[Message]) -> None:
        """Carry out what agents were told before this one started."""
        for order in orders:
            if order["op"] == "enable":
                self.enable(order["protocol"], **order["arguments"])
            elif order["op"] == "pin":
                self.pin(order["paths"])

    def pin(self, paths: Iterable[Sequence[int]]) -> None:
        """Pin the host's packets to these of the paths that begin here."""
        self.agent.pin(tuple(path) for path in paths if path[0] == self.agent.node)

    def initiate(self, name: str, **arguments: Any) -> None:
        """Start a run of a protocol at this server, if the protocol is enabled."""
        protocol = self.protocols.get(name)
        if protocol is not None:
            protocol.initiate(time.monotonic(), **arguments)
            self._send_frames_of(protocol)

    @property
    def has_timers(self) -> bool:
        """Whether anything here has timers at all; only orders from the parent process change it."""
        return bool(self.protocols)

    def next_timer(self) -> float | None:
        """When :meth:`handle_timer` is due."""
        timers = (protocol.next_timer() for protocol in self.protocols.values())
        return min((timer for timer in timers if timer is not None), default=None)

    def handle_timer(self, now: float) -> None:
        """Do everything that is due by ``now``, which may be nothing."""
        for protocol in self.protocols.values():
            protocol.handle_timer(now)
            self._send_frames_of(protocol)

    def _send_frames_of(self, protocol: AgentProtocol[Any]) -> None:
        self.agent.collect(protocol)
        if self.agent.outbox:
            self._send_outbox()

    # --- events ---------------------------------------------------------------

    def _from_nic(self, nic: Nic, again: bool) -> None:
        read = self._batch_from_nic if again or nic.port not in self._one_at_a_time else self._one_from_nic
        try:
            read(nic)
        except BlockingIOError:
            pass
        except OSError:  # the interface went down; the carrier watch reports it as well
            self.sent["receive errors"] += 1

    def _one_from_nic(self, nic: Nic) -> None:
        view = self._buffers.views[0]
        end = nic.socket.recv_into(view, 0, socket.MSG_DONTWAIT)
        self._send_one(self.agent.receive_frame(view, end, nic.port, time.monotonic()), view, end)

    def _batch_from_nic(self, nic: Nic) -> None:
        slots, port, receive, now = self._buffers, nic.port, self.agent.receive_frame, time.monotonic()
        count = slots.receive(nic.socket.fileno())
        self._adapt_batching(port, count)
        if count >= MIN_BURST and (
            ports := self.agent.receive_burst(slots.headers, slots.lengths[:count], port)
        ):
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
                self._to_host(view[packet.HOST_OFFSET : end])
        self._send(leaving)

    def _from_host(self, again: bool) -> None:
        slots, receive, now = self._buffers, self.agent.receive_packet, time.monotonic()
        if not again and _HOST in self._one_at_a_time:
            view = slots.views[0]
            if end := self._read_host(0):
                self._send_one(receive(view, end, now), view, end)
            return
        leaving: dict[int, list[int]] = {}
        count = 0
        while count < BATCH and (end := self._read_host(count)):
            out = receive(slots.views[count], end, now)
            if out > 0:
                leaving.setdefault(out, []).extend((slots.addresses[count], end))
            elif out == TO_HOST:
                self._to_host(slots.views[count][packet.HOST_OFFSET : end])
            count += 1
        self._adapt_batching(_HOST, count)
        self._send(leaving)

    def _read_host(self, index: int) -> int:
        """Read a packet of the host into a slot; returns its end, 0 if there is none."""
        try:
            return os.readv(self.devices.tun, self._buffers.host_buffers[index]) + packet.HOST_OFFSET
        except BlockingIOError:
            return 0
        except OSError as error:  # the device was set down
            if error.errno == errno.EBADFD:  # it was removed, and would be readable for ever
                raise OSError(error.errno, "the host has removed its device dcn0") from error
            self.sent["host errors"] += 1
            return 0

    def _adapt_batching(self, port: int, count: int) -> None:
        """Expect as many packets as this time."""
        if count > 1:
            self._one_at_a_time.discard(port)
        else:
            self._one_at_a_time.add(port)

    def _from_netlink(self, again: bool) -> None:
        for interface in self.devices.carriers.events():
            nic = self._ports.get(interface.index)
            if interface.mtu and (nic is not None or interface.index == self.devices.tun_index):
                self.agent.set_mtu(_HOST if nic is None else nic.port, interface.mtu)
            if nic is not None:  # one that the host's owner has renamed is not that of the link any more
                self._handle_link_change(nic.port, interface.up and interface.name == nic.name)

    def lose(self, ports: Sequence[int]) -> None:
        """The interfaces of these ports are gone."""
        for port in ports:
            self._handle_link_change(port, False)

    def _handle_link_change(self, port: int, up: bool) -> None:
        (self._ports_down.discard if up else self._ports_down.add)(port)
        if self.agent.handle_link_change(port, up):
            self.report({"event": "link", "node": self.agent.node, "port": port, "up": up})
            for protocol in self.protocols.values():
                protocol.handle_link_change(port, up, time.monotonic())
                self._send_frames_of(protocol)

    def _send_burst(self, ports: list[int], count: int) -> None:
        """Send the packets in the first slots by ``ports``, one for all or one each."""
        if len(ports) == 1:
            self._count_sent(self._buffers.forward(self._nics[ports[0]], count), count)
            return
        leaving: dict[int, list[int]] = {}
        for port, address, end in zip(ports, self._buffers.addresses, self._buffers.ends(count), strict=False):
            leaving.setdefault(port, []).extend((address, end))
        self._send(leaving)

    def _send(self, leaving: dict[int, list[int]]) -> None:
        for port, extents in leaving.items():
            self._count_sent(self._buffers.send(self._nics[port], extents), len(extents) // 2)
        if self.agent.outbox:
            self._send_outbox()

    def _count_sent(self, sent: int, wanted: int) -> None:
        self.sent["sent"] += sent
        if sent < wanted:
            self.sent["send errors"] += wanted - sent

    def _send_one(self, out: int, view: memoryview, end: int) -> None:
        """Send a packet in ``view[:end]`` by port ``out``, or give it to the host."""
        if out > 0:
            self._write(out, view[:end])
        elif out == TO_HOST:
            self._to_host(view[packet.HOST_OFFSET : end])
        if self.agent.outbox:
            self._send_outbox()

    def _send_outbox(self) -> None:
        """Send the frames of the agent itself: they are rare, so one at a time."""
        for port, data in self.agent.outbox:
            if port == TO_HOST:
                self._to_host(data)
            else:
                self._write(port, data)
        self.agent.outbox.clear()

    def _write(self, port: int, data: memoryview | bytes) -> None:
        try:
            os.write(self._nics[port], data)
            self.sent["sent"] += 1
        except OSError:
            self.sent["send errors"] += 1

    def _to_host(self, data: memoryview | bytes) -> None:
        try:
            os.write(self.devices.tun, data)
        except OSError:  # the kernel refuses it: wrong offsets in a forged header, or the device is down
            self.sent["host errors"] += 1
