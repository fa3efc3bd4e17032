"""Install the student's tables in two switches of the lab."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.course import answers
from dcnlab.lab.course.answers import Marks
from dcnlab.lab.errors import LabError
from dcnlab.lab.inspection import tables
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.probe import Probe
from dcnlab.lab.options.config import resolve

if TYPE_CHECKING:
    from dcnlab.lab.network.measured_lab import MeasuredLab

FILE = Path(__file__).with_name("answers.yaml")
SWITCHES = ("s0", "s9")
#: The networks of the last part, each with 64 switches and a host at each.
SIZES = {"2x2": "smallworld:8x8,clusters=2x2", "2x4": "smallworld:8x8,clusters=2x4"}


@dataclass(frozen=True)
class TablesResult(Marks):
    """Switches with a table of the student, entries of the larger one, right answers about sizes."""

    written: int
    entries: int
    sizes: int


@dataclass(frozen=True)
class Tables(Measurement[TablesResult]):
    """Replace the tables of two switches by the student's."""

    name: ClassVar[str] = "tables"
    command: ClassVar[bool] = False

    def run(self, lab: MeasuredLab, context: Context) -> TablesResult:
        given = answers.load(FILE, (*SWITCHES, "sizes"))
        entries = {switch: list(flows(switch, answers.section(FILE, given, switch))) for switch in SWITCHES}
        for switch, lines in entries.items():
            with context.probe(TablesProbe, lab.node(switch)) as probe:
                probe.install(switch, lines)
        empty = [switch for switch, lines in entries.items() if not lines]
        wrong = answers.wrong(answers.section(FILE, given, "sizes"), right_sizes())
        most = max(len(lines) for lines in entries.values())
        return TablesResult([*empty, *wrong], len(SWITCHES) - len(empty), most, len(SIZES) - len(wrong))


def flows(switch: str, table: Mapping[str, object]) -> Iterator[str]:
    """The flow entries of a table of prefixes and ports; a longer prefix has a higher priority."""
    for prefix, port in table.items():
        try:
            network = ipaddress.IPv4Network(prefix)
        except ValueError as error:
            raise LabError(f"{FILE.name}: {switch}: {error}") from None
        if not isinstance(port, int):
            raise LabError(f"{FILE.name}: {switch}: {prefix}: {port!r} is no port number")
        yield f"priority={network.prefixlen + 1},ip,nw_dst={network},actions=output:{port}"


class TablesProbe(Probe):
    """The machine of a switch."""

    def install(self, switch: str, lines: list[str]) -> None:
        """Empty the switch's table of IPv4 and install the entries."""
        shard = self.lab.running.shard(switch)
        shard.run("ovs-ofctl", "-O", "OpenFlow13", "del-flows", switch, "ip")
        for line in lines:
            shard.run("ovs-ofctl", "-O", "OpenFlow13", "add-flow", switch, line)
        self.lab.await_tables()


def right_sizes() -> dict[str, int]:
    """The entries of a switch, as the scheme computes them."""
    entries = {}
    for name, topology in SIZES.items():
        fabric, scheme = resolve(topology, "hrsw")
        entries[name] = sum("nw_dst=" in line for line in tables.predicted(scheme, fabric.servers))
    return entries
