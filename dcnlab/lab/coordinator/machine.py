"""A machine of a lab as the coordinator sees it: in this process, or another one that answers by messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dcnlab.lab.contract.machine import Apply, LinksSet

if TYPE_CHECKING:
    import socket
    from contextlib import AbstractContextManager

    from dcnlab.lab.contract.lab import Rejoined
    from dcnlab.lab.contract.operation import Operation
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.instruments.probe import Context, P
    from dcnlab.lab.options.link_shape import Direction, Shape


A = TypeVar("A")
T = TypeVar("T")


class Machine(Protocol):
    """Some of the nodes of a lab, or all; LabError from any method when it does not answer."""

    @property
    def name(self) -> str:
        """Its name among several; empty for the only one."""

    @property
    def problem(self) -> str:
        """Why it cannot be asked at present; empty if it can."""

    @property
    def seconds(self) -> Mapping[str, float]:
        """Seconds of each stage of its launch."""

    def runs(self, node: int) -> bool:
        """Whether it runs a node."""

    def is_here(self) -> bool:
        """Whether its namespaces are those of this process."""

    def perform(self, wanted: Operation[A], call: Call | None = None) -> A:
        """The answer to a request about what it has; with ``call`` also its client's descriptors and what that
        sends meanwhile."""

    @property
    def impairments(self) -> Mapping[Direction, Shape]:
        """The impairments of links, by direction: every machine knows those of all."""

    def set_links(self, links: Sequence[int], up: bool) -> Callable[[], LinksSet]:
        """Take the ends of links down that it has, or bring them up.  What that has done, to be asked for when
        the lab has converged."""

    def apply(self, update: Apply) -> object:
        """Have its agents, controller and switches follow the link state: what it has told them.  LabError when
        they do not."""

    def probe(self, kind: type[P], context: Context) -> AbstractContextManager[P]:
        """A probe of a measurement there."""

    def inside(self, name: str, argv: list[str]) -> list[str]:
        """The command line that runs ``argv`` in a node, where that is :meth:`is_here`."""

    def connect(self, server: int, address: str, port: int) -> socket.socket:
        """A connection from a server there, or without an ``address`` to it; OSError when nobody accepts it."""

    def end(self) -> None:
        """End what it has of the lab."""


M = TypeVar("M", bound=Machine)


def at_once(machines: Sequence[M], action: Callable[[M], T]) -> list[T]:
    """Do something on machines at once; the first error is raised when all are done."""
    if len(machines) < 2:
        return [action(machine) for machine in machines]
    from concurrent.futures import ThreadPoolExecutor  # one machine needs none

    with ThreadPoolExecutor(len(machines)) as pool:
        waiting = [pool.submit(action, machine) for machine in machines]
    return [future.result() for future in waiting]


class OtherMachines(Protocol):
    """What is known of the machines of a lab on several."""

    def describe(self, rests: Mapping[str, str]) -> dict[str, Any]:
        """What ``info`` tells of them; ``rests`` has the REST interfaces of their controllers by machine."""

    def rejoin(self, machine: str) -> Rejoined:
        """Launch what a machine has again that was lost; with an empty name that of all such machines."""

    def end(self) -> None:
        """Let the machines go: they have ended."""
