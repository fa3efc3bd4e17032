"""The relays that the real traceroute shows."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.errors import LabError
from dcnlab.lab.instruments import known_path
from dcnlab.lab.instruments.arguments import server
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.result import Result

if TYPE_CHECKING:
    from dcnlab.lab.running.lab import RunningLab

#: Echo requests are all one flow, and no kernel limits the rate of their answers.
_COMMAND = ("traceroute", "-I", "-n", "-m", "64")
#: Seconds that an answer takes at most, beside the round-trip time that links impose; requests to each server.
_WAIT, _MOST_REQUESTS = 2.0, 10
#: The first that answered any of the requests with one TTL; ``*`` when none did.
_HOP = re.compile(r"^\s*\d+(?:\s+\*)*?\s+([^*\s]\S*|\*\s*$)", re.MULTILINE)


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
        known = known_path.between(lab, *lab.two_servers(self.a, self.b))
        requests = min(max(1, known.tries), _MOST_REQUESTS)
        words = ["-q", str(requests), "-w", f"{_WAIT + known.rtt:g}", target.address]
        command = lab.inside(source.name, [*_COMMAND, *words])
        context.started()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise LabError(f"traceroute: {done.stderr.strip()}")
        fabric = lab.fabric
        names = {lab.endpoint(number).address: fabric.name(number) for number in range(fabric.servers)}
        hops = _HOP.findall(done.stdout.split("\n", 1)[1])
        return TracerouteResult([names.get(hop.strip(), hop.strip()) for hop in hops])
