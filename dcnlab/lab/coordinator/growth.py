"""What a lab gets that its topology never had: whether it can have it, and the network with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from addressing.unrouted import Unrouted
from dcnlab.lab.errors import UsageError
from dcnlab.lab.options.config import LabConfig, resolve

if TYPE_CHECKING:
    from collections.abc import Callable

    from addressing.scheme import Scheme
    from dcnlab.lab.coordinator.lab import Coordinator


def with_switch(lab: Coordinator, name: str) -> tuple[LabConfig, Scheme]:
    """The lab with a switch of that name; UsageError, in one line, where it cannot have one."""
    if lab.config.choice().kind == "remote":
        raise UsageError(
            "a remote controller has connections of the switches of the launch: no switch is added"
        )
    return _grown(lab, name)


def with_link(
    lab: Coordinator, names: Sequence[str], next_port: Callable[[int], int]
) -> tuple[LabConfig, Scheme]:
    """Return the lab with one more link, between two nodes; raises UsageError where it cannot have one."""
    if len(names) != 2:
        raise UsageError("name the two nodes of the link, such as `link s0 s12`")
    ends = [lab.node(name) for name in names]
    for end, name in zip(ends, names, strict=True):
        if end in lab.fabric.end_nodes:
            raise UsageError(f"{name} is a server, which has its link: a link is added between switches")
    if ends[0] == ends[1]:
        raise UsageError("name two different switches")
    return _grown(lab, "--".join(f"{lab.fabric.name(end)}:{next_port(end)}" for end in ends))


def _grown(lab: Coordinator, addition: str) -> tuple[LabConfig, Scheme]:
    before = lab.launched_scheme
    if len(lab.machines) > 1:
        raise UsageError(
            "switches and links are added to labs on one machine: begin with a topology that has it"
        )
    if before.fabric.relaying:
        raise UsageError(
            f"the servers of {before.fabric.spec} relay packets, and their agents know the network from the"
            " launch: begin with a topology that has it"
        )
    config = replace(lab.config, topology=f"{lab.config.topology} + {addition}")
    try:
        _, scheme = resolve(config.topology, config.scheme)
        scheme.check_width()
    except ValueError as error:
        raise UsageError(str(error)) from error
    if not _keeps(before, scheme):
        raise UsageError(f"{config.scheme} would give nodes other addresses: begin with a topology that has it")
    return config, scheme


def _keeps(before: Scheme, after: Scheme) -> bool:
    """Whether all nodes keep their numbers, names and addresses."""
    old, new = before.fabric, after.fabric
    nodes, links = range(old.size), len(old.link_ends)
    if not np.array_equal(old.link_ends, new.link_ends[:links]) or any(
        old.name(n) != new.name(n) for n in nodes
    ):
        return False
    if isinstance(before, Unrouted) and isinstance(after, Unrouted):
        return before.plan.by_port.items() <= after.plan.by_port.items()
    return all(before.ipv4(server) == after.ipv4(server) for server in range(old.servers))
