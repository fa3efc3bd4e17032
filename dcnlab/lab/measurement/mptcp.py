"""Multipath TCP over all parallel paths, compared with TCP over one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dcnlab.lab import naming
from dcnlab.lab.instruments import mptcp
from dcnlab.lab.instruments.arguments import argument, server
from dcnlab.lab.instruments.conducted import Conducted, place_of
from dcnlab.lab.instruments.measurement import Context
from dcnlab.lab.instruments.mptcp import Throughput
from dcnlab.lab.instruments.result import Result, Table
from dcnlab.lab.instruments.side import Side

if TYPE_CHECKING:
    from dcnlab.lab.instruments.flow_place import Place
    from dcnlab.lab.running.lab import RunningLab
    from dcnlab.lab.running.network import Network


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
class Mptcp(Conducted[MptcpResult]):
    """Compare one Multipath TCP connection over all parallel paths with TCP over one path."""

    name: ClassVar[str] = "mptcp"
    examples: ClassVar[tuple[str, ...]] = ("dcnlab mptcp LAB h0 h15",)

    a: str = server("The server that sends.")
    b: str = server("The server that receives.")
    seconds: float = argument("How long each connection sends.", default=3.0, low=0.1, high=1e6, unit="s")

    def side(self, lab: RunningLab, context: Context) -> Side:
        return mptcp.MptcpSide(lab, context.terminate_with_client)

    def conduct(
        self, network: Network, impaired: Sequence[Mapping[str, Any]], places: Sequence[Place], context: Context
    ) -> MptcpResult:
        source, target = servers = naming.two_servers(network.fabric, self.a, self.b, network.scheme)
        here, there = place_of(places, source), place_of(places, target)
        here.ask("check", server=source)
        paths = mptcp.path_count(network.scheme, *servers, network.links)

        def throughput(subflows: int) -> Throughput:
            there.ask("listen", server=target, seconds=self.seconds, subflows=subflows)
            words = {"client": source, "server": target, "seconds": self.seconds}
            found = here.ask("send", **words, subflows=subflows)
            return Throughput(there.ask("received"), found)

        here.ask("add_addresses", servers=[source], count=paths, sends=True)
        there.ask("add_addresses", servers=[target], count=paths, sends=False)
        context.started()
        context.progress(0, 2, "tcp")
        single = throughput(0)
        context.progress(1, 2, "mptcp")
        multiple = throughput(paths)
        return MptcpResult(paths, single, multiple, round(multiple.mbps / single.mbps, 3))
