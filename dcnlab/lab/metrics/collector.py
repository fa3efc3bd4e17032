"""The metrics of a lab in Prometheus's model, read from the lab's control socket at every scrape."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from dcnlab.lab.client import Lab
from dcnlab.lab.errors import LabError
from dcnlab.lab.events.kinds import Converged

#: Upper bounds of the buckets of convergence times, in seconds.
BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class LabCollector(Collector):
    """The metrics of one lab; a lab that has ended has only ``dcnlab_up``, with 0."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._links = [tuple(ends) for ends in lab.counters().ends]
        self._switches = [node["name"] for node in lab.nodes() if node["kind"] == "switch"]
        #: Scrapes may overlap; the journal is read by one of them at a time.
        self._reading = threading.Lock()
        self._last = 0
        self._events: Counter[str] = Counter()
        self._convergence: list[float] = []

    def describe(self) -> list[Metric]:
        """No names in advance: registering does not read the lab."""
        return []

    def collect(self) -> Iterator[Metric]:
        """All metrics, as of now."""
        try:
            metrics = [
                *self._processes(),
                *self._link_metrics(),
                *self._queues(),
                *self._tables(),
                *self._journal(),
            ]
        except LabError:
            yield GaugeMetricFamily("dcnlab_up", "Whether the lab answers.", 0)
            return
        yield GaugeMetricFamily("dcnlab_up", "Whether the lab answers.", 1)
        yield from metrics

    def _processes(self) -> Iterator[Metric]:
        info = self._lab.info()
        about = GaugeMetricFamily(
            "dcnlab_lab_info", "The lab.", labels=("lab", "topology", "scheme", "datapath")
        )
        about.add_metric([info[key] for key in ("name", "topology", "scheme", "datapath")], 1)
        yield about
        yield GaugeMetricFamily("dcnlab_start_time_seconds", "When the lab started.", info["started"])
        yield GaugeMetricFamily(
            "dcnlab_processes_ended",
            "Parts of the lab that have ended and do not run again.",
            len(info["ended"]),
        )
        yield GaugeMetricFamily(
            "dcnlab_switches_connected", "Switches with their controller.", info["controller"]["connected"]
        )
        restarts = CounterMetricFamily("dcnlab_restarts", "Restarts of processes.", labels=("process",))
        for process, count in info["restarts"].items():
            restarts.add_metric([process], count)
        yield restarts
        up = GaugeMetricFamily("dcnlab_link_up", "Whether the link is up.", labels=("a", "b"))
        down = set(info["down"])
        for number, ends in enumerate(self._links):
            up.add_metric(ends, number not in down)
        yield up

    def _link_metrics(self) -> Iterator[Metric]:
        carried = CounterMetricFamily(
            "dcnlab_link_bytes", "Bytes that the link has carried.", labels=("source", "destination")
        )
        for (a, b), (to_b, to_a) in zip(self._links, self._lab.counters().links, strict=True):
            carried.add_metric([a, b], to_b)
            carried.add_metric([b, a], to_a)
        yield carried
        stats = self._lab.stats()
        ports = CounterMetricFamily(
            "dcnlab_port_count", "Counters of switches' ports.", labels=("switch", "port", "to", "counter")
        )
        for port in stats.ports:
            for name, value in port.counts.items():
                ports.add_metric([port.switch, str(port.port), port.to, name], value)
        yield ports
        agents = GaugeMetricFamily("dcnlab_agent_count", "Counters of agents.", labels=("server", "counter"))
        for server, counters in stats.servers.items():
            for name, value in counters.items():
                agents.add_metric([server, name], value)
        yield agents

    def _queues(self) -> Iterator[Metric]:
        labels = ("node", "to")
        waiting = GaugeMetricFamily("dcnlab_queue_packets", "Packets that wait for a link.", labels=labels)
        size = GaugeMetricFamily("dcnlab_queue_bytes", "Bytes that wait for a link.", labels=labels)
        dropped = CounterMetricFamily("dcnlab_queue_dropped", "Packets that a queue dropped.", labels=labels)
        for queue in self._lab.queues():
            ends = [queue["node"], queue["to"]]
            waiting.add_metric(ends, queue["packets"])
            size.add_metric(ends, queue["bytes"])
            dropped.add_metric(ends, queue["dropped"])
        yield from (waiting, size, dropped)

    def _tables(self) -> Iterator[Metric]:
        entries = GaugeMetricFamily("dcnlab_flow_entries", "Entries of a switch.", labels=("switch",))
        for switch in self._switches:
            entries.add_metric([switch], len(self._lab.flows(switch)["flows"]))
        yield entries
        counts = GaugeMetricFamily(
            "dcnlab_controller_count", "Counters of the controller.", labels=("counter",)
        )
        counters = self._lab.controller()
        for name, value in counters.items() if counters else ():
            if isinstance(value, int):
                counts.add_metric([name], value)
        yield counts

    def _journal(self) -> Iterator[Metric]:
        with self._reading:
            for record in self._lab.events(after=self._last):
                self._last = max(self._last, record.number)
                self._events[record.kind] += 1
                if isinstance(record.event, Converged):
                    self._convergence.append(record.event.ms / 1000)
            times, kinds = tuple(self._convergence), dict(self._events)
        events = CounterMetricFamily("dcnlab_events", "Events of the lab's journal.", labels=("kind",))
        for kind, count in kinds.items():
            events.add_metric([kind], count)
        yield events
        buckets = [(str(bound), float(sum(time <= bound for time in times))) for bound in BUCKETS]
        buckets.append(("+Inf", float(len(times))))
        text = "Time from the first change of a link until agents and tables agree."
        yield HistogramMetricFamily("dcnlab_convergence_seconds", text, buckets, sum(times))
