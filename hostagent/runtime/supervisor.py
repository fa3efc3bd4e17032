"""The supervisor: it builds what all agents share, forks them, and passes orders and events on.

So an agent costs a fork and its own devices, not an interpreter (:mod:`hostagent.runtime.factory`).  The
supervisor collects the answers of all agents into one.  With many agents it first forks second-level
supervisors, one per processor, each for a share of the agents: then all processors take part in the launch.

The kernel tells a parent at once when a child ends, is stopped (SIGSTOP) or continues.  So agents need no
hellos: the supervisor reports such agents, and asks those that are stopped nothing until they continue
(docs/decisions/liveness.md).  An agent that hangs counts as stopped; the supervisor sees this in memory that
both share (:mod:`hostagent.runtime.progress`).
"""

from __future__ import annotations

import contextlib
import gc
import os
import selectors
import socket
import time
from collections.abc import Collection, Sequence
from pathlib import Path

from hostagent.linux.channel import Channel, Message
from hostagent.linux.mounts import fresh_proc
from hostagent.options import AgentPlacement, LoadBalance
from hostagent.runtime import progress
from hostagent.runtime.agent_io import AgentIO
from hostagent.runtime.children import ChildProcess, PendingQuery, change_of_child, run_child, watch_children
from hostagent.runtime.devices import ranges_excluding
from hostagent.runtime.factory import AgentFactory
from hostagent.runtime.late_watch import LateWatch
from hostagent.runtime.processes import FORK_BATCH, supervisor_count, worker_count
from hostagent.runtime.worker import Worker, failure_event
from topos.graph import LinkState

_PIPE = 1 << 12
#: Seconds for which it looks whether agents end their turn, before it asks them.
_GRACE = 0.002
#: Seconds between two looks at whether agents make progress.
_LOOK = 1.0


class Supervisor:
    """Serves the lab over ``control`` until the lab closes it."""

    def __init__(
        self,
        factory: AgentFactory,
        control: Channel,
        load_balance: LoadBalance | None = None,
        cell: memoryview | None = None,
    ) -> None:
        """``cell``: where it notes its turns, for the lab to see whether it hangs."""
        self._cell = progress.cells(1)[0] if cell is None else cell
        self._turn = 0
        self._factory = factory
        self._options = factory.options
        self._control = control
        self._links = factory.links
        #: Whether agents act on link state at once, and not only when they handle the next packet.
        self._prompt = factory.prompt
        self._load_balance: LoadBalance = load_balance or factory.options.load_balance
        self._children: dict[int, ChildProcess] = {}
        self._pending_queries: dict[int, PendingQuery] = {}
        #: For each start order: the second-level supervisors that have not completed it.
        self._starts: list[set[int]] = []
        #: How often each server's agent was started again.
        self._generations: dict[int, int] = {}
        #: Whose carriers are watched when the lab says so.
        self._late: list[LateWatch] = []
        #: What agents that start later are told as well: the protocols that were enabled, and the last pins.
        self._standing: dict[str, Message] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(control.socket, selectors.EVENT_READ, self._from_lab)
        self._signals = watch_children()
        self._selector.register(self._signals, selectors.EVENT_READ, self._from_kernel)
        self._open = True

    def serve(self) -> None:
        """Serve until the lab closes the channel; the children end with their parent."""
        due = time.monotonic()
        while self._open:
            for key, _ in self._selector.select(_LOOK):
                self._turn += 1
                self._cell[0] = self._turn
                key.data()
            self._cell[0] = 0
            if time.monotonic() >= due:
                self._look_at_progress()
                due = time.monotonic() + _LOOK

    def _from_lab(self) -> None:
        orders = self._control.receive()
        if orders is None:
            self._open = False
        for order in orders or ():
            self._handle(order)

    # --- orders ---------------------------------------------------------------

    def _handle(self, order: Message) -> None:
        match order["op"]:
            case "start":
                self._start([AgentPlacement.from_json(place) for place in order["agents"]])
            case "restart":
                self._restart([AgentPlacement.from_json(place) for place in order["agents"]])
            case "links":
                self._change_links(order)
            case "follow":
                self._follow(order)
            case "pin":
                self._standing["pin"] = order
                self._query(order, {"event": "pinned", "count": 0})
            case "enable":
                self._prompt = True
                self._standing[f"enable {order['protocol']}"] = order
                self._query(order, {"event": "enabled", "count": 0})
            case "initiate":
                self._broadcast(order)
            case "watch":
                self._watch_carriers(order)
            case "stats" | "buffers" as what:
                self._query(order, {"event": what, "agents": {}})
            case "load_balance":
                self._load_balance = order["value"]
                self._broadcast(order)

    def _change_links(self, order: Message) -> None:
        """Publish the link state."""
        self._links.write(LinkState(frozenset(order["down"])), order.get("waiting", ()))
        self._factory.invalidate_all()
        self._follow({"op": "follow", "serial": order["serial"], "ordered": "waiting" in order})

    def _watch_carriers(self, order: Message) -> None:
        """Have the agents that were started late in this respect hear of their carriers from now on."""
        late, self._late = self._late, []
        for watch in late:
            if (lost := watch.begin()) and watch.pid in self._children:
                message = {"op": "lost", "node": watch.node, "ports": lost}
                self._broadcast(message, {watch.pid})
        others = {child.pid for child in self._children.values() if child.supervises}
        self._query(order, {"event": "watching", "count": len(late)}, others)

    def _follow(self, order: Message) -> None:
        """Wake agents only if they have something to do but relay packets by the link state; in an ordered
        change also those that may be relaying packets by the state of before."""
        asked = set(self._children)
        if not self._prompt:
            asked = self._behind() if order["ordered"] else set()
        others = (len(child.nodes) for pid, child in self._children.items() if pid not in asked)
        self._query(order, {"event": "links-applied", "count": sum(others)}, asked)

    def _behind(self) -> set[int]:
        """The children that may act by the link state of before: in the turn that they were in a moment ago.
        A child that has begun another turn since, or waits, reads the state before it does anything."""
        turns = {child.pid: child.cell[progress.TURN] for child in self._children.values()}
        behind = {pid for pid, child in self._children.items() if turns[pid] and not child.silent}
        until = time.monotonic() + _GRACE
        while behind and time.monotonic() < until:
            behind = {pid for pid in behind if self._children[pid].cell[progress.TURN] == turns[pid]}
        return behind | {child.pid for child in self._children.values() if child.supervises}

    def _broadcast(self, order: Message, asked: Collection[int] | None = None) -> None:
        for child in self._children.values():
            if asked is not None and child.pid not in asked:
                continue
            if child.silent:  # its channel would fill up, and hold the others up
                self._keep(child, order)
                continue
            with contextlib.suppress(OSError):  # it has ended, and is reaped when its channel closes
                child.channel.send(order)

    @staticmethod
    def _keep(child: ChildProcess, order: Message) -> None:
        """Keep an order for a stopped child; of orders that replace each other, only the last."""
        if order["op"] in ("follow", "pin", "load_balance"):
            child.missed = [other for other in child.missed if other["op"] != order["op"]]
        if order["op"] not in ("stats", "buffers"):
            child.missed.append(order)

    def _start(self, places: Sequence[AgentPlacement]) -> None:
        if shares := _shares(places):
            self._starts.append({self._fork_supervisor(share) for share in shares})
        else:
            self.start_local(places)

    def _fork_supervisor(self, share: Sequence[AgentPlacement]) -> int:
        """Fork a supervisor that starts a share of the agents; returns its process number."""
        ours, theirs = socket.socketpair()
        foreign = ranges_excluding({theirs.fileno(), 0, 1, 2})
        (cell,) = progress.cells(1)
        pid = os.fork() or run_child(foreign, lambda: self._run_supervisor(theirs, share, cell))
        theirs.close()
        nodes = {place.node for place in share}
        self._add_child(ChildProcess(pid, Channel(ours), nodes, cell, supervises=True))
        return pid

    def _run_supervisor(
        self, control: socket.socket, share: Sequence[AgentPlacement], cell: memoryview
    ) -> None:
        """In the forked process: a supervisor with the same state and other children."""
        supervisor = Supervisor(self._factory, Channel(control), self._load_balance, cell)
        supervisor.start_local(share)
        supervisor.serve()

    def _restart(self, places: Sequence[AgentPlacement]) -> None:
        """Start agents again that have ended."""
        for place in places:
            self._generations[place.node] = self._generations.get(place.node, 0) + 1
        self.start_local(places)

    def start_local(self, places: Sequence[AgentPlacement]) -> None:
        """Start agents as children of this process; report each of them, then all."""
        for first in range(0, len(places), FORK_BATCH):
            self._start_batch(places[first : first + FORK_BATCH])
        self._control.send({"event": "ready"})

    def _start_batch(self, places: Sequence[AgentPlacement]) -> None:
        """Prepare agents, then fork them in a tight loop.

        Every page that the parent touches between two forks is a page that the child does not share.
        """
        epoch, links, _ = self._links.read()
        with fresh_proc(Path(f"/run/proc-{os.getpid()}")) as proc:  # each supervisor has another process number
            attempts = [self._prepare(place, links, proc) for place in places]
        prepared = [agent_io for agent_io in attempts if agent_io is not None]
        late = {place.node: place.netns for place in places if place.late}
        per_host = self._factory.alone
        sockets = sum(len(nic.sockets) for agent_io in prepared for nic in agent_io.devices.nics)
        processes = len(prepared) if per_host else worker_count(len(prepared), sockets)
        groups = [prepared[first::processes] for first in range(processes)]
        pairs = [socket.socketpair() for _ in groups]
        cells = progress.cells(processes)
        workers = [
            Worker(Channel(theirs), group, self._links, epoch, cell)
            for (_, theirs), group, cell in zip(pairs, groups, cells, strict=True)
        ]
        gc.freeze()
        shared = self._factory.shared_descriptors | {0, 1, 2}
        foreign = [ranges_excluding(worker.descriptors | shared) for worker in workers]
        pids = [
            os.fork() or run_child(other, worker.run) for worker, other in zip(workers, foreign, strict=True)
        ]
        for pid, (ours, _), worker, cell in zip(pids, pairs, workers, cells, strict=True):
            self._add_child(ChildProcess(pid, Channel(ours), worker.nodes, cell))
            self._late += worker.late_watches(pid, late)
            for node in sorted(worker.nodes):  # their devices are open and keep what arrives
                self._control.send({"event": "ready", "node": node, "pid": pid})
            worker.close()

    def _prepare(self, place: AgentPlacement, links: LinkState, proc: Path) -> AgentIO | None:
        """An agent with its devices; None when it failed."""
        generation = place.generation + self._generations.get(place.node, 0)
        try:
            prepared = self._factory.agent_io(
                place, links, self._load_balance, self._control.send, generation, proc
            )
            prepared.follow(self._standing.values())
            return prepared
        except Exception as error:
            self._control.send(failure_event(place.node, error))
            return None

    def _add_child(self, child: ChildProcess) -> None:
        self._children[child.pid] = child
        self._selector.register(child.channel.socket, selectors.EVENT_READ, lambda: self._on_message(child))

    def _query(self, order: Message, answer: Message, some: Collection[int] | None = None) -> None:
        """Ask all children, or some of them."""
        serial = order["serial"]
        chosen = self._children if some is None else some
        asked = {pid for pid in chosen if not self._children[pid].silent}
        self._pending_queries[serial] = PendingQuery({**answer, "serial": serial}, asked)
        self._broadcast(order, some)
        self._finish(serial)

    # --- events ---------------------------------------------------------------

    def _on_message(self, child: ChildProcess) -> None:
        messages = child.channel.receive()
        if messages is None:
            self._reap(child)
            return
        for message in messages:
            if "serial" in message:
                self._gather(child, message)
            elif message == {"event": "ready"}:
                self._done_starting(child)
            else:
                self._control.send(message)
                if message["event"] == "failed":
                    self._factory.invalidate(message["node"])
                    child.nodes.discard(message["node"])
                    if not child.nodes:  # nothing is left for it to do
                        child.channel.socket.shutdown(socket.SHUT_WR)

    def _gather(self, child: ChildProcess, message: Message) -> None:
        current = self._pending_queries.get(message["serial"])
        if current is None or child.pid not in current.waiting:  # it was stopped meanwhile
            return
        if "agents" in message:
            current.answer["agents"].update(message["agents"])
        else:
            current.answer["count"] += message["count"]
        current.waiting.discard(child.pid)
        self._finish(message["serial"])

    def _done_starting(self, child: ChildProcess) -> None:
        """All agents of a child run, or it has ended; after the last child the start order is complete."""
        for waiting in self._starts:
            waiting.discard(child.pid)
        while self._starts and not self._starts[0]:
            del self._starts[0]
            self._control.send({"event": "ready"})

    def _finish(self, serial: int) -> None:
        if not self._pending_queries[serial].waiting:
            self._control.send(self._pending_queries.pop(serial).answer)

    def _from_kernel(self) -> None:
        """Children were stopped, continue or have ended; those that have ended close their channels."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._signals, _PIPE)
        while (change := change_of_child()) is not None:
            pid, stopped = change
            child = self._children.get(pid)
            if child is not None and child.stopped != stopped:
                before, child.stopped, child.turn = child.silent, stopped, progress.Turn()
                child.cell[progress.STOPPED if stopped else progress.CONTINUED] = progress.milliseconds()
                self._note_silence(child, before)

    def _look_at_progress(self) -> None:
        """Notice which agents hang, and which have gone on after all."""
        now = time.monotonic()
        for child in self._children.values():
            if child.stopped:
                continue
            before, child.hangs = child.silent, child.turn.look(child.cell[0], child.pid, now)
            self._note_silence(child, before)

    def _note_silence(self, child: ChildProcess, before: bool) -> None:
        """A child is silent from now on, or no longer; ``before``: whether it was."""
        if child.silent == before:
            return
        nodes = sorted(child.nodes)
        if child.silent:
            parent = {"parent": child.pid} if child.supervises else {}
            self._control.send({"event": "stopped", "nodes": nodes, "hangs": child.hangs, **parent})
            self._give_up_on(child)
            return
        self._control.send({"event": "continued", "nodes": nodes})
        missed, child.missed = child.missed, []
        with contextlib.suppress(OSError):  # it has ended after all
            for order in missed:
                child.channel.send(order)

    def _give_up_on(self, child: ChildProcess) -> None:
        """Wait for nothing more of a child, and have the kernel forward nothing for its agents."""
        for node in child.nodes:
            self._factory.invalidate(node)
        for serial, current in list(self._pending_queries.items()):
            current.waiting.discard(child.pid)
            self._finish(serial)

    def _reap(self, child: ChildProcess) -> None:
        """A child has ended, which is always a failure: report its agents as failed."""
        self._selector.unregister(child.channel.socket)
        child.channel.close()
        _, status = os.waitpid(child.pid, 0)
        del self._children[child.pid]
        code = os.waitstatus_to_exitcode(status)
        for node in sorted(child.nodes):
            self._control.send({"event": "failed", "node": node, "error": f"its process ended with {code}"})
        self._give_up_on(child)
        self._done_starting(child)


def _shares(places: Sequence[AgentPlacement]) -> list[Sequence[AgentPlacement]]:
    """The agents of each second-level supervisor; none where one process is as fast."""
    supervisors = supervisor_count(len(places))
    return [places[first::supervisors] for first in range(supervisors)] if supervisors > 1 else []
