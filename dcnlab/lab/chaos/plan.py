"""The steps of a chaos run: drawn from a seed, without a lab.

A step is a list of faults that happen at once.  The same seed and targets give the same steps, and a longer
plan begins with the shorter one.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import networkx as nx

from dcnlab.lab.contract.values import JsonObject

#: Faults of one step at most.
MOST_AT_ONCE = 4
#: The share of links that are cut at the same time, at most.
_MOST_CUT = 0.25
#: Agents that are paused at the same time, at most.
_MOST_PAUSED = 2
_RATES = ("2Mbit", "10Mbit", "50Mbit")


@dataclass(frozen=True)
class Targets:
    """What may fail: links as ``h0 s4``, nodes whose links may all be cut, processes that may be killed, agents
    that may be paused, and whether the controller may be; which of the nodes are servers.

    ``together``: what fails must leave all other servers joined by paths, as where each server knows only the
    failures near it.
    """

    links: tuple[str, ...]
    nodes: tuple[str, ...] = ()
    processes: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    controller: bool = False
    together: bool = False
    servers: tuple[str, ...] = ()
    #: Links whose interface in a host a guest may spoil: the link, the host, the interface.
    guests: tuple[tuple[str, str, str], ...] = ()
    #: The commands with which it does, where ``{0}`` stands for the interface.
    spoils: tuple[str, ...] = ()
    #: What else guests do, as hosts and commands: these hosts are repaired at once.
    deeds: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Fault:
    """One event of a scenario: a verb, what it is done to, and with ``impair`` the new values."""

    verb: str
    target: str
    to: tuple[tuple[str, str], ...] = ()
    #: What it harms until another fault repairs that, and what it repairs.
    harms: str = field(default="", compare=False)
    repairs: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        values = "".join(f" {name} {value}" for name, value in self.to)
        return f"{self.verb} {self.target}{values}"

    def event(self, at: float = 0.0, name: str = "") -> JsonObject:
        """Return the fault as an entry of a scenario's ``events``."""
        entry: JsonObject = {"at": f"{at:g}s", self.verb: self.target}
        if self.to:
            entry["to"] = dict(self.to)
        return entry | ({"name": name} if name else {})


Step = tuple[Fault, ...]


def steps(targets: Targets, seed: int) -> Iterator[Step]:
    """Steps without end."""
    draw = _Draw(targets, random.Random(seed))
    return itertools.filterfalse(lambda step: not step, iter(draw.step, None))


#: A fault with its place in a plan: the numbers of its step and in that.
Placed = tuple[int, int, Fault]
Unit = tuple[Placed, ...]


def units(plan: Iterable[Step]) -> list[Unit]:
    """The faults of a plan, each together with what repairs its harm.

    Any of these without the others are a plan as well.  A harm that nobody repairs would be another plan: more
    would be cut at once than :class:`Targets` allow, or a host would stay without its addresses.
    """
    every: list[list[Placed]] = []
    harmed: dict[str, list[Placed]] = {}
    for number, step in enumerate(plan):
        for place, fault in enumerate(step):
            before = [harmed[key] for key in (fault.harms, *fault.repairs) if key in harmed]
            unit = [(number, place, fault)]
            for other in {id(one): one for one in before}.values():
                unit += other
                every.remove(other)
            every.append(unit)
            harmed = {
                key: unit if any(one is other for other in before) else one
                for key, one in harmed.items()
                if key not in fault.repairs
            }
            if fault.harms:
                harmed[fault.harms] = unit
    return sorted(tuple(sorted(unit, key=_place)) for unit in every)


def _place(placed: Placed) -> tuple[int, int]:
    return placed[:2]


def joined(units: Iterable[Unit]) -> list[Step]:
    """The steps of these faults, without those that have become empty."""
    placed = sorted((one for unit in units for one in unit), key=_place)
    grouped = itertools.groupby(placed, lambda one: one[0])
    return [tuple(fault for _, _, fault in some) for _, some in grouped]


@dataclass
class _Draw:
    """Draws steps, and knows what earlier ones have left cut, slow, paused or killed."""

    targets: Targets
    random: random.Random
    #: Links and nodes that are cut, as they are restored: ``link h0 s4``, ``node s4``.
    _cut: list[str] = field(default_factory=list)
    _slow: list[str] = field(default_factory=list)
    _paused: list[str] = field(default_factory=list)
    #: Killed once: the next time it is restarted by hand, or its supervision would wait longer and longer.
    _killed: list[str] = field(default_factory=list)

    def step(self) -> Step:
        """The next step; empty where nothing that was drawn is possible."""
        kinds: dict[Callable[[], Step], int] = {
            self._cut_link: 5, self._restore: 4, self._cut_node: 1, self._kill: 3,
            self._pause: 1, self._continue: 1, self._slow_down: 1, self._speed_up: 1,
            **({self._vandalise_link: 4} if self.targets.guests else {}),
            **({self._vandalise_host: 2} if self.targets.deeds else {}),
        }  # fmt: skip
        count = self.random.randint(1, MOST_AT_ONCE)
        chosen = self.random.choices(list(kinds), list(kinds.values()), k=count)
        faults = tuple(fault for kind in chosen for fault in kind())
        if self.targets.controller and self.random.random() < 0.1:
            # It is stopped while the other faults happen, as one that is very busy.
            faults = tuple(fault for fault in faults if fault.target != "controller")
            paused = Fault("pause", "controller", harms="controller")
            return (paused, *faults, Fault("restart", "controller", repairs=("controller",)))
        return faults

    def _cut_link(self) -> Step:
        down = self._down()
        free = [link for link in self.targets.links if link not in down]
        return self._fail(f"link {self.random.choice(free)}") if free else ()

    def _cut_node(self) -> Step:
        if not self.targets.nodes:
            return ()
        target = f"node {self.random.choice(self.targets.nodes)}"
        return self._fail(target) if target not in self._cut else ()

    def _fail(self, target: str) -> Step:
        """Cut a link or a node, unless it changes nothing or is too much."""
        down, before = self._down(target), self._down()
        most = max(1, _MOST_CUT * len(self.targets.links))
        if len(down) == len(before) or len(down) > most or self._parts(down, self._paused):
            return ()
        self._cut.append(target)
        return (Fault("fail", target, harms=target),)

    def _down(self, *more: str) -> list[str]:
        """The links that are cut, by themselves or with a node of theirs, if ``more`` are cut too."""
        cut = {*self._cut, *more}
        return [
            link
            for link in self.targets.links
            if f"link {link}" in cut or any(f"node {node}" in cut for node in link.split())
        ]

    def _restore(self) -> Step:
        if not self._cut:
            return ()
        target = self.random.choice(self._cut)
        self._cut.remove(target)
        return (Fault("restore", target, repairs=(target,)),)

    def _parts(self, cut: list[str], paused: list[str]) -> bool:
        """Whether servers would be cut off that must not be."""
        if not self.targets.together:
            return False
        links = [link.split() for link in self.targets.links if link not in cut]
        return any(_pieces(self.targets, links, without) > 1 for without in ((), paused))

    def _kill(self) -> Step:
        running = [name for name in self.targets.processes if name not in self._paused]
        if not running:
            return ()
        process = self.random.choice(running)
        is_switch = process in self.targets.nodes and process not in self.targets.servers
        kind = "switch" if is_switch else process  # they share a process
        if kind in self._killed:
            self._killed.remove(kind)
            return (Fault("restart", process, repairs=(f"killed {kind}",)),)
        self._killed.append(kind)
        repairs: tuple[str, ...] = ()
        if process == "agents":  # they all start again
            repairs = tuple(f"paused {agent}" for agent in self._paused)
            self._paused.clear()
        return (Fault("kill", process, harms=f"killed {kind}", repairs=repairs),)

    def _pause(self) -> Step:
        running = [name for name in self.targets.agents if name not in self._paused]
        if not running or len(self._paused) >= _MOST_PAUSED:
            return ()
        agent = self.random.choice(running)
        if self._parts(self._down(), [*self._paused, agent]):
            return ()
        self._paused.append(agent)
        return (Fault("pause", agent, harms=f"paused {agent}"),)

    def _continue(self) -> Step:
        if not self._paused:
            return ()
        agent = self.random.choice(self._paused)
        self._paused.remove(agent)
        return (Fault("restart", agent, repairs=(f"paused {agent}",)),)

    def _vandalise_link(self) -> Step:
        """A guest spoils an interface of its host: the link is down until it is restored."""
        down = self._down()
        free = [one for one in self.targets.guests if one[0] not in down]
        if not free:
            return ()
        link, host, interface = self.random.choice(free)
        if not self._fail(f"link {link}"):
            return ()
        deed = self.random.choice(self.targets.spoils)
        return (Fault("exec", f"{host} {deed.format(interface)}", harms=f"link {link}"),)

    def _vandalise_host(self) -> Step:
        """A guest spoils its host's addresses or routes, which no link shows: the host is repaired at once."""
        host, deed = self.random.choice(self.targets.deeds)
        if host in self._paused:
            return ()
        spoiled = Fault("exec", f"{host} {deed}", harms=f"host {host}")
        return (spoiled, Fault("restart", host, repairs=(f"host {host}",)))

    def _slow_down(self) -> Step:
        link, rate = self.random.choice(self.targets.links), self.random.choice(_RATES)
        if link not in self._slow:
            self._slow.append(link)
        return (Fault("impair", f"link {link}", (("rate", rate),), harms=f"slow {link}"),)

    def _speed_up(self) -> Step:
        if not self._slow:
            return ()
        link = self.random.choice(self._slow)
        self._slow.remove(link)
        return (Fault("impair", f"link {link}", repairs=(f"slow {link}",)),)


def _pieces(targets: Targets, links: Iterable[list[str]], without: Iterable[str]) -> int:
    """The pieces with servers into which the links and nodes fall, without some nodes."""
    graph = nx.Graph(links)
    graph.add_nodes_from(targets.nodes)
    graph.remove_nodes_from(without)
    return sum(not piece.isdisjoint(targets.servers) for piece in nx.connected_components(graph))
