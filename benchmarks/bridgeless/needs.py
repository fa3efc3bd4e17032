"""What of the tables of labs the kernel leaves to Open vSwitch: what a launch would start it for."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.bridgeless.compiler import lowered
from controller import plan
from controller.rules import FlowTable
from dcnlab.lab.options.config import resolve


@dataclass(frozen=True)
class Need:
    """Entries of all switches, those left to Open vSwitch, and the switches that have such."""

    entries: int
    left: int
    switches: int
    of_switches: int


def need(topology: str, scheme_name: str) -> Need:
    """Of a network under a scheme."""
    fabric, scheme = resolve(topology, scheme_name)
    switches = range(fabric.servers, fabric.size)
    scheme.prepare_tables(switches)
    left = [_left(plan.desired_table(scheme, one), dict(fabric.ports(one))) for one in switches]
    return Need(sum(n for n, _ in left), sum(m for _, m in left), sum(m > 0 for _, m in left), len(left))


def _left(table: FlowTable, ports: dict[int, object]) -> tuple[int, int]:
    """Entries, and those without an action of the kernel's."""
    own = {port: port for port in ports}
    left = (_is_left(FlowTable(frozenset({rule}), table.groups), own) for rule in table.rules)
    return len(table.rules), sum(left)


def _is_left(table: FlowTable, ports: dict[int, int]) -> bool:
    """Whether the only entry of a table has no action of the kernel's."""
    return not any(action.flags for action in lowered(table, ports).entries.values())
