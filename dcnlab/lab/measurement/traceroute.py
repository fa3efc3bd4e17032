"""The relays that the real traceroute shows."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.fields import argument, server
from dcnlab.lab.errors import LabError
from dcnlab.lab.instruments import known_path
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.probe import Probe
from dcnlab.lab.instruments.result import Result

if TYPE_CHECKING:
    from dcnlab.lab.network.measured_lab import MeasuredLab

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
    examples: ClassVar[tuple[str, ...]] = ("dcnlab traceroute LAB h0 h15", "dcnlab traceroute LAB h0 h15 -6")

    a: str = server("The source.")
    b: str = server("The destination.")
    ipv6: bool = argument(
        "Use IPv6; by default the first version that the hosts speak.", default=False, flag="-6"
    )

    def run(self, lab: MeasuredLab, context: Context) -> TracerouteResult:
        source, target = lab.two_servers(self.a, self.b)
        known = known_path.between(lab, source, target)
        requests = min(max(1, known.tries), _MOST_REQUESTS)
        version = 6 if self.ipv6 else 0
        options = ["-q", str(requests), "-w", f"{_WAIT + known.rtt:g}", lab.address(target, version)]
        with context.probe(TracerouteProbe, source) as probe:
            context.started()
            output = probe.run(self.a, [*_COMMAND, *options])
        fabric = lab.fabric
        names = {lab.address(number, version): fabric.name(number) for number in range(fabric.servers)}
        hops = _HOP.findall(output.split("\n", 1)[1])
        return TracerouteResult([names.get(hop.strip(), hop.strip()) for hop in hops])


class TracerouteProbe(Probe):
    """The machine of the source."""

    def run(self, source: str, command: list[str]) -> str:
        """What a command prints there; LabError when it fails."""
        argv = self.lab.inside(source, command)
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            self.context.terminate_with_client(process)
            output, errors = process.communicate()
        if process.returncode:
            raise LabError(f"traceroute: {errors.strip()}")
        return output
