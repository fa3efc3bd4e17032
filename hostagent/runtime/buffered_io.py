"""Agent I/O with finite buffers: interfaces that accept only a few frames at a time, and a host that waits.

The send buffer of an interface's socket is so small that the kernel refuses a frame while the link is busy with
earlier ones; epoll reports when it accepts more.  The TUN device is read only while the relay has room.  TCP
segmentation offload is off, because a super-packet would be many frames for one credit.
"""

from __future__ import annotations

import os
import select
import socket
import time

from hostagent.flowcontrol.relay import Relay
from hostagent.forwarding import packet
from hostagent.forwarding.decisions import TO_HOST
from hostagent.runtime.agent_io import AgentIO, EventSink
from hostagent.runtime.devices import Devices, Nic, disable_segmentation_offload
from hostagent.runtime.mmsg import BATCH, PacketBuffers
from topos.graph import LinkState

#: Bytes of frames, as the kernel counts them, that an interface accepts: four frames of full size.
_SEND_BUFFER = 4608


class BufferedAgentIO(AgentIO):
    """Agent I/O whose packets wait in a :class:`~hostagent.flowcontrol.relay.Relay`."""

    def __init__(
        self,
        relay: Relay,
        devices: Devices,
        slots: PacketBuffers,
        report: EventSink,
        key: bytes,
        generation: int = 0,
    ) -> None:
        super().__init__(relay.agent, devices, slots, report, key, generation)
        self._relay = relay
        self._pending_frames: dict[int, bytes] = {}
        self._interest: dict[int, int] = {}
        disable_segmentation_offload(devices.tun)
        for nic in devices.nics:
            nic.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)

    def counts(self) -> dict[str, int]:
        return super().counts() | self._relay.counts()

    def levels(self) -> list[tuple[int, ...]]:
        return list(self._relay.levels())

    def apply_link_state(self, links: LinkState) -> None:
        self._relay.apply_link_state(links)
        self._flush()

    @property
    def has_timers(self) -> bool:
        return True

    def next_timer(self) -> float | None:
        timers = (super().next_timer(), self._relay.next_timer())
        return min((timer for timer in timers if timer is not None), default=None)

    def handle_timer(self, now: float) -> None:
        super().handle_timer(now)
        due = self._relay.next_timer()
        if due is not None and due <= now:
            self._relay.handle_timer(now)
            self._flush()

    # --- events ---------------------------------------------------------------

    def _from_nic(self, nic: Nic, again: bool) -> None:
        slots, port, receive, now = self._buffers, nic.port, self._relay.receive_frame, time.monotonic()
        try:
            count = slots.receive(nic.socket.fileno())
        except OSError:  # the interface went down; the carrier watch reports it as well
            self.sent["receive errors"] += 1
            count = 0
        for view, end in zip(slots.views, slots.ends(count), strict=False):
            if receive(view, end, port, now) == TO_HOST:
                self._to_host(view[packet.HOST_OFFSET : end])
        self._flush()

    def _from_host(self, again: bool) -> None:
        slots, now = self._buffers, time.monotonic()
        for index in range(BATCH):
            if not self._relay.room:
                break
            try:
                end = os.readv(self.devices.tun, slots.host_buffers[index]) + packet.HOST_OFFSET
            except BlockingIOError:
                break
            except OSError:  # the device was set down
                self.sent["host errors"] += 1
                break
            if self._relay.receive_packet(slots.views[index], end, now) == TO_HOST:
                self._to_host(slots.views[index][packet.HOST_OFFSET : end])
        self._flush()

    def _flush(self) -> None:
        """Send what can leave; then poll only for packets for which there is room."""
        relay, now = self._relay, time.monotonic()
        for port, data in list(self._pending_frames.items()):
            if self._try_send(port, data):
                del self._pending_frames[port]
                relay.blocked.discard(port)
        for port, data in relay.frames_to_send(now):
            if not self._try_send(port, data):
                self._pending_frames[port] = data
                relay.blocked.add(port)
        if self.agent.outbox:
            self._send_outbox()
        self._set_interest(self.devices.tun, select.EPOLLIN if relay.room else 0)
        for port, descriptor in self._nics.items():
            self._set_interest(
                descriptor, select.EPOLLIN | (select.EPOLLOUT if port in self._pending_frames else 0)
            )

    def _try_send(self, port: int, data: bytes) -> bool:
        """Write a frame to an interface; False while it accepts none."""
        try:
            os.write(self._nics[port], data)
        except BlockingIOError:
            return False
        except OSError:  # the link is down: the frame is lost
            self.sent["send errors"] += 1
        else:
            self.sent["sent"] += 1
        return True

    def _set_interest(self, descriptor: int, events: int) -> None:
        if self._interest.get(descriptor, select.EPOLLIN) != events:
            self._interest[descriptor] = events
            self.modify_epoll(descriptor, events)
