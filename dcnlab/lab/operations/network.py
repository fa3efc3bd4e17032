"""Nodes, links, tables and paths of a lab."""

from __future__ import annotations

from typing import Any

from dcnlab.lab.measurement.counters import Counters, CountersResult
from dcnlab.lab.operations.answers import (
    FlowEntries,
    LabInfo,
    LinkChange,
    NodeInfo,
    PathStep,
    Queue,
    TableComparison,
)
from dcnlab.lab.operations.asking import Asking
from dcnlab.lab.options.link_shape import ImpairedLink
from dcnlab.lab.sampling import Sampling


class NetworkOperations(Asking):
    """The part of :class:`dcnlab.lab.client.Lab` that shows and changes the network."""

    def info(self) -> LabInfo:
        """Topology, scheme, counts, datapath, links that are down, processes that have ended."""
        return LabInfo.from_json(self.ask("info"))

    def nodes(self, matching: str = "") -> list[NodeInfo]:
        """Name, kind, label and address of every node, or of those that ``h*`` or ``h0,s1`` names."""
        words: dict[str, Any] = {"matching": matching} if matching else {}
        return [NodeInfo.from_json(one) for one in self.ask("nodes", **words)]

    # --- links ----------------------------------------------------------------

    def fail(self, *names: str) -> LinkChange:
        """Cut the link between two nodes, or all links of one; returns when the lab has converged.

        ``fail("s0", "s1", "2")`` cuts the second of several links between two nodes, ``fail("s0:3")`` the one
        at port 3 of s0.
        """
        return LinkChange.from_json(self.ask("fail", kind=_kind(names), names=list(names)))

    def restore(self, *names: str) -> LinkChange:
        """Undo :meth:`fail`."""
        return LinkChange.from_json(self.ask("restore", kind=_kind(names), names=list(names)))

    def impair(self, *names: str, clear: bool = False, **values: str) -> list[ImpairedLink]:
        """Impair the link between two nodes, all links of one, or without names all links; as they are then.

        ``values`` are ``delay="5ms"``, ``jitter``, ``loss="1%"``, ``rate="50Mbit"``, ``duplicate``,
        ``reorder`` and ``corrupt``.  Those not given stay; "none" ends one; ``clear`` returns to the values of
        the launch.  Names may be patterns: ``lab.impair("h*", "s4", loss="1%")``.  UsageError for what this
        kernel cannot impose.
        """
        kind = _kind(names) if names else "all"
        found = self.ask("impair", kind=kind, names=list(names), values=values, clear=clear)
        return [ImpairedLink.from_json(one) for one in found["links"]]

    def impairments(self) -> list[ImpairedLink]:
        """The links that have impairments now."""
        return [ImpairedLink.from_json(one) for one in self.ask("impair")["links"]]

    def queues(self) -> list[Queue]:
        """What waits at each port that has a queue: those of links with a rate, delay or loss."""
        return [Queue.from_json(one) for one in self.ask("queues")]

    def sample(self, every: float = 0.1) -> Sampling:
        """Read the counters of all links every so many seconds, while a ``with`` block runs.

        ``frame()`` of what this returns is a pandas frame of bytes and rates over time.
        """
        return Sampling(self._counters, every)

    def _counters(self) -> CountersResult:
        wanted = Counters()
        return CountersResult.from_json(self.ask("measure", name=wanted.name, arguments=wanted.to_json()))

    # --- tables and paths -------------------------------------------------------

    def tables(self, node: str) -> TableComparison:
        """The predicted and the installed entries of a node."""
        return TableComparison.from_json(self.ask("tables", node=node))

    def flows(self, switch: str) -> FlowEntries:
        """The entries of a switch with their counters, of any controller."""
        return FlowEntries.from_json(self.ask("flows", node=switch))

    def explain(self, a: str, b: str, follow: str = "heaviest") -> list[PathStep]:
        """The path in words, node by node; among branches ``follow`` is "heaviest" or "first"."""
        return [PathStep.from_json(one) for one in self.ask("explain", a=a, b=b, follow=follow)]


def _kind(names: tuple[str, ...]) -> str:
    """Whether names are those of a link, by its ends or by a port such as ``s0:3``, or a node's."""
    _, colon, port = names[0].rpartition(":")
    return "link" if len(names) > 1 or (colon and port.isdecimal()) else "node"
