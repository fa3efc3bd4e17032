"""Multipath TCP over all parallel paths, compared with TCP over one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.fields import argument, server
from dcnlab.lab.errors import LabError
from dcnlab.lab.instruments import mptcp
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.mptcp import MptcpProbe, Throughput
from dcnlab.lab.instruments.result import Result, Table

if TYPE_CHECKING:
    from dcnlab.lab.network.measured_lab import MeasuredLab


@dataclass(frozen=True)
class MptcpResult(Result):
    """One connection by TCP and one by Multipath TCP; the number of parallel paths; mptcp to tcp in Mb/s."""

    paths: int
    tcp: Throughput
    mptcp: Throughput
    ratio: float

    @property
    def held(self) -> bool:
        """Whether every path had a subflow."""
        return self.mptcp.subflows == self.paths

    def table(self) -> Table:
        rows = [(name, one.subflows, one.mbps) for name, one in (("tcp", self.tcp), ("mptcp", self.mptcp))]
        return Table(("connection", "subflows", "Mb/s"), rows)

    def notes(self) -> Iterator[str]:
        yield f"mptcp : tcp = {self.ratio} over {self.paths} parallel paths"


@dataclass(frozen=True)
class Mptcp(Measurement[MptcpResult]):
    """Compare one Multipath TCP connection over all parallel paths with TCP over one path."""

    name: ClassVar[str] = "mptcp"
    examples: ClassVar[tuple[str, ...]] = ("dcnlab mptcp LAB h0 h15",)

    a: str = server("The server that sends.")
    b: str = server("The server that receives.")
    seconds: float = argument("How long each connection sends.", default=3.0, low=0.1, high=1e6, unit="s")

    def run(self, lab: MeasuredLab, context: Context) -> MptcpResult:
        source, target = lab.two_servers(self.a, self.b)
        with context.probe(MptcpProbe, source) as here, context.probe(MptcpProbe, target) as there:
            here.check(source)
            paths = mptcp.path_count(lab.scheme, source, target, lab.links)

            def throughput(subflows: int) -> Throughput:
                there.listen(target, self.seconds, subflows)
                sent = here.send(source, target, self.seconds, subflows)
                return Throughput(there.received(), sent)

            here.add_addresses([source], paths, sends=True)
            there.add_addresses([target], paths, sends=False)
            context.started()
            context.progress(0, 2, "tcp")
            single = throughput(0)
            if not single.mbps:
                raise LabError(f"TCP carried nothing from {self.a} to {self.b} within {self.seconds} s")
            context.progress(1, 2, "mptcp")
            multiple = throughput(paths)
        return MptcpResult(paths, single, multiple, round(multiple.mbps / single.mbps, 3))
