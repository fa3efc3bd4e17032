"""A lab on many machines as its measurements see it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dcnlab.lab.control.rpc import Call
from dcnlab.lab.errors import UsageError
from dcnlab.lab.instruments.measurement import Context
from dcnlab.lab.machines import network
from dcnlab.lab.machines.remote_part import RemotePart
from dcnlab.lab.machines.remote_probe import RemoteMachine
from dcnlab.lab.machines.whole_lab import WholeLab
from dcnlab.lab.options.link_shape import Shape
from dcnlab.lab.running.endpoint import Endpoint, NamedNodes
from dcnlab.lab.session import operations as session_operations

if TYPE_CHECKING:
    from addressing.scheme import Scheme


def measure(lab: WholeLab, call: Call) -> Any:
    """Run a measurement, with probes on the machines; or on the machine that has all that it needs."""
    wanted = session_operations.requested_measurement(call)
    machines = [RemoteMachine(part) for part in lab.living]
    try:
        return wanted.run(MeasuredWhole(lab, wanted.name), Context(call, machines)).to_json()
    except _OnOneMachine as found:
        return found.part.serve(call)


class _OnOneMachine(Exception):
    """The measurement needs the namespaces of a machine, and no other: it is to be made there."""

    def __init__(self, part: RemotePart) -> None:
        super().__init__(part.name)
        self.part = part


class MeasuredWhole(NamedNodes):
    """The lab, whose nodes are on other machines; ``name`` is that of the measurement."""

    def __init__(self, lab: WholeLab, name: str) -> None:
        self._lab, self._name = lab, name
        self.config, self.fabric = lab.config, lab.fabric
        found = network.of(lab)
        self.scheme, self.links = found.scheme, found.links

    @property
    def launched_scheme(self) -> Scheme:
        """The scheme as the lab was launched with it."""
        return self._lab.scheme

    @cached_property
    def impairments(self) -> Mapping[int, Shape]:
        """The links that have impairments, by number."""
        found = self._lab.ask_all("impair")[0]["links"]
        return {one["number"]: Shape().changed(one["impairments"]) for one in found}

    def two_endpoints(self, a: str, b: str) -> tuple[Endpoint, Endpoint]:
        """Have the measurement made on the machine that has both servers; UsageError when none has."""
        source, target = (self._lab.part_of(server) for server in self.two_servers(a, b))
        if source is target:
            raise _OnOneMachine(source)
        raise UsageError(
            f"{self._name} needs both servers on one machine, and {a} is on {source.name}, {b} on {target.name}"
        )

    def inside(self, name: str, words: list[str]) -> list[str]:
        """Have the measurement made on the machine of the node."""
        raise _OnOneMachine(self._lab.part_of(self.node(name)))
