"""One server's data sent to several others: along a complete graph, and by a pipeline."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dcnlab.lab.contract.fields import argument, server
from dcnlab.lab.errors import LabError
from dcnlab.lab.instruments.measurement import Context, Measurement
from dcnlab.lab.instruments.probe import Probe, at_once, probe_at
from dcnlab.lab.instruments.result import INTERRUPTED, Result, Table
from dcnlab.lab.replication.tasks import Task
from dcnlab.lab.replication.transfer import Transfer

if TYPE_CHECKING:
    from dcnlab.lab.network.measured_lab import MeasuredLab
    from dcnlab.lab.replication.runner import NodeProgram
    from dcnlab.lab.running.local_machine import LocalMachine

#: Seconds until a transfer that has not finished is an error.
_TIMEOUT = 600.0


@dataclass(frozen=True)
class ReplicateResult(Result):
    """Both transfers, the size of the data in bytes, and the time of the pipeline to that of the graph.

    ``partial`` says why transfers are missing; it is empty when there are both.
    """

    size: int
    complete_graph: Transfer | None
    pipeline: Transfer | None
    ratio: float | None
    partial: str = ""

    @property
    def held(self) -> bool:
        """Whether every replica received what the source sent."""
        both = self.complete_graph, self.pipeline
        return all(one is not None and one.verified for one in both)

    def table(self) -> Table:
        rows = []
        for name, one in (("complete graph", self.complete_graph), ("pipeline", self.pipeline)):
            if one is None:
                continue
            contents = "equal" if one.verified else "DIFFER"
            rows.append((name, one.seconds, one.mbps, contents, one.busiest, one.method))
        return Table(("transfer", "seconds", "Mb/s", "contents", "busiest link", "paths"), rows)

    def notes(self) -> Iterator[str]:
        if self.complete_graph is None or self.pipeline is None:
            yield f"partial: {self.partial}"
            return
        limit = self.pipeline.busiest / self.complete_graph.busiest
        yield f"pipeline : complete graph = {self.ratio} (the busiest links allow {limit:.2f})"


@dataclass(frozen=True)
class Replicate(Measurement[ReplicateResult]):
    """Send random data to several servers, along a complete graph and by a pipeline, and compare them."""

    name: ClassVar[str] = "replicate"
    command: ClassVar[bool] = False
    interruptible: ClassVar[bool] = True

    source: str = server("The server that has the data.")
    replicas: tuple[str, ...] = server("The servers that get a copy.")
    size: int = argument("Bytes to replicate.", default=200_000_000, low=1)

    def run(self, lab: MeasuredLab, context: Context) -> ReplicateResult:
        from dcnlab.lab.replication import plan, runner

        servers = [lab.server(name) for name in (self.source, *self.replicas)]
        ends, (source, *replicas) = {number: lab.endpoint(number) for number in servers}, servers

        def transfer(parts: tuple[plan.Part, ...], routes: runner.Routes) -> Transfer:
            reports = _transfer(context, runner.tasks(parts, ends), [list(one) for one in routes.pinned])
            seconds, hashes = max(done for _, done, _ in reports), {server: sha for server, _, sha in reports}
            named = {ends[server].name: hashes[server] for server in servers}
            return runner.transfer(parts, routes, seconds, named)

        with context.probes(ReplicateProbe) as probes:
            runner.check(servers, self.size, min(at_once(probes, lambda probe: probe.memory())))
        context.started()
        context.progress(0, 2, "complete graph")
        graph_routes = runner.by_complete_graph(lab.scheme, source, replicas, lab.links)
        graph = None
        try:
            graph = transfer(plan.complete_graph(source, replicas, self.size), graph_routes)
            context.progress(1, 2, "pipeline")
            chain_routes = runner.by_scheme(lab.scheme, servers, lab.links)
            chain = transfer(plan.pipeline(source, replicas, self.size), chain_routes)
        except LabError:
            if not context.stopped():
                raise
            return ReplicateResult(self.size, graph, None, None, INTERRUPTED)
        return ReplicateResult(self.size, graph, chain, round(chain.seconds / graph.seconds, 3))


def _transfer(
    context: Context, tasks: Mapping[int, Task], pinned: list[list[int]]
) -> list[tuple[int, float, str]]:
    """Run the programs with these tasks: per server the seconds until its last byte came, and its SHA-256."""
    with context.probes(ReplicateProbe) as probes:
        at_once(probes, lambda probe: probe.pin(pinned))
        for server, task in tasks.items():
            probe_at(probes, server).start(server, task)
        at_once(probes, lambda probe: probe.await_ready())
        begun = time.monotonic()
        at_once(probes, lambda probe: probe.begin())
        reports_of = at_once(probes, lambda probe: probe.reports())
        return [
            (server, done - probe.ahead - begun, sha)
            for probe, reports in zip(probes, reports_of, strict=True)
            for server, done, sha in reports
        ]


class ReplicateProbe(Probe):
    """The servers of one machine that send or receive data."""

    def __init__(self, lab: LocalMachine, context: Context) -> None:
        super().__init__(lab, context)
        self._programs: dict[int, NodeProgram] = {}
        self._open = contextlib.ExitStack()

    def memory(self) -> int:
        """Bytes of memory that are free."""
        import psutil

        return int(psutil.virtual_memory().available)

    def pin(self, paths: list[list[int]]) -> None:
        """Pin packets to these paths until the end."""
        self._open.enter_context(self.lab.pinned([tuple(one) for one in paths]))

    def start(self, server: int, task: Task) -> None:
        """Start the program of a server."""
        from dcnlab.lab.replication.runner import NodeProgram

        program = NodeProgram(self.lab.fabric.name(server), task, self.lab.inside)
        self._programs[server] = program
        self.context.terminate_with_client(program.process)

    def await_ready(self) -> None:
        """Wait until all listen; they end when the measurement is stopped, or after some minutes."""
        for program in self._programs.values():
            if program.line() != "ready":
                raise LabError("replicate: a program did not start")
        self.context.on_stop(lambda _: self._kill())
        alarm = threading.Timer(_TIMEOUT, self._kill)
        alarm.daemon = True
        alarm.start()
        self._open.callback(alarm.cancel)

    def begin(self) -> None:
        """Let all begin."""
        for program in self._programs.values():
            program.begin()

    def reports(self) -> list[tuple[int, float, str]]:
        """When each had everything, in seconds of the machine's clock, and its SHA-256."""
        replicas = {number: program.replica() for number, program in self._programs.items()}
        return [(number, one.done, one.sha256) for number, one in replicas.items()]

    def _kill(self) -> None:
        for program in self._programs.values():
            program.process.kill()

    def close(self) -> None:
        for program in self._programs.values():
            program.end()
        self._open.close()
