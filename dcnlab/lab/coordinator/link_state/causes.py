"""Why a link is down, and why the user wants it down.

A *cause* is observed: a link is down while it has one.  A *cut* is what the user asked for: it takes interfaces
down, and becomes a cause when their carrier is noticed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from topos.fabric import Fabric
from topos.graph import Port


@dataclass(frozen=True)
class Carrier:
    """An end of the link was seen without carrier."""

    word: ClassVar[str] = "carrier"
    port: Port

    def reporter(self, fabric: Fabric) -> str:
        """Who noticed it, as the journal says."""
        return f"{fabric.name(self.port.node)}:{self.port.number}"

    def because(self, fabric: Fabric) -> str:
        """Say it in words."""
        return f"{self.reporter(fabric)} has no carrier"


@dataclass(frozen=True)
class SilentAgent:
    """The agent of a server at the link has ended or is stopped: it forwards nothing."""

    word: ClassVar[str] = "silent agent"
    server: int

    def reporter(self, fabric: Fabric) -> str:
        """Whose agent it is."""
        return fabric.name(self.server)

    def because(self, fabric: Fabric) -> str:
        """Say it in words."""
        return f"the agent of {self.reporter(fabric)} does not answer"


@dataclass(frozen=True)
class Unreachable:
    """The machine that runs a node at the link does not answer, or on that machine the coordinator."""

    word: ClassVar[str] = "unreachable machine"
    machine: str

    def reporter(self, fabric: Fabric) -> str:
        """The machine."""
        return self.machine

    def because(self, fabric: Fabric) -> str:
        """Say it in words."""
        return f"{self.machine} does not answer"


@dataclass(frozen=True)
class Elsewhere:
    """The link is down as seen from another machine: a cause in parts of a lab on several machines."""

    word: ClassVar[str] = "another machine"

    def reporter(self, fabric: Fabric) -> str:
        """Nobody here knows which."""
        return self.word

    def because(self, fabric: Fabric) -> str:
        """Say it in words."""
        return "it is down at another machine"


Cause = Carrier | SilentAgent | Unreachable | Elsewhere


class Cuts:
    """What the user has cut: links by themselves, and nodes with all their links."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.links: set[int] = set()
        self.nodes: set[int] = set()
        #: Those of them that were removed: they are not restored, but added again.
        self.removed_links: set[int] = set()
        self.removed_nodes: set[int] = set()

    def cut(self, links: frozenset[int], node: int | None) -> None:
        """Cut links by themselves, or with ``node`` that node."""
        (self.links.update(links) if node is None else self.nodes.add(node))

    def restore(self, links: frozenset[int], node: int | None) -> frozenset[int]:
        """Undo :meth:`cut`; those of the links that nothing else keeps cut."""
        (self.links.difference_update(links) if node is None else self.nodes.discard(node))
        return frozenset(link for link in links if link not in self)

    def __contains__(self, link: int) -> bool:
        return link in self.links or any(node in self.nodes for node in self._ends(link))

    def all(self) -> frozenset[int]:
        """All links that are cut."""
        return frozenset(self.links).union(*map(self.fabric.links_of, self.nodes))

    def reasons(self, link: int) -> list[str]:
        """Why a link is cut, in words."""
        word = "it was removed" if link in self.removed_links else "it is cut by itself"
        nodes = [
            f"{self.fabric.name(node)} {'was removed' if node in self.removed_nodes else 'is cut'}"
            for node in self._ends(link)
            if node in self.nodes
        ]
        return ([word] if link in self.links else []) + nodes

    def _ends(self, link: int) -> tuple[int, int]:
        ends = self.fabric.link(link)
        return ends.a.node, ends.b.node
