"""Which machine runs which nodes: as few links as possible between machines, each loaded by its size.

A node costs memory and processor time (:mod:`dcnlab.lab.emulation.capacity`).  A machine's share of the whole
is that of its cores and memory.  METIS cuts the network into parts of these shares (Karypis and Kumar, 1998).
Every link is expected to carry as much traffic as any other, so the fewest links cut are the least traffic
between machines.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pymetis
from numpy.typing import NDArray

from dcnlab.lab.emulation import capacity
from dcnlab.lab.errors import UsageError
from hostagent.options import Mode
from topos.fabric import Fabric
from topos.graph import Link

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: How much more than its share a machine may get so that fewer links are cut.
SLACK = 0.1
#: METIS starts from random states; the best of so many is taken.
_SEEDS = 8
#: METIS wants whole numbers.
_WEIGHT_UNITS = 1_000_000


@dataclass(frozen=True)
class Machine:
    """A machine that can run a part of a lab; ``memory`` is what is free, in bytes."""

    name: str
    cores: int
    memory: int


@dataclass(frozen=True, eq=False)
class Placement:
    """Which machine runs each node: ``of[node]`` is its index in ``machines``."""

    fabric: Fabric
    machines: tuple[Machine, ...]
    of: tuple[int, ...]

    def nodes(self, machine: int) -> tuple[int, ...]:
        """The nodes that a machine runs, in order."""
        return tuple(np.flatnonzero(self._of == machine).tolist())

    @cached_property
    def _of(self) -> Ints:
        return np.asarray(self.of, dtype=np.int64)

    @cached_property
    def cut(self) -> tuple[int, ...]:
        """The numbers of the links whose ends are on different machines."""
        ends = self._of[self.fabric.link_ends[:, [0, 2]]]
        return tuple(np.flatnonzero(ends[:, 0] != ends[:, 1]).tolist())

    def external(self, machine: int) -> Iterator[Link]:
        """The links from a machine to others."""
        for number in self.cut:
            link = self.fabric.link(number)
            if machine in (self.of[link.a.node], self.of[link.b.node]):
                yield link

    def parts(self, agents: Mode = "auto") -> list[Part]:
        """What each machine holds."""
        return [self._part(number, agents) for number in range(len(self.machines))]

    def _part(self, number: int, agents: Mode) -> Part:
        nodes = self.nodes(number)
        servers = sum(map(self.fabric.is_server, nodes))
        ends = self._of[self.fabric.link_ends[:, [0, 2]]] == number
        inside, outside = int(ends.all(axis=1).sum()), int((ends[:, 0] != ends[:, 1]).sum())
        memory = capacity.memory_needed(self.fabric, agents, nodes)
        seconds = capacity.processor_seconds(self.fabric, agents, nodes)
        machine = self.machines[number]
        return Part(machine, servers, len(nodes) - servers, inside, outside, memory, seconds)


@dataclass(frozen=True)
class Part:
    """What one machine holds: servers, switches, links between them, links to other machines; bytes of memory
    and seconds of processor time for a launch, both estimated."""

    machine: Machine
    servers: int
    switches: int
    links: int
    external_links: int
    memory: int
    processor_s: float

    @property
    def fits(self) -> bool:
        """Whether the machine has the memory."""
        return self.memory <= self.machine.memory


def place(fabric: Fabric, machines: Sequence[Machine], agents: Mode = "auto") -> Placement:
    """The placement with the fewest links between machines, among those that load every machine by its size;
    by its memory alone where that is not enough otherwise.

    UsageError when there are more machines than nodes.
    """
    machines = tuple(machines)
    if len(machines) > fabric.size:
        raise UsageError(f"{fabric.spec} has {fabric.size} nodes, fewer than the {len(machines)} machines")
    weights, memory = node_weights(fabric, agents), np.array([float(machine.memory) for machine in machines])
    by_size = Placement(fabric, machines, _best(fabric, weights, machine_shares(machines)))
    if all(part.fits for part in by_size.parts(agents)):
        return by_size
    return Placement(fabric, machines, _best(fabric, weights, memory / memory.sum()))


def _best(fabric: Fabric, weights: Floats, shares: Floats) -> tuple[int, ...]:
    """The machine of each node, for these shares of the machines."""
    candidates = [in_blocks(fabric, weights, shares), *_by_metis(fabric, weights, shares)]
    best = min(candidates, key=lambda of: (_overload(of, weights, shares), _links_cut(fabric, of)))
    return tuple(best.tolist())


def node_weights(fabric: Fabric, agents: Mode = "auto") -> Floats:
    """What each node costs, as its share of the whole: the mean of memory and processor time."""
    memory, seconds = capacity.node_costs(fabric, agents)
    weights: Floats = (memory / memory.sum() + seconds / seconds.sum()) / 2
    return weights


def machine_shares(machines: Sequence[Machine]) -> Floats:
    """The share that each machine should run: the mean of its shares of all cores and of all memory."""
    cores = np.array([machine.cores for machine in machines], dtype=float)
    memory = np.array([machine.memory for machine in machines], dtype=float)
    shares: Floats = (cores / cores.sum() + memory / memory.sum()) / 2
    return shares


def in_blocks(fabric: Fabric, weights: Floats, shares: Floats) -> Ints:
    """The nodes in the order of a breadth-first search, in blocks of the machines' shares."""
    order = _search_order(fabric)
    middle = np.cumsum(weights[order]) - weights[order] / 2
    of = np.empty(fabric.size, dtype=np.int64)
    of[order] = np.minimum(np.searchsorted(np.cumsum(shares), middle, side="right"), len(shares) - 1)
    return of


def _search_order(fabric: Fabric) -> Ints:
    """The nodes in the order of a breadth-first search, which begins again in each component.  The import of
    scipy, which has one, would take longer than all else here."""
    graph = _graph(fabric)
    first, neighbours = graph.first.tolist(), graph.neighbours.tolist()
    order: dict[int, None] = {}
    for start in range(fabric.size):
        waiting = deque([] if start in order else [start])
        order.setdefault(start)
        while waiting:
            node = waiting.popleft()
            for other in neighbours[first[node] : first[node + 1]]:
                if other not in order:
                    order[other] = None
                    waiting.append(other)
    return np.array(list(order), dtype=np.int64)


def _by_metis(fabric: Fabric, weights: Floats, shares: Floats) -> Iterator[Ints]:
    """What METIS finds from several random states."""
    if len(shares) == 1:
        return
    graph = _graph(fabric)
    units = np.maximum(1, np.round(weights * _WEIGHT_UNITS)).astype(int).tolist()
    for seed in range(_SEEDS):
        _, parts = pymetis.part_graph(
            len(shares), pymetis.CSRAdjacency(graph.first.tolist(), graph.neighbours.tolist()),
            eweights=graph.links.tolist(), vweights=units, tpwgts=shares.tolist(),
            options=pymetis.Options(seed=seed), recursive=bool(seed % 2),
        )  # fmt: skip
        yield np.asarray(parts, dtype=np.int64)


class _Graph(NamedTuple):
    """Nodes that links join: the ``neighbours`` of a node, ascending, begin at its ``first``, and so do the
    numbers of ``links`` to each of them."""

    first: Ints
    neighbours: Ints
    links: Ints


def _graph(fabric: Fabric) -> _Graph:
    a, b = fabric.link_ends[:, 0].astype(np.int64), fabric.link_ends[:, 2].astype(np.int64)
    ends, links = np.unique(np.concatenate([a * fabric.size + b, b * fabric.size + a]), return_counts=True)
    first = np.searchsorted(ends, np.arange(fabric.size + 1) * fabric.size)
    return _Graph(first, ends % fabric.size, links)


def _links_cut(fabric: Fabric, of: Ints) -> int:
    ends = of[fabric.link_ends[:, [0, 2]]]
    return int((ends[:, 0] != ends[:, 1]).sum())


def _overload(of: Ints, weights: Floats, shares: Floats) -> float:
    """Return how far the fullest machine is above its share, slack and one node, in shares; 0 if none is."""
    loads = np.bincount(of, weights, len(shares))
    return float(max(0.0, ((loads - weights.max()) / shares).max() - 1 - SLACK))
