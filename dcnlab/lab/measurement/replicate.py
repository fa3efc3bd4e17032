"""One server's data sent to several others: along a complete graph, and by a pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.instruments.arguments import argument, server
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.result import Result, Table
from dcnlab.lab.replication.transfer import Transfer

if TYPE_CHECKING:
    from dcnlab.lab.running.lab import RunningLab

#: Seconds until a transfer that has not finished is an error.
_TIMEOUT = 600.0


@dataclass(frozen=True)
class ReplicateResult(Result):
    """Both transfers, the size of the data in bytes, and the time of the pipeline to that of the graph."""

    size: int
    complete_graph: Transfer
    pipeline: Transfer
    ratio: float

    @property
    def held(self) -> bool:
        """Whether every replica received what the source sent."""
        return self.complete_graph.verified and self.pipeline.verified

    def table(self) -> Table:
        rows = []
        for name, one in (("complete graph", self.complete_graph), ("pipeline", self.pipeline)):
            contents = "equal" if one.verified else "DIFFER"
            rows.append((name, one.seconds, one.mbps, contents, one.busiest, one.method))
        return Table(("transfer", "seconds", "Mb/s", "contents", "busiest link", "paths"), rows)

    def notes(self) -> Iterator[str]:
        limit = self.pipeline.busiest / self.complete_graph.busiest
        yield f"pipeline : complete graph = {self.ratio} (the busiest links allow {limit:.2f})"


@dataclass(frozen=True)
class Replicate(Measurement[ReplicateResult]):
    """Send random data to several servers, along a complete graph and by a pipeline, and compare them."""

    name: ClassVar[str] = "replicate"
    command: ClassVar[bool] = False

    source: str = server("The server that has the data.")
    replicas: tuple[str, ...] = server("The servers that get a copy.")
    size: int = argument("Bytes to replicate.", default=200_000_000, low=1)

    def run(self, lab: RunningLab, context: Context) -> ReplicateResult:
        import psutil

        from dcnlab.lab.replication import plan, runner

        servers = [lab.server(name) for name in (self.source, *self.replicas)]
        runner.check(servers, self.size, psutil.virtual_memory().available)
        ends = {number: lab.endpoint(number) for number in servers}
        state, (source, *replicas) = lab.link_state.state(), servers

        def transfer(parts: tuple[plan.Part, ...], routes: runner.Routes) -> Transfer:
            with lab.pinned(routes.pinned):
                return runner.replicate(
                    parts, routes, ends, lab.inside, _TIMEOUT, context.terminate_with_client
                )

        context.started()
        context.progress(0, 2, "complete graph")
        graph_routes = runner.by_complete_graph(lab.scheme, source, replicas, state)
        graph = transfer(plan.complete_graph(source, replicas, self.size), graph_routes)
        context.progress(1, 2, "pipeline")
        chain_routes = runner.by_scheme(lab.scheme, servers, state)
        chain = transfer(plan.pipeline(source, replicas, self.size), chain_routes)
        return ReplicateResult(self.size, graph, chain, round(chain.seconds / graph.seconds, 3))
