"""Waiting until a lab has converged, and what of it works then: read from the kernel, not from what the lab
believes.

Each machine of a lab tells its :class:`Convergence`; what is said of the whole follows from all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dcnlab.lab.control.holders import state_of
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.running.local_machine import LocalMachine
from dcnlab.lab.running.processes import supervised
from dcnlab.lab.running.processes.supervised import Agent, Daemon
from topos.fabric import Fabric

_INTERVAL = 0.02


@dataclass(frozen=True)
class Convergence:
    """One machine of a lab.

    ``waiting``: the process that is to run there and does not, empty if there is none.  ``cut``: the links of
    which an end there is down or has no carrier; ``silent``: those of agents that are silent; ``known``: those
    that count as down there.  ``dead``: the nodes that do not forward.  ``unsettled``: why tables may not
    follow.  ``flooding``: whether agents tell each other of failures.
    """

    waiting: str
    cut: frozenset[int]
    silent: frozenset[int]
    known: frozenset[int]
    unsettled: str
    dead: frozenset[int]
    flooding: bool


def condition(lab: LocalMachine) -> Convergence:
    """Return the condition of a lab, or of one machine's part of it."""
    return Convergence(  # in this order: what is noticed meanwhile shows in what is looked at later
        waiting=lab.supervision.unsettled(),
        cut=cut_links(lab),
        silent=lab.link_state.silent_links().down,
        known=lab.link_state.state().down,
        unsettled=lab.link_state.unsettled(),
        dead=dead_nodes(lab),
        flooding=lab.config.link_state == "agents",
    )


def cut_links(lab: LocalMachine) -> frozenset[int]:
    """The links of which an end on this machine is down or has no carrier."""
    ends = [(link.index, end) for link in lab.fabric.links() for end in lab.running.local_ends(link).values()]
    carriers = netns.carriers(end for _, end in ends)
    return frozenset(link for (link, _), up in zip(ends, carriers, strict=True) if not up)


def dead_nodes(lab: LocalMachine) -> frozenset[int]:
    """The servers whose agents do not run, and the switches of which no process forwards."""
    fabric, dead = lab.fabric, set()
    for part in lab.supervision.parts:
        if isinstance(part, Agent) and not _runs(part):
            dead.add(part.node)
        elif isinstance(part, Daemon) and lab.running.datapath != "kernel" and not _runs(part):
            dead.update(map(fabric.index, part.nodes))
    return frozenset(dead)


@dataclass(frozen=True)
class Whole:
    """All machines of a lab that answer; ``absent`` are the nodes of the others."""

    fabric: Fabric
    machines: Sequence[Convergence]
    absent: frozenset[int] = frozenset()

    def missing(self) -> str:
        """What keeps the lab from having converged; empty if nothing does."""
        if waiting := next((one.waiting for one in self.machines if one.waiting), ""):
            return f"{waiting} does not run again"
        down = self._cut().union(*(one.silent for one in self.machines))
        if wrong := frozenset[int]().union(*(one.known ^ down for one in self.machines)):
            return "the lab is wrong about " + ", ".join(map(self._name, sorted(wrong)[:4]))
        return next((one.unsettled for one in self.machines if one.unsettled), "")

    @property
    def known(self) -> frozenset[int]:
        """The links that count as down."""
        return frozenset[int]().union(*(one.known for one in self.machines))

    def connected(self) -> Iterator[frozenset[int]]:
        """The pieces into which the links and nodes that work fall: the servers of each."""
        import networkx as nx  # the session starts without it

        fabric, cut = self.fabric, self._cut()
        graph = nx.Graph()
        graph.add_nodes_from(range(fabric.size))
        graph.add_edges_from((link.a.node, link.b.node) for link in fabric.links() if link.index not in cut)
        graph.remove_nodes_from(self.absent.union(*(one.dead for one in self.machines)))
        for piece in nx.connected_components(graph):
            yield frozenset(node for node in piece if fabric.is_server(node))

    @property
    def flooding(self) -> bool:
        """Whether agents tell each other of failures, and nobody knows when all know."""
        return any(one.flooding for one in self.machines)

    def _cut(self) -> frozenset[int]:
        """The links that carry nothing: an end is down, or on a machine that does not answer."""
        lost = (link.index for link in self.fabric.links() if {link.a.node, link.b.node} & self.absent)
        return frozenset(lost if self.absent else ()).union(*(one.cut for one in self.machines))

    def _name(self, number: int) -> str:
        return "-".join(self.fabric.link_names(number))


def await_convergence(look: Callable[[], Whole], timeout: float) -> Whole:
    """Wait until every process runs that should, and all know which links are down, or ``timeout`` seconds."""
    end = time.monotonic() + timeout
    while (whole := look()).missing() and time.monotonic() < end:
        time.sleep(_INTERVAL)
    return whole


def _runs(part: supervised.SupervisedProcess) -> bool:
    pid = part.pid()
    return pid is not None and not part.stopped and state_of(pid) not in ("", "Z", "T")
