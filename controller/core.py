"""The controller's decisions: reports of switches, ports and the lab in, messages and events out.

There are no sockets, clocks or OpenFlow library here.  Every method takes an event (and the time, in seconds
on any monotonic clock) and yields effects in the order in which they are to be carried out.  The tables of the
switches nearest to a change come first.

A link is down if the lab reports it (``links``) or a switch reports its port down (``port``).  A port counts
as down only after it was up: while a lab is being built, links appear one end at a time.  A controller that
takes over from another one believes the first report.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from addressing.scheme import Scheme
from controller import phases, plan
from controller.beside import NOTHING, Beside, LaterHost
from controller.effects import Effect, Event, LinkStateUpdate, ReadTable, Send
from controller.hosts.answering import Answering
from controller.plan import Change
from controller.rules import FlowTable, Group
from topos.graph import LinkState


class Core:
    """The state of one controller; ``now`` is the time at which it started to listen.

    With ``resume``, the links that are down, it takes over switches that have tables already.  It reads them,
    as it does when a switch connects again, and changes only what is wrong.  Where the lab says which switches
    take new tables it leaves them as they are until it is told: the last controller may have ended in between.
    """

    def __init__(
        self,
        scheme: Scheme,
        now: float,
        resume: Iterable[int] | None = None,
        switches: Iterable[int] | None = None,
        ordered: bool = False,
        beside: Beside = NOTHING,
    ) -> None:
        """``switches``: those that it controls, where others have controllers of their own; None: all.

        ``ordered``: the lab says which switches take new tables, and when; reports of ports change none.
        ``beside``: what switches hold beside the scheme's entries."""
        self.beside = beside
        #: By which ports switches flood, as far as they were told.
        self._flooded: dict[int, frozenset[int]] = {}
        self._ordered = ordered
        self.scheme = self._base = scheme
        self.fabric = scheme.fabric
        everywhere = range(self.fabric.servers, self.fabric.size)
        #: The switches that it controls.
        self.switches = tuple(everywhere if switches is None else sorted(switches))
        self.link_state = LinkState()
        #: Since when the tables have been out of date; None while they are not.
        self.stale_since: float | None = None
        self._started = now
        self._reported: frozenset[int] = frozenset()
        self._port_up: dict[tuple[int, int], bool] = {}
        self._initial_changes: dict[int, tuple[Change, ...]] = {}
        self._installed: dict[int, FlowTable] = {}
        self._tables = plan.Tables()
        self._pending_barriers: dict[int, int] = {}
        self._barrier_ids = itertools.count(1)
        self._installing: set[int] = set()
        #: By barrier: when the cause of a change of tables was learned of, and how many flow messages it took.
        self._updating: dict[int, tuple[float, int]] = {}
        self._not_installed = set(self.switches)
        self._updates: list[LinkStateUpdate] = []
        self._answering = Answering(scheme)
        #: The barriers that are awaited by each request of :meth:`reports`.
        self._awaited: dict[int, set[int]] = {}
        self._counts: Counter[str] = Counter()
        #: The switches whose tables may have changed, and have not been sent.
        self._due: dict[int, None] = {}
        self._update = phases.Update(scheme)
        #: The switches that have a table as far as is known, and those whose table waits for the lab.
        self._filled: set[int] = set()
        self._left: set[int] = set()
        self._resumed = resume is not None
        if resume is not None:
            self._filled = set(self._not_installed)
            self._left = set(self._not_installed) if ordered else set()
            self._reported = frozenset(resume)
            self.link_state = LinkState(self._reported)
            self.scheme = scheme.with_failures(self.link_state) if resume else scheme

    # --- switches connect and disconnect --------------------------------------

    def prepare_all(self) -> None:
        """Compute once what the tables of all switches need."""
        self._base.prepare_tables(self.switches)

    def prepare(self, switch: int) -> tuple[Change, ...]:
        """The changes from an empty ``switch`` to its table while all links are up; kept until it connects."""
        if switch not in self._initial_changes:
            self._initial_changes[switch] = plan.diff(
                FlowTable(), self._tables.table(self._base, switch, beside=self.beside)
            )
        return self._initial_changes[switch]

    def connected(self, switch: int) -> Iterator[Effect]:
        """A switch has connected: install its whole table, or first ask for the one that it has."""
        if switch in self._filled:
            yield ReadTable(switch)
            return
        yield from self.table_read(switch, None)

    def table_read(self, switch: int, present: FlowTable | None) -> Iterator[Effect]:
        """The table that a switch has now: change what is wrong.  None: reset it and install its table."""
        self._filled.add(switch)
        self._flooded[switch] = self.beside.flooded(self.fabric, switch, self.link_state)
        left = switch in self._left and present is not None and bool(present.rules)
        self._left.discard(switch)
        changes: tuple[Change, ...] = ()
        if left:
            self._due[switch] = None
        elif present is not None:
            changes = plan.diff(present, self._table(switch))
        elif self.link_state:
            changes = plan.diff(FlowTable(), self._table(switch))
        else:
            changes = self.prepare(switch)
        self._installed[switch] = plan.apply(present or FlowTable(), changes)
        barrier_id = self._new_barrier(switch)
        self._installing.add(barrier_id)
        groups = self._installed[switch].groups
        yield self._send(switch, changes, barrier_id, groups, reset=present is None)

    def disconnected(self, switch: int, now: float) -> Iterator[Effect]:
        """A switch's connection has ended; its replies are no longer waited for."""
        self._installed.pop(switch, None)
        self._not_installed.add(switch)
        for barrier_id in [
            barrier_id for barrier_id, owner in self._pending_barriers.items() if owner == switch
        ]:
            self._close(barrier_id)
        yield Event({"event": "lost", "switch": self.fabric.name(switch)})
        yield from self._finish_updates(now)

    def barrier(self, barrier_id: int, now: float) -> Iterator[Effect]:
        """A switch has carried out everything up to this barrier."""
        switch = self._pending_barriers.get(barrier_id)
        if switch is None:
            return
        if barrier_id in self._installing:
            yield from self._complete(switch, now)
        if barrier_id in self._updating:
            started, flow_mods = self._updating[barrier_id]
            fields = {"switch": self.fabric.name(switch), "flow_mods": flow_mods, "seconds": now - started}
            yield Event({"event": "updated", **fields})
        self._close(barrier_id)
        yield from self._finish_updates(now)

    def start(self, now: float) -> Iterator[Effect]:
        """A fabric without switches is ready at once."""
        if not self._not_installed:
            yield Event({"event": "ready", "seconds": now - self._started})

    # --- links go down and come up --------------------------------------------

    def port(self, switch: int, number: int, up: bool, now: float) -> Iterator[Effect]:
        """A port's state as its switch reports it; :meth:`apply_port_changes` updates the tables."""
        if self.fabric.peer(switch, number) is None:
            return
        before = self._port_up.get((switch, number))
        if before is None and not up and not self._resumed:
            return
        self._port_up[switch, number] = up
        link = self.fabric.link_at(switch, number)
        # A port whose link was down when the controller took over may come with this first report.
        if before == up or (before is None and up and link not in self.link_state.down):
            return
        if self.stale_since is None:
            self.stale_since = now
        name = self.fabric.name(switch)
        yield Event({"event": "port", "switch": name, "port": number, "up": up, "link": link})

    def ports(self, switch: int, present: Collection[int], now: float) -> Iterator[Effect]:
        """All ports that a switch has, when it connects: others may have gone while it could not say so."""
        for number, _ in self.fabric.ports(switch):
            if number not in present:
                yield from self.port(switch, number, False, now)

    def apply_port_changes(self, now: float) -> Iterator[Effect]:
        """Update the tables if ports changed; without a change there is no event."""
        since, self.stale_since = self.stale_since, None
        if since is not None and not self._ordered and self._down() != self.link_state.down:
            yield from self._converge(since, now)

    def links(
        self,
        down: Iterable[int],
        now: float,
        request: int | None = None,
        among: Iterable[int] | None = None,
        phase: int = 0,
    ) -> Iterator[Effect]:
        """The lab's state of all links; always answered by an event, which repeats ``request``.  Where switches
        take new tables in an order only those ``among`` do now, and the others after another call; where they
        do in phases, one call begins each (:mod:`controller.phases`)."""
        reported = frozenset(down)
        if unknown := reported.difference(range(len(self.fabric.link_ends))):
            yield Event({"event": "error", "text": f"{self.fabric.spec} has no link {min(unknown)}"})
            return
        self._reported = reported
        self.stale_since = None
        yield from self._converge(now, now, request, among, phase)

    def later_hosts(self, hosts: Iterable[LaterHost], now: float, request: int) -> Iterator[Effect]:
        """These are the hosts that came later; answered as :meth:`links` is."""
        self.beside = replace(self.beside, hosts=tuple(hosts))
        self._initial_changes.clear()
        self._due = dict.fromkeys(self._installed)
        yield from self._converge(now, now, request)

    def reports(self, switches: Iterable[int], now: float, request: int) -> Iterator[Effect]:
        """An event that repeats ``request``, once these switches have sent what they report of before."""
        barriers = {self._new_barrier(switch): switch for switch in switches if switch in self._installed}
        self._awaited[request] = set(barriers)
        yield from (Send(switch, (), barrier_id) for barrier_id, switch in barriers.items())
        yield from self._finish_updates(now)

    def _down(self) -> frozenset[int]:
        """The links that the lab or a switch reports as down."""
        own = (self.fabric.link_at(*where) for where, up in self._port_up.items() if not up)
        return self._reported.union(own)

    def _converge(
        self,
        started: float,
        now: float,
        request: int | None = None,
        among: Iterable[int] | None = None,
        phase: int = 0,
    ) -> Iterator[Effect]:
        down = self._down()
        changed, before = down ^ self.link_state.down, self.scheme
        if changed:
            scheme = self._base.with_failures(LinkState(down))
            try:
                scheme.check_width()
            except ValueError as error:  # LabelTooWide, or addresses that ran out.
                yield Event({"event": "error", "text": str(error)})
                return
            earlier, self.link_state, self.scheme = self.link_state, LinkState(down), scheme
        if phase == phases.BESIDE:
            self._update = self._update.following(before, self.scheme)
        # Hosts learn labels that have changed when switches forward by nothing else.
        known = self._update.before if phase == phases.ALONE else before
        notified = phase in (phases.BESIDE, phases.SWITCHED)
        current = LinkStateUpdate(down, started, known, request, notified=notified)
        if phase and self._update.stamp is None:
            current.at_once = phases.NO_ROOM
        try:
            if changed:
                self._note_due(changed, before)
            yield from self._send_due(current, None if among is None else set(among), phase)
        except Exception:  # of a scheme of the user's: the next change is another try
            if changed:
                self.link_state, self.scheme = earlier, before
            raise
        # Converged means that earlier updates are complete as well.
        current.waiting.update(self._pending_barriers)
        self._updates.append(current)
        yield from self._finish_updates(now)

    def _note_due(self, changed: frozenset[int], before: Scheme) -> None:
        """Note the switches whose tables may change, those nearest to the change first."""
        for scheme in (before, self.scheme):
            scheme.prepare_tables(tuple(self._installed))
        late, now = self._due, self.scheme
        nearest = self._nearest_first(changed)
        self._due = {one: None for one in nearest if self.beside or one in late or not now.stays(one, before)}
        for switch in self._installed.keys() - self._due.keys():
            self._tables.kept(now, switch)

    def _send_due(
        self, current: LinkStateUpdate, among: Collection[int] | None, phase: int
    ) -> Iterator[Effect]:
        """Send switches what differs from the tables that they hold."""
        for switch in [one for one in self._due if among is None or one in among]:
            if switch in self._installed:  # the others get their tables when they connect
                tree = self.beside.flooded(self.fabric, switch, self.link_state)
                yield from self._change(switch, tree & self._flooded[switch], current, phase)
            if phase in (0, phases.ALONE):
                del self._due[switch]

    def _change(
        self, switch: int, ports: frozenset[int], current: LinkStateUpdate, phase: int = 0
    ) -> Iterator[Effect]:
        """Send a switch, which floods by ``ports``, what changes."""
        held, self._flooded[switch] = self._installed[switch], ports
        table = self._update.table(phase, held, (switch, ports), lambda: self._table(switch, ports))
        changes = plan.diff(held, table)
        if changes:
            self._installed[switch] = table
            barrier_id = self._new_barrier(switch)
            current.flow_mods += len(changes)
            current.switches += 1
            self._updating[barrier_id] = current.started, len(changes)
            yield self._send(switch, changes, barrier_id, plan.written_groups(changes))

    def _table(self, switch: int, ports: frozenset[int] | None = None) -> FlowTable:
        return self._tables.table(self.scheme, switch, self.link_state, self.beside, ports)

    def _complete_tree(self, current: LinkStateUpdate) -> Iterator[Effect]:
        """No switch floods by a port any more that has left the tree: flood by those that have come to it.

        So no frame circulates meanwhile.  A later change of links does it where there is one."""
        if self._due or current is not self._updates[-1]:
            return
        for switch in self._installed if self.beside.broadcast else ():
            tree = self.beside.flooded(self.fabric, switch, self.link_state)
            if tree != self._flooded[switch]:
                yield from self._change(switch, tree, current)
        current.waiting.update(self._pending_barriers)

    def _nearest_first(self, links: Iterable[int]) -> list[int]:
        """The connected switches, those at the ends of ``links`` first."""
        ends = {port.node for link in map(self.fabric.link, links) for port in (link.a, link.b)}
        return sorted(self._installed, key=lambda switch: (switch not in ends, switch))

    # --- barriers -------------------------------------------------------------

    def _new_barrier(self, switch: int) -> int:
        barrier_id = next(self._barrier_ids)
        self._pending_barriers[barrier_id] = switch
        return barrier_id

    def _close(self, barrier_id: int) -> None:
        del self._pending_barriers[barrier_id]
        self._installing.discard(barrier_id)
        self._updating.pop(barrier_id, None)
        for current in self._updates:
            current.waiting.discard(barrier_id)
        for barriers in self._awaited.values():
            barriers.discard(barrier_id)

    def _send(
        self,
        switch: int,
        changes: tuple[Change, ...],
        barrier_id: int,
        groups: frozenset[Group],
        reset: bool = False,
    ) -> Send:
        self._counts["flow_mods"] += len(changes)
        return Send(switch, changes, barrier_id, reset, groups)

    def _complete(self, switch: int, now: float) -> Iterator[Effect]:
        """A switch holds its whole table; after the last one the fabric is ready."""
        table, name = self._installed[switch], self.fabric.name(switch)
        groups = len(table.groups)
        yield Event({"event": "installed", "switch": name, "entries": table.entries, "groups": groups})
        if switch in self._not_installed:
            self._not_installed.remove(switch)
            yield from self.start(now)

    def _finish_updates(self, now: float) -> Iterator[Effect]:
        """Complete the updates to which all switches have replied: first announce changed labels to hosts,
        wait until these announcements are sent, then report to the lab."""
        for request in [one for one, barriers in self._awaited.items() if not barriers]:
            del self._awaited[request]
            yield Event({"event": "reported", "request": request})
        for current in [item for item in self._updates if not item.waiting]:
            if not current.notified:
                current.notified = True
                yield from self._complete_tree(current)
                yield from self._notify_hosts(current)
            if not current.waiting:
                self._updates.remove(current)
                yield current.event(now)

    def _notify_hosts(self, current: LinkStateUpdate) -> Iterator[Effect]:
        notified = tuple(self._answering.announcements(current.before, self.scheme, self._installed))
        yield from notified
        for switch in sorted({out.switch for out in notified}):
            barrier_id = self._new_barrier(switch)
            current.waiting.add(barrier_id)
            yield Send(switch, (), barrier_id)

    # --- requests of hosts ----------------------------------------------------

    def packet_in(self, switch: int, port: int, frame: bytes) -> Iterator[Effect]:
        """A frame from a host, which may ask for the hardware address of a server."""
        yield from self._answering.packet_in(self.scheme, self.beside, switch, port, frame)

    def stats(self) -> Iterator[Effect]:
        """An event with the counters."""
        names = ("flow_mods", "packet_ins", "arp_replies", "unanswered", "ignored")
        counters = self._counts + self._answering.counts
        counts = {name: counters[name] for name in names}
        sizes = {"switches": len(self._installed), "prepared": len(self._initial_changes)}
        yield Event({"event": "stats", **sizes, **counts})
