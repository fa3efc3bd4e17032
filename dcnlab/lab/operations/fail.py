"""Links fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from dcnlab.lab.contract.fields import word
from dcnlab.lab.contract.links import LinkChange
from dcnlab.lab.contract.operation import Operation

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.coordinator.lab import Coordinator

A = TypeVar("A")


@dataclass(frozen=True)
class LinkOperation(Operation[A]):
    """Base of operations on a link, or on a node with all its links."""

    kind: str = word("A link, or a node with all its links.", metavar="link|node", complete="kinds")
    names: tuple[str, ...] = word(
        "The two nodes of the link, a port such as s0:3, or the node.", metavar="A [B [NUMBER]]"
    )

    @classmethod
    def of(cls, *names: str) -> Self:
        """The link between two nodes, all links of one node, or the link at a port.

        The names ``"s0", "s1", "2"`` are the second of several links between two nodes, ``"s0:3"`` is the one
        at port 3 of s0.
        """
        return cls(kind_of(names), names)

    def change(self, lab: Coordinator, up: bool) -> LinkChange:
        """Have the coordinator cut or restore the links; returns when the lab has converged."""
        node = lab.node(self.names[0]) if self.kind == "node" and self.names else None
        return lab.change_links(lab.links_named(self.kind, list(self.names)), node, up=up)

    @classmethod
    def at_path(cls, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """``{link}`` or ``{node}``; a link by its names."""
        ((kind, names),) = parameters.items()
        return {"kind": kind, "names": names if kind == "link" else (names,)}


@dataclass(frozen=True)
class Fail(LinkOperation[LinkChange]):
    """Take down a link, or all links of a node; return when the lab has converged."""

    name: ClassVar[str] = "fail"
    http: ClassVar[str] = "POST /nodes/{node}/fail, POST /links/{link}/fail"
    returns: ClassVar[str] = "As `dcnlab fail --json`."
    examples: ClassVar[tuple[str, ...]] = ("dcnlab fail LAB link h0 s4", "dcnlab fail LAB node h12")

    def perform(self, lab: Coordinator, call: Call) -> LinkChange:
        return self.change(lab, up=False)


def kind_of(names: Sequence[str]) -> str:
    """Whether names are those of a link, by its ends or by a port such as ``s0:3``, or a node's."""
    _, colon, port = names[0].rpartition(":")
    return "link" if len(names) > 1 or (colon and port.isdecimal()) else "node"
