"""Links change at one machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.links import LinkChange
from dcnlab.lab.contract.machine import Observation
from dcnlab.lab.contract.operation import Operation

if TYPE_CHECKING:
    from dcnlab.lab.control.rpc import Call
    from dcnlab.lab.coordinator.lab import Coordinator


@dataclass(frozen=True, eq=False, kw_only=True)
class ChangedLinks(LinkChange):
    """Links that have changed at their ends on one machine, and what that machine observes of links now."""

    observed: Observation


@dataclass(frozen=True)
class ChangeLinks(Operation[ChangedLinks]):
    """Cut links by their numbers, or bring them ``up``: at their ends on one of several machines."""

    name: ClassVar[str] = "change-links"
    public: ClassVar[bool] = False

    links: tuple[int, ...]
    up: bool

    def perform(self, lab: Coordinator, call: Call) -> ChangedLinks:
        changed = lab.change_links(self.links, up=self.up)
        return ChangedLinks(**changed, observed=lab.link_state.own())
