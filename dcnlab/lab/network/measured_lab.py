"""A lab as its measurements see it, whether it has one machine or several; each machine sees the same of it."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from addressing.scheme import Scheme
from dcnlab.lab import naming
from dcnlab.lab.contract.machine import LinkStateOfLab
from dcnlab.lab.network import flooding
from dcnlab.lab.network.endpoint import Endpoint, NamedNodes, text_of
from dcnlab.lab.options.config import LabConfig
from dcnlab.lab.options.link_shape import Direction, Shape
from topos.graph import LinkState

if TYPE_CHECKING:
    from dcnlab.lab.contract.lab import Configured

T = TypeVar("T")


class MeasuredLab(NamedNodes):
    """The network of a lab, the links that are down, and what agents and controller know of these."""

    config: LabConfig
    link_state: LinkStateOfLab

    def __init__(self) -> None:
        #: The last autoconfiguration, where servers started without addresses.
        self.configured: Configured | None = None
        #: The IPv4 addresses of the hosts that were added since the launch, by name.
        self.later: dict[str, int] = {}
        #: What :meth:`own` has made, and what is held meanwhile: one may ask for another.
        self._made: dict[Callable[[Self], Any], Any] = {}
        self._making = threading.RLock()

    def own(self, kind: Callable[[Self], T]) -> T:
        """Return the one object of a kind, such as a machine's services; it is made when first asked for."""
        with self._making:
            if kind not in self._made:
                self._made[kind] = kind(self)
            made: T = self._made[kind]
            return made

    def host(self, name: str) -> int:
        """The server of that name, or a host that was added since the launch: a number below zero, which only
        :meth:`endpoint` knows."""
        return -1 - [*self.later].index(name) if name in self.later else self.server(name)

    def endpoint(self, server: int, version: int = 0) -> Endpoint:
        if server >= 0:
            return super().endpoint(server, version)
        name = [*self.later][-1 - server]
        return Endpoint(name, name, text_of(self.later[name], self.launched_scheme, version))

    @property
    @abstractmethod
    def impairments(self) -> Mapping[Direction, Shape]:
        """The impairments of links, by direction."""

    @abstractmethod
    def inside(self, name: str, argv: list[str]) -> list[str]:
        """The command line that runs ``argv`` in a node, where that is on this machine."""

    @property
    def links(self) -> LinkState:
        """The links that are down."""
        return self.link_state.state()

    @property
    def scheme(self) -> Scheme:
        """The scheme with the failures that the control plane knows."""
        known = self.distributed_state
        return self.launched_scheme.with_failures(known) if known else self.launched_scheme

    @property
    def distributed_state(self) -> LinkState:
        """The failed links that all agents know; where they exchange link state, once they have converged."""
        if self.config.link_state == "lab" or self.launched_scheme.floods_everywhere:
            return self.links
        return flooding.to_agents(self.launched_scheme, self.links, self.link_state.silent_links())

    @property
    def controller_state(self) -> LinkState:
        """The failed links that the controller knows."""
        if self.config.link_state == "lab":
            return self.links
        return flooding.seen_by_controller(self.launched_scheme, self.links, self.link_state.silent_links())

    def links_named(self, kind: str, names: list[str]) -> tuple[int, ...]:
        """The link numbers of ``link A B`` or ``node A``."""
        return naming.links(self.fabric, kind, names, self.launched_scheme)
