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
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.events.journal import Journal
from dcnlab.lab.events.kinds import Alarm, Configured, LabState, LinkChanged
from dcnlab.lab.machines import cluster, placement, placement_file
from dcnlab.lab.machines.cluster import Worker
from dcnlab.lab.machines.contact import PartGone, PartUnreachable
from dcnlab.lab.machines.placement import Placement
from dcnlab.lab.machines.remote_part import RemotePart
from dcnlab.lab.options import miswiring
from dcnlab.lab.options.config import LabConfig, lab_options
from dcnlab.lab.options.local_part import LocalPart, mtu
from hostagent.control.authentication import KEY_SIZE
from topos.graph import Link, LinkState

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
        #: One change of link state is spread at a time.
        self._spreading = threading.RLock()
        #: The last autoconfiguration, where servers started without addresses, and how many there were.
        self.aacm: dict[str, Any] = {}
        self._epoch = 0
        #: Of the agents' control frames.
        self._key = os.urandom(KEY_SIZE).hex()
        #: Something has changed that is to be spread.
        self._due = threading.Event()
        self._ending = False
        #: The links that the user has cut, and those whose failure is in the journal.
        self._cut: set[int] = set()
        self._reported: frozenset[int] = frozenset()
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
            report("parts")
            self.seconds = self._launch()
            if config.autoconfigure:
                report("addresses")
                self.configure()
        except BaseException:
            self.client.close()
            raise
        self.journal.add(LabState("ready", f"{self.fabric.spec} with {config.scheme}"))
        threading.Thread(target=self._spread_changes, daemon=True).start()
        for part in self.parts:
            self._start_watch(part)

    def _start_watch(self, part: RemotePart) -> None:
        threading.Thread(target=self._watch, args=(part,), daemon=True).start()
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
        scheme = self.scheme.with_failures(LinkState(self.down)) if self.down else self.scheme
        self._epoch += 1
        self.aacm = configuring.configure(sides, scheme, self._epoch)
        self.on_all(lambda part: part.ask("configure", step="note", found=self.aacm))
        self.journal.add(Configured(self.aacm["protocol"], self.aacm["ms"], self.aacm["servers"]))

    def adopt(self, part: RemotePart) -> None:
        """Take a part that was launched again in the place of the one that is lost; returns when the tables
        of all follow.  Links that the user has cut stay cut."""
        with self._spreading:
            if cut := self._ends_at(part, sorted(self._cut)):
                part.ask("change_links", links=cut, up=False)
            self.parts = [part if each.name == part.name else each for each in self.parts]
            self.journal.add(LabState("rejoined", f"{part.name} ({part.worker.address})"))
            self._start_watch(part)  # also where the tables of another part do not follow
            self.spread()

    def end(self) -> None:
        """End all parts; those who follow the events learn it."""
        if self._ending:
            return
        self._ending = True
        self._due.set()
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

    @property
    def down(self) -> frozenset[int]:
        """The links that are down, as seen from any machine."""
        return frozenset().union(*map(self._down_at, self.parts))

    @property
    def cut(self) -> list[int]:
        """The links that the user has cut."""
        return sorted(self._cut)

    def _down_at(self, part: RemotePart) -> frozenset[int]:
        """The links that are down as seen from a machine; all of its nodes while it does not answer."""
        if not part.lost and not part.silent:
            return part.down
        links = self.fabric.links()
        return frozenset(link.index for link in links if {link.a.node, link.b.node} & part.part.nodes)

    def change_links(self, links: Iterable[int], up: bool) -> dict[str, Any]:
        """Take links down or bring them up at all their ends; returns when every part has converged."""
        begun, wanted = time.monotonic(), tuple(links)
        with self._spreading:
            ends = {part: self._ends_at(part, wanted) for part in self.living}
            chosen = [part for part, some in ends.items() if some]
            if not chosen:
                raise LabError("the machines that have these links do not answer")
            (self._cut.difference_update if up else self._cut.update)(wanted)
            found = self.on_all(lambda part: part.ask("change_links", links=ends[part], up=up), chosen)
            self.spread()
        detected = [one["detection_ms"] for one in found if one["detection_ms"] is not None]
        return {
            "links": list(wanted),
            "up": up,
            "silent": sorted({name for one in found for name in one["silent"]}),
            "detection_ms": min(detected) if detected else None,
            "converged_ms": round(1000 * (time.monotonic() - begun), 2),
            "flow_mods": sum(one["flow_mods"] for one in found),
            "switches": sum(one["switches"] for one in found),
            "tables_ms": max(one["tables_ms"] for one in found),
        }

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

    def spread(self) -> None:
        """Ask every part which links are down, and tell it what the others see; returns when tables follow.
        LabError when those of a part do not."""
        with self._spreading:

            def look(part: RemotePart) -> None:
                part.down = frozenset(part.ask("own_links"))

            def tell(part: RemotePart) -> None:
                others = map(self._down_at, (other for other in self.parts if other is not part))
                links, unreachable = sorted(frozenset().union(*others)), self._unreachable_from(part)
                part.ask("elsewhere", links=links, unreachable=unreachable)

            living = self.living
            for part, error in zip(living, self._try_all(look, living), strict=True):
                self._lose(part, error)
            living = self.living
            errors = self._try_all(tell, living)
            for part, error in zip(living, errors, strict=True):
                self._lose(part, error if isinstance(error, PartUnreachable) else None)
            before, self._reported = self._reported, self.down
            for link in sorted(before ^ self._reported):
                ends = self.fabric.link(link)
                names = [self.fabric.name(ends.a.node), self.fabric.name(ends.b.node)]
                self.journal.add(LinkChanged(names, link, link not in self._reported, "a machine"))
        for error in errors:
            if error is not None and not isinstance(error, PartUnreachable):
                raise error

    def _unreachable_from(self, part: RemotePart) -> list[int]:
        """The links of a part to machines that do not answer."""
        absent = {other.worker.address for other in self.parts if other.problem}
        return [link for link, address in part.part.peers.items() if address in absent]

    def _watch(self, part: RemotePart) -> None:
        """Have spread what changes at a part; while its machine does not answer, that its links are down."""

        def on_contact(answers: bool) -> None:
            self._alarm(
                f"{part.name} ({part.worker.address}) {'answers again' if answers else 'does not answer'}"
            )
            self._due.set()

        known = part.down
        while not self._ending:
            try:
                now = part.await_change(known, _LONG_POLL, on_contact)
            except LabError as error:
                self._lose(part, error)
                self._due.set()
                return
            if now != known:
                self._due.set()
            known = now

    def _spread_changes(self) -> None:
        """Spread what is noticed.  Those who watch never wait for it: a round may wait for a machine of which
        they have to notice that it does not answer."""
        while self._due.wait() and not self._ending:
            self._due.clear()
            try:
                self.spread()
            except LabError as error:
                self._alarm(str(error))

    def _lose(self, part: RemotePart, error: Exception | None) -> None:
        """A part that answers with such an error is lost: all links of its nodes are down."""
        if error is None or part.lost or self._ending or (part.silent and not isinstance(error, PartGone)):
            return
        _log.error("%s is lost: %s", part.name, error)
        part.lost = f"{part.name} ({part.worker.address}) is lost"
        self._alarm(part.lost)
        if all(each.lost for each in self.parts):  # nothing runs any more: maybe the scheduler has ended
            threading.Thread(target=self.end).start()

    def _alarm(self, problem: str) -> None:
        _log.warning("%s", problem)
        self.journal.add(Alarm("machines", problem))
