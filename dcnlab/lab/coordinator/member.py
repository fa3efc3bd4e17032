"""A lab on one machine as a machine of a larger one: what the coordinator elsewhere asks of it.

It keeps a link state of its own.  So it follows failures here at once, and goes on while nobody asks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, cast

from dcnlab.lab.coordinator.lab import Coordinator
from dcnlab.lab.coordinator.link_state.state_machine import SetLinks


class OwnMachine(Protocol):
    """The machine of this process: more of it than others have is asked for here."""

    def has_watched_end(self, link: int) -> bool:
        """Whether it has an end of a link whose carrier it watches."""

    def set_interfaces(self, links: Iterable[int], up: bool) -> None:
        """Take the ends of links down that it has, or bring them up."""

    def report_unseen(self, links: Iterable[int]) -> None:
        """Report the ends of links whose carrier nobody watches."""


def _machine(lab: Coordinator) -> OwnMachine:
    return cast(OwnMachine, lab.machines[0])


def take_elsewhere(lab: Coordinator, links: Iterable[int], unreachable: Iterable[int]) -> None:
    """Other machines report these links as down, and those to some machines are ``unreachable``: their ends
    here go down as well.  Returns when the tables follow.

    A tunnel has no carrier of its own, so agents and switches would not notice that nobody is at the other
    end, and protocols of the agents would wait for neighbours that are gone.
    """
    machine = _machine(lab)
    with lab.link_lock:
        changes = lab.link_state.report_absent(filter(machine.has_watched_end, unreachable))
        # Those that come back stay down until their ends here are up: else the controller would be told of
        # them before its switches tell it, and would not count the change of tables among this one.
        lab.link_state.report_elsewhere(links)
        _set(lab, machine, changes)
    lab.link_state.await_state()


def take_isolation(lab: Coordinator, links: tuple[int, ...]) -> None:
    """Nobody asks this machine, so its ``links`` to others are down; none: somebody asks again.  Returns when
    the tables follow."""
    machine = _machine(lab)
    with lab.link_lock:
        ends = filter(machine.has_watched_end, links)
        _set(lab, machine, lab.link_state.report_isolation(links, ends))
    lab.link_state.await_state()


def _set(lab: Coordinator, machine: OwnMachine, changes: Iterable[SetLinks]) -> None:
    """Take ends of links to other machines down or bring them up; returns when that is noticed."""
    for change in changes:
        machine.set_interfaces(change.links, change.up)
    for change in changes:
        machine.report_unseen(change.links)
        lab.link_state.await_carriers(change.links, change.up)
