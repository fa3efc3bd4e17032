"""The Ryu application: it passes OpenFlow events to the core and the core's effects to the switches.

It runs unchanged on os-ken and on Ryu (:mod:`controller.openflow.backend`).  One thread serves the
application's event queue and runs all handlers, also those of the lab's messages, so the core needs no locks.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from addressing.scheme import Scheme
from controller import management
from controller.beside import NOTHING, Beside, LaterHost
from controller.core import Core
from controller.effects import Effect, Event, PacketOut, ReadTable, Send
from controller.openflow import encode
from controller.openflow.backend import CONFIG, DEAD, MAIN, Application, LocalEvent, hub, ofp, on
from controller.openflow.decode import TableReader
from controller.plan import Change, NotInstallable
from controller.rules import Group
from hostagent.linux.channel import Channel
from topos import plugins

_CHUNK = 1 << 18


class LabMessage(LocalEvent):  # type: ignore[misc]
    """A message from the lab."""

    def __init__(self, message: dict[str, Any]) -> None:
        super().__init__()
        self.message = message


class BasisSet(LocalEvent):  # type: ignore[misc]
    """The groups before a barrier have their hash basis."""

    def __init__(self, barrier_id: int) -> None:
        super().__init__()
        self.barrier_id = barrier_id


class TableApp(Application):  # type: ignore[misc]
    """Installs the tables of one scheme and keeps them up to date."""

    OFP_VERSIONS = (ofp.OFP_VERSION,)
    #: Whether the user's applications run beside this one: what they install stays, and what switches refuse
    #: them is theirs to see.
    beside_others = False

    def __init__(
        self,
        scheme: Scheme,
        lab: Channel,
        resume: Iterable[int] | None = None,
        switches: Iterable[int] | None = None,
        sockets: Path | None = None,
        ordered: bool = False,
        beside: Beside = NOTHING,
    ) -> None:
        """``resume``: the links that are down, if it takes over from a controller that has ended; ``switches``:
        those that it controls, None for all; ``sockets``: the folder of their management sockets, without
        which all switches hash alike; ``ordered``: the lab says which tables change when; ``beside``: what
        switches hold beside the scheme's entries."""
        super().__init__()
        self.core = Core(scheme, time.monotonic(), resume, switches, ordered, beside)
        self._readers: dict[int, TableReader] = {}
        self._lab = lab
        #: By switch the ports of the parts of its description so far.
        self._ports_present: dict[int, set[int]] = {}
        self._datapaths: dict[int, Any] = {}
        self._precompiled: dict[int, tuple[tuple[Change, ...], bytes]] = {}
        self._sockets = sockets
        #: Groups that need the hash basis of their switch, by the barrier after them.
        self._without_basis: dict[int, tuple[int, frozenset[Group]]] = {}
        self.register_handler(LabMessage, self.on_lab_message)
        self.register_handler(BasisSet, self.on_basis_set)

    def prepare(self) -> None:
        """Compile and encode all tables before the switches connect.

        A scheme that OpenFlow cannot express ends the controller.
        """
        self.core.prepare_all()
        for switch in self.core.switches:
            try:
                changes = self.core.prepare(switch)
            except NotInstallable as error:
                self._notify_lab({"event": "error", "text": str(error)})
                os._exit(2)
            self._precompiled[switch] = changes, encode.changes(changes)
            self._notify_lab({"event": "compiled", "switch": self.core.fabric.name(switch)})
            hub.sleep(0)

    # --- the lab --------------------------------------------------------------

    def start(self) -> None:
        """Called by the library when it is ready."""
        super().start()
        self._notify_lab({"event": "listening"})
        self._perform(self.core.start(time.monotonic()))
        hub.spawn(self._listen)

    def _listen(self) -> None:
        """Queue the lab's messages; end when the lab closes the channel."""
        try:
            for message in self._lab.messages():
                self.send_event(self.name, LabMessage(message))
        finally:
            os._exit(0)

    def on_lab_message(self, event: LabMessage) -> None:
        """Handle a request of the lab."""
        message = event.message
        match message:
            case {"op": "links", "down": [*links]}:
                request, among, phase = message.get("request"), message.get("among"), message.get("phase", 0)
                self._perform(self.core.links(links, time.monotonic(), request, among, phase))
            case {"op": "hosts", "hosts": [*hosts], "request": request}:
                later = [LaterHost(**host) for host in hosts]
                self._perform(self.core.later_hosts(later, time.monotonic(), request))
            case {"op": "reports", "switches": [*switches], "request": request}:
                self._perform(self.core.reports(switches, time.monotonic(), request))
            case {"op": "stats"}:
                self._perform(self.core.stats())
            case _:
                self._perform([Event({"event": "error", "text": f"unknown request {message}"})])

    # --- switches -------------------------------------------------------------

    @on("EventOFPSwitchFeatures", CONFIG)
    def features(self, event: Any) -> None:
        """A switch has connected: datapath id j + 1 is switch number j.

        Each connection has a thread that queues its events.  So when a switch has connected again, the event of
        its last connection may come before that of an earlier one, which has ended.
        """
        switch = self.core.fabric.servers + event.msg.datapath_id - 1
        if not self.core.fabric.servers <= switch < self.core.fabric.size:
            text = f"datapath {event.msg.datapath_id:#x} is not a switch of {self.core.fabric.spec}"
            self._perform([Event({"event": "error", "text": text})])
            event.msg.datapath.close()
            return
        path, known = event.msg.datapath, self._datapaths.get(switch)
        if known is not None and known.number > path.number:
            return
        if known is not None:  # its end comes later, and nobody answers on it any more
            self._perform(self.core.disconnected(switch, time.monotonic()))
        path.switch = switch
        self._datapaths[switch] = path
        self._ports_present.pop(switch, None)
        self._perform(self.core.connected(switch))

    @on("EventOFPStateChange", DEAD)
    def state_changed(self, event: Any) -> None:
        """A connection ended."""
        switch = self._switch(event.datapath)
        if switch is not None:
            del self._datapaths[switch]
            self._perform(self.core.disconnected(switch, time.monotonic()))

    @on("EventOFPFlowStatsReply", CONFIG, MAIN)
    def flow_stats(self, event: Any) -> None:
        """A part of a switch's entries, which were asked for."""
        self._read(event.msg, is_groups=False)

    @on("EventOFPGroupDescStatsReply", CONFIG, MAIN)
    def group_description(self, event: Any) -> None:
        """A part of a switch's groups."""
        self._read(event.msg, is_groups=True)

    def _read(self, message: Any, is_groups: bool) -> None:
        switch = self._switch(message.datapath)
        reader = self._readers.get(switch) if switch is not None else None
        if switch is None or reader is None or message.xid:  # other applications' questions have a number
            return
        reader.add(message.body, is_groups, last=not message.flags & ofp.OFPMPF_REPLY_MORE)
        if reader.complete:
            del self._readers[switch]
            self._perform(self.core.table_read(switch, reader.table))

    @on("EventOFPBarrierReply", CONFIG, MAIN)
    def barrier_reply(self, event: Any) -> None:
        """A switch has carried out everything before a barrier."""
        without = self._without_basis.pop(event.msg.xid, None)
        if without is not None:
            hub.spawn(self._set_basis, event.msg.xid, *without)
            return
        self._perform(self.core.barrier(event.msg.xid, time.monotonic()))

    def _set_basis(self, barrier_id: int, switch: int, groups: frozenset[Group]) -> None:
        """Have groups hash by the number of their switch, so that successive switches decide independently."""
        name = self.core.fabric.name(switch)
        try:
            if self._sockets is not None:
                management.set_hash_basis(self._sockets, name, groups, switch)
        except OSError as error:
            logging.warning("all switches hash alike where %s has no hash basis: %s", name, error)
        self.send_event(self.name, BasisSet(barrier_id))

    def on_basis_set(self, event: BasisSet) -> None:
        """Now the reply to the barrier counts."""
        self._perform(self.core.barrier(event.barrier_id, time.monotonic()))

    @on("EventOFPPortDescStatsReply", CONFIG, MAIN)
    def port_description(self, event: Any) -> None:
        """The ports of a switch that has just connected, in one message or several."""
        switch = self._switch(event.msg.datapath)
        if switch is None:
            return
        present = self._ports_present.setdefault(switch, set())
        for port in event.msg.body:
            present.add(port.port_no)
            self._port(event.msg.datapath, port)
        if not event.msg.flags & ofp.OFPMPF_REPLY_MORE:
            self._perform(self.core.ports(switch, self._ports_present.pop(switch), time.monotonic()))

    @on("EventOFPPortStatus", CONFIG, MAIN)
    def port_status(self, event: Any) -> None:
        """A port was added, removed or changed."""
        self._port(event.msg.datapath, event.msg.desc, event.msg.reason == ofp.OFPPR_DELETE)

    @on("EventOFPPacketIn", MAIN)
    def packet_in(self, event: Any) -> None:
        """An ARP request or neighbour solicitation of a host; switches send nothing else to the controller."""
        switch = self._switch(event.msg.datapath)
        if switch is not None:
            self._perform(self.core.packet_in(switch, event.msg.match["in_port"], bytes(event.msg.data)))

    @on("EventOFPErrorMsg", CONFIG, MAIN)
    def error(self, event: Any) -> None:
        """A switch refused a message: this should not happen, and is reported."""
        switch, kind = self._switch(event.msg.datapath), event.msg.type
        name = "an unknown switch" if switch is None else self.core.fabric.name(switch)
        reason = f"{ofp.ofp_error_type_to_str(kind)} {ofp.ofp_error_code_to_str(kind, event.msg.code)}"
        text = f"{name} refused a message: {reason}"
        if self.beside_others and event.msg.xid:  # our changes of tables have none
            logging.warning("%s of another application", text)
            return
        self._perform([Event({"event": "error", "switch": name, "text": text})])

    def _switch(self, path: Any) -> int | None:
        """The switch of a connection; None for one that was replaced or never identified."""
        switch: int | None = getattr(path, "switch", None)
        return switch if switch is not None and self._datapaths.get(switch) is path else None

    def _port(self, path: Any, port: Any, gone: bool = False) -> None:
        switch = self._switch(path)
        if switch is None:
            return
        down = gone or port.state & ofp.OFPPS_LINK_DOWN or port.config & ofp.OFPPC_PORT_DOWN
        self._perform(self.core.port(switch, port.port_no, not down, time.monotonic()))

    # --- effects --------------------------------------------------------------

    def _perform(self, effects: Iterable[Effect]) -> None:
        """Carry out effects as they are computed.

        Then update the tables after port changes, unless more events wait that may change ports as well.
        The lab is told of an error, which a scheme of the user's may raise; it is no answer of a switch.
        """
        try:
            for effect in effects:
                self._carry_out(effect)
            if self.core.stale_since is not None and self.events.empty():
                for effect in self.core.apply_port_changes(time.monotonic()):
                    self._carry_out(effect)
        except Exception as error:
            logging.exception("tables")
            self._notify_lab({"event": "error", "text": plugins.described(error)})

    def _carry_out(self, effect: Effect) -> None:
        if isinstance(effect, Event):
            self._notify_lab(effect.fields)
            return
        path = self._datapaths.get(effect.switch)
        if path is None:
            return
        if isinstance(effect, ReadTable):
            self._readers[effect.switch] = TableReader(self.beside_others)
            data = encode.table_requests()
        else:
            data = self._messages(effect) if isinstance(effect, Send) else _packet_out(effect)
        for start in range(0, len(data), _CHUNK):
            path.send(data[start : start + _CHUNK])
        hub.sleep(0)  # send it before the next switch's table is computed

    def _notify_lab(self, message: Mapping[str, Any]) -> None:
        try:
            self._lab.send(message)
        except OSError:
            os._exit(0)

    def _messages(self, effect: Send) -> bytes:
        """All messages to a switch and the barrier that ends them."""
        if effect.groups and self._sockets is not None:
            self._without_basis[effect.barrier_id] = effect.switch, effect.groups
        changes, data = self._precompiled.get(effect.switch, ((), b""))
        if changes is not effect.changes:
            data = encode.changes(effect.changes)
        return self._reset(effect) + data + encode.barrier(effect.barrier_id)

    def _reset(self, effect: Send) -> bytes:
        """The messages that empty a switch; beside other applications, of our own entries only."""
        if not effect.reset:
            return b""
        return encode.reset_own(effect.changes) if self.beside_others else encode.reset()


def _packet_out(effect: PacketOut) -> bytes:
    return encode.packet_out(effect.port, effect.frame)
