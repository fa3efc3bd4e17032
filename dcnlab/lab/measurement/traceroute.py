"""The relays that the real traceroute shows."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.errors import LabError
from dcnlab.lab.instruments.arguments import server
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.result import Result

if TYPE_CHECKING:
    from dcnlab.lab.running.lab import RunningLab

#: Echo requests are all one flow, and no kernel limits the rate of their answers.
_COMMAND = ("traceroute", "-I", "-n", "-q", "1", "-w", "2", "-m", "64")
_HOP = re.compile(r"^\s*\d+\s+(\S+)", re.MULTILINE)


@dataclass(frozen=True)
class TracerouteResult(Result):
    """The servers that answered, the destination last; ``*`` where none did."""

    hops: list[str]

    @classmethod
    def figures(cls) -> tuple[str, ...]:
        return ("length",)

    @property
    def length(self) -> int:
        """Hops between servers."""
        return len(self.hops)

    def table(self) -> None:
        return None

    def notes(self) -> Iterator[str]:
        yield " ".join(self.hops)


@dataclass(frozen=True)
class Traceroute(Measurement[TracerouteResult]):
    """Run traceroute from one server to another and name the servers that it shows."""

    name: ClassVar[str] = "traceroute"
    one_sided: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("dcnlab traceroute LAB h0 h15",)

    a: str = server("The source.")
    b: str = server("The destination.")

    def run(self, lab: RunningLab, context: Context) -> TracerouteResult:
        source, target = lab.two_endpoints(self.a, self.b)
        command = lab.inside(source.name, [*_COMMAND, target.address])
        context.started()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise LabError(f"traceroute: {done.stderr.strip()}")
        fabric = lab.fabric
        names = {lab.endpoint(number).address: fabric.name(number) for number in range(fabric.servers)}
        hops = _HOP.findall(done.stdout.split("\n", 1)[1])
        return TracerouteResult([names.get(hop, hop) for hop in hops])
