"""A lab on many machines as a whole: its parts, the link state that it spreads, and machines that are lost."""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from dcnlab.lab import naming
from dcnlab.lab.autoconfig import configuring
from dcnlab.lab.autoconfig.remote import RemoteSide
from dcnlab.lab.coordinator.link_state.causes import Observation
from dcnlab.lab.coordinator.link_state.driver import LinkStateDriver
from dcnlab.lab.coordinator.link_state.machine_state import Apply
from dcnlab.lab.coordinator.link_state.state_machine import SetLinks
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.events.journal import Journal
from dcnlab.lab.events.kinds import Alarm, Configured, LabState
from dcnlab.lab.machines import cluster, placement, placement_file
from dcnlab.lab.machines.cluster import Worker
from dcnlab.lab.machines.contact import PartGone, PartUnreachable
from dcnlab.lab.machines.placement import Placement
from dcnlab.lab.machines.remote_part import RemotePart
from dcnlab.lab.options import miswiring
from dcnlab.lab.options.config import LabConfig, lab_options
from dcnlab.lab.options.local_part import LocalPart, mtu
from hostagent.control.authentication import KEY_SIZE
from topos.graph import Link

T = TypeVar("T")

#: UDP ports of labs' tunnels: those that no service is registered for.
_PORTS = range(49152, 60000)
#: Seconds after which a part answers that its links have not changed.
_LONG_POLL = 8.0
#: The longest name of a lab: those of its parts are a little longer.
_LONGEST_NAME = 27
#: Fields of the configuration that the parts have from elsewhere.
_OF_THE_WHOLE = frozenset({"topology", "scheme", "name", "machines", "placement", "multipath", "expose"})

_log = logging.getLogger(__name__)


class WholeLab:
    """The lab; ``report`` is called with the name of each stage of its launch."""

    def __init__(self, config: LabConfig, report: Callable[[str], None]) -> None:
        if len(config.name) > _LONGEST_NAME:
            raise UsageError(f"a lab on several machines has a name of at most {_LONGEST_NAME} letters")
        self.config, self.started = config, time.time()
        self.scheme = config.validate()
        self.fabric = self.scheme.fabric
        self.journal = Journal()
        self.stop = threading.Event()
        #: Held while links change: each caller waits until the lab has converged on its change.
        self._link_lock = threading.Lock()
        #: Held while it is noted whether a machine answers.
        self._contact_lock = threading.Lock()
        #: The last autoconfiguration, where servers started without addresses, and how many there were.
        self.aacm: dict[str, Any] = {}
        self._epoch = 0
        #: Of the agents' control frames.
        self._key = os.urandom(KEY_SIZE).hex()
        self._ending = False
        report("machines")
        self.client = cluster.connect(config.machines)
        try:
            found = cluster.workers(self.client)
            self.placement = self._place(found)
            self.mtu = mtu(min(worker.mtu for worker in found), 6 if ":" in found[0].address else 4)
            port = random.SystemRandom().choice(_PORTS)
            self.parts = [
                RemotePart(self.client, worker, self._part(found, number, port))
                for number, worker in enumerate(found)
                if self.placement.nodes(number)
            ]
            nodes = {part.name: part.part.nodes for part in self.parts}
            self.link_state = LinkStateDriver(self.fabric, self._follow, self.journal, nodes)
            report("parts")
            self.seconds = self._launch()
            if config.autoconfigure:
                report("addresses")
                self.configure()
        except BaseException:
            self.client.close()
            raise
        self.journal.add(LabState("ready", f"{self.fabric.spec} with {config.scheme}"))
        for part in self.parts:
            self._start_watch(part, Observation(frozenset(), frozenset()))
        self.link_state.start()

    def _start_watch(self, part: RemotePart, seen: Observation) -> None:
        self.link_state.report_observed(part.name, seen)
        threading.Thread(target=self._watch, args=(part, seen), daemon=True).start()
        threading.Thread(target=part.connect, daemon=True).start()

    def _place(self, found: Sequence[Worker]) -> Placement:
        machines = tuple(worker.machine for worker in found)
        if self.config.placement:
            placed = placement_file.read(self.config.placement, self.fabric, machines)
        else:
            placed = placement.place(self.fabric, machines, self.config.agents)
        for worker, part in zip(found, placed.parts(self.config.agents), strict=True):
            if not part.fits:
                needed, free = part.memory >> 20, worker.machine.memory >> 20
                text = f"needs about {needed:,} MB of memory and {free:,} MB are free: add machines"
                raise UsageError(f"the part of {worker.machine.name} ({worker.address}) {text}")
            if placed.cut and not worker.root:
                raise UsageError(
                    f"links between machines need root: run the worker at {worker.address} as root"
                )
        return placed

    def _part(self, found: Sequence[Worker], number: int, port: int) -> LocalPart:
        wired = (
            (link.index, self._machines(link)) for link in miswiring.wired(self.fabric, self.config.miswire)
        )
        peers = {
            link: found[b if a == number else a].address
            for link, (a, b) in wired
            if a != b and number in (a, b)
        }
        nodes = frozenset(self.placement.nodes(number))
        machines = tuple(worker.address for worker in found)
        collectors = {server: self.placement.of[server] for server in self._collecting()}
        return LocalPart(
            nodes,
            peers,
            machines[number],
            port,
            self.mtu,
            key=self._key,
            number=number,
            machines=machines,
            collectors=collectors,
        )

    def _collecting(self) -> list[int]:
        """The servers to which switches send what they see."""
        return [self.node(collector.server) for collector in self.config.collectors()]

    def _machines(self, link: Link) -> tuple[int, int]:
        return self.placement.of[link.a.node], self.placement.of[link.b.node]

    def _launch(self) -> dict[str, float]:
        """Launch all parts at once: the longest seconds of each stage."""
        stages = self.on_all(self.launch_part)
        return {stage: max(found.get(stage, 0.0) for found in stages) for stage in stages[0]}

    def launch_part(self, part: RemotePart, again: bool = False) -> dict[str, float]:
        """Launch one part on its machine, maybe ``again``; the seconds of each stage."""
        options = {name: getattr(self.config, name) for name in lab_options() if name not in _OF_THE_WHOLE}
        options["controller"] = self.config.choice().resolved()
        for file in ("controller_ca", "controller_cert", "controller_key"):
            options[file] = str(Path(options[file]).resolve()) if options[file] else ""
        name = f"{self.config.name}-{part.name}"
        part.create(self.config.topology, self.config.scheme, name, self.config.custom, options)
        return part.launch(again)

    def configure(self) -> None:
        """Let all servers configure themselves, by the scheme's protocol; LabError with every error found."""
        sides = self.on_all(lambda part: RemoteSide(part.ask, part.part.nodes, part.ahead()))
        down = self.link_state.state()
        scheme = self.scheme.with_failures(down) if down else self.scheme
        self._epoch += 1
        self.aacm = configuring.configure(sides, scheme, self._epoch)
        self.on_all(lambda part: part.ask("configure", step="note", found=self.aacm))
        self.journal.add(Configured(self.aacm["protocol"], self.aacm["ms"], self.aacm["servers"]))

    def adopt(self, part: RemotePart) -> None:
        """Take a part that was launched again in the place of the one that is lost; returns when the tables
        of all follow.  Links that the user has cut stay cut."""
        with self._link_lock:
            if cut := self._ends_at(part, sorted(self.link_state.cut_links)):
                part.ask("change_links", links=cut, up=False)
            self.parts = [part if each.name == part.name else each for each in self.parts]
            self.journal.add(LabState("rejoined", f"{part.name} ({part.worker.address})"))
            self._start_watch(part, part.observation())  # also where the tables of another part do not follow
            self.link_state.report_contact(part.name, answers=True)
            self.link_state.await_state()

    def end(self) -> None:
        """End all parts; those who follow the events learn it."""
        if self._ending:
            return
        self._ending = True
        self.link_state.stop()
        self.journal.add(LabState("ending"))
        living = self.living
        for part, error in zip(living, self._try_all(RemotePart.stop, living), strict=True):
            if error is not None:
                _log.warning("%s: %s", part.name, error)
        self.client.close()
        self.journal.close()
        self.stop.set()

    # --- parts ------------------------------------------------------------------

    @property
    def living(self) -> list[RemotePart]:
        """The parts whose machines answer."""
        return [part for part in self.parts if not part.lost and not part.silent]

    def part_of(self, node: int) -> RemotePart:
        """The part that runs a node; LabError when its machine does not answer."""
        part = next(part for part in self.parts if node in part.part.nodes)
        if part.problem:
            raise LabError(f"{self.fabric.name(node)}: {part.problem}")
        return part

    def node(self, name: str) -> int:
        """The node of that name; UsageError with one line."""
        return naming.node(self.fabric, name, self.scheme)

    def on_all(self, action: Callable[[RemotePart], T], parts: Sequence[RemotePart] | None = None) -> list[T]:
        """Do something on all living parts at once; the first error is raised when all are done."""
        chosen = self.living if parts is None else parts
        with ThreadPoolExecutor(max(1, len(chosen))) as pool:
            waiting = [pool.submit(action, part) for part in chosen]
        return [future.result() for future in waiting]

    def ask_all(self, op: str, **words: Any) -> list[Any]:
        """The answers of all parts whose machines answer; LabError when none does."""
        parts = self.living

        def ask(part: RemotePart) -> Any:
            try:
                return part.ask(op, **words)
            except PartUnreachable:
                return None

        found = [answer for answer in self.on_all(ask, parts) if answer is not None]
        if not found:
            raise LabError("no machine of this lab answers")
        return found

    def _try_all(
        self, action: Callable[[RemotePart], Any], parts: Sequence[RemotePart]
    ) -> list[Exception | None]:
        """Do something on parts at once; for each its error, or None."""

        def attempt(part: RemotePart) -> Exception | None:
            try:
                action(part)
            except LabError as error:
                return error
            return None

        return self.on_all(attempt, parts)

    # --- link state -------------------------------------------------------------

    def change_links(self, links: Sequence[int], node: int | None = None, *, up: bool) -> dict[str, Any]:
        """Cut links by themselves, or ``node`` with these links, or bring them up again, at all their ends;
        returns when every part has converged."""
        with self._link_lock:
            if not any(self._ends_at(part, links) for part in self.living):
                raise LabError("the machines that have these links do not answer")
            begun = time.monotonic()
            change = (self.link_state.restore if up else self.link_state.cut)(links, node)
            found = self._set_links(change)
            self.link_state.wait_for(frozenset(links), up)
        detected = [one["detection_ms"] for one in found if one["detection_ms"] is not None]
        return {
            "links": list(links),
            "up": up,
            "silent": [self.fabric.name(server) for server in self.link_state.silent],
            "still_down": self.link_state.still_down(links) if up else [],
            "detection_ms": min(detected) if detected else None,
            "converged_ms": round(1000 * (time.monotonic() - begun), 2),
            "flow_mods": sum(one["flow_mods"] for one in found),
            "switches": sum(one["switches"] for one in found),
            "tables_ms": max((one["tables_ms"] for one in found), default=0.0),
        }

    def _set_links(self, change: SetLinks) -> list[dict[str, Any]]:
        """Have links taken down at all their ends, or brought up: what each part that has some answers."""
        wanted = sorted(change.links)
        ends = {part: some for part in self.living if (some := self._ends_at(part, wanted))}

        def ask(part: RemotePart) -> dict[str, Any]:
            found: dict[str, Any] = part.ask("change_links", links=ends[part], up=change.up)
            self.link_state.report_observed(part.name, Observation.from_json(found["observed"]))
            return found

        return self.on_all(ask, list(ends))

    def _ends_at(self, part: RemotePart, links: Iterable[int]) -> list[int]:
        """The links that can be cut at a part: a plain host's at its switch, as on one machine."""
        return [
            number
            for number in links
            for link in (self.fabric.link(number),)
            if any(
                node in part.part.nodes and not self.fabric.is_end_host(node)
                for node in (link.a.node, link.b.node)
            )
        ]

    def _follow(self, update: Apply) -> None:
        """Tell a part which links are down as others see it; returns when its tables follow.  LabError when
        they do not."""
        part = next(part for part in self.parts if part.name == update.machine)
        absent = {other.worker.address for other in self.parts if other.name in update.unreachable}
        unreachable = [link for link, address in part.part.peers.items() if address in absent]
        try:
            part.ask("elsewhere", links=sorted(update.elsewhere), unreachable=unreachable)
        except PartUnreachable as error:
            self._lose(part, error)
            self._note_silence(part)
            raise

    def _note_silence(self, part: RemotePart) -> None:
        """Nobody waits for a machine that does not answer."""
        with self._contact_lock:
            if part.silent:
                self.link_state.report_contact(part.name, answers=False)

    def _watch(self, part: RemotePart, known: Observation) -> None:
        """Note what changes at a part; while its machine does not answer, that its links are down."""

        def on_contact(answers: bool) -> None:
            self._alarm(
                f"{part.name} ({part.worker.address}) {'answers again' if answers else 'does not answer'}"
            )
            if answers:  # in a thread: this one goes on to notice that it does not
                threading.Thread(target=self._regain, args=(part,), daemon=True).start()
            else:
                self._note_silence(part)

        while not self._ending:
            try:
                known = part.await_change(known, _LONG_POLL, on_contact)
            except LabError as error:
                self._lose(part, error)
                return
            self.link_state.report_observed(part.name, known)

    def _regain(self, part: RemotePart) -> None:
        """A machine answers again: note what it observes first, so that nothing comes up that is down there."""
        try:
            seen = part.observation()
        except LabError:
            return  # not any more; who watches it notices
        with self._contact_lock:
            if not part.problem:
                self.link_state.report_observed(part.name, seen)
                self.link_state.report_contact(part.name, answers=True)

    def _lose(self, part: RemotePart, error: Exception | None) -> None:
        """A part that answers with such an error is lost: all links of its nodes are down."""
        if error is None or part.lost or self._ending or (part.silent and not isinstance(error, PartGone)):
            return
        _log.error("%s is lost: %s", part.name, error)
        with self._contact_lock:
            part.lost = f"{part.name} ({part.worker.address}) is lost"
            self.link_state.report_contact(part.name, answers=False)
        self._alarm(part.lost)
        if all(each.lost for each in self.parts):  # nothing runs any more: maybe the scheduler has ended
            threading.Thread(target=self.end).start()

    def _alarm(self, problem: str) -> None:
        _log.warning("%s", problem)
        self.journal.add(Alarm("machines", problem))
