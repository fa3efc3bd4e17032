"""The demonstration: launch a small lab, measure it, fail a link under traffic, restore it, end the lab."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dcnlab.lab.client import Lab
from dcnlab.lab.control.rpc import Progress
from dcnlab.lab.measurement.iperf import Iperf
from dcnlab.lab.measurement.stream import Stream
from dcnlab.lab.measurement.traceroute import Traceroute

#: Milliseconds of outage that the demonstration accepts.
_MAX_OUTAGE_MS = 1000


@dataclass
class Demo:
    """The measurements as rows for people and as figures for scripts, and whether all succeeded."""

    rows: list[tuple[str, str]] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)
    held: bool = True

    def add(self, key: str, step: str, value: Any, shown: str, held: bool = True) -> None:
        """Add the result of one step."""
        self.figures[key] = value
        self.rows.append((step, shown if held else f"{shown}  FAILED"))
        self.held &= held


def run(lab: Lab, stage: Progress) -> Demo:
    """Launch the lab, run all steps and end it."""
    demo = Demo()
    lab.start(stage)
    try:
        _introduce(demo, lab)
        stage("all-pairs ping")
        _ping(demo, lab, "ping", "ping all pairs")
        stage("iperf3")
        a, b = _distant_servers(lab)
        _throughput(demo, lab, a, b)
        stage("a link failure under traffic")
        _fail_link(demo, lab, a, b)
    finally:
        lab.stop()
    demo.add("stop_s", "end the lab", lab.stop_s, f"{lab.stop_s} s, nothing left behind")
    demo.figures["held"] = demo.held
    return demo


def _introduce(demo: Demo, lab: Lab) -> None:
    info = lab.info()
    counts = f"{info['servers']} servers, {info['switches']} switches, {info['links']} links"
    demo.figures["info"] = info
    demo.rows.append((f"{info['topology']} with {info['scheme']}", counts))
    demo.add("launch_s", "launch", lab.launch_s, f"{lab.launch_s} s ({info['datapath']} datapath)")


def _ping(demo: Demo, lab: Lab, key: str, step: str) -> None:
    result = lab.pingall()
    rtt = result.rtt_ms
    shown = f"{result.received}/{result.sent} answered, RTT p50 {rtt.p50} ms, p99 {rtt.p99} ms"
    demo.add(key, step, result.to_json(), shown, result.held)


def _distant_servers(lab: Lab) -> tuple[str, str]:
    """The first and the last server: in server-centric topologies there is a relay between them."""
    servers = [node["name"] for node in lab.nodes() if node["kind"] == "server"]
    return servers[0], servers[-1]


def _throughput(demo: Demo, lab: Lab, a: str, b: str) -> None:
    path = lab.route(a, b)
    traced = lab.measure(Traceroute(a, b)).hops
    expected = [name for name in path[1:] if name.startswith("h")]
    demo.add("path", f"path {a} -> {b}", path, " ".join(path))
    demo.add("traceroute", f"traceroute {a} -> {b}", traced, " ".join(traced), traced == expected)
    result = lab.measure(Iperf(a, b, seconds=2))
    relays = len(expected) - 1
    shown = f"{result.mbps:,} Mb/s over {relays} relay{'' if relays == 1 else 's'}"
    demo.add("iperf", f"iperf3 {a} -> {b}", result.to_json(), shown)


def _fail_link(demo: Demo, lab: Lab, a: str, b: str) -> None:
    """Fail the first link of the path while a packet is sent every millisecond, and restore it."""
    path = lab.route(a, b)
    link = f"{path[0]}-{path[1]}"
    stream = lab.begin(Stream(a, b))
    failure = lab.fail(path[0], path[1])
    new_path = lab.route(a, b)
    _ping(demo, lab, "ping_failed", f"ping all pairs, {link} failed")
    restored = lab.restore(path[0], path[1])
    result = stream.stop()
    shown = (
        f"detected in {failure['detection_ms']} ms, tables and agents converged in {failure['converged_ms']} ms"
    )
    demo.add("fail", f"fail {link} under traffic", failure, shown)
    demo.add("path_after", "path after the failure", new_path, " ".join(new_path), new_path != path)
    shown = f"{result.outage_ms} ms outage, {result.lost} of {result.sent} lost"
    survived = result.received > 0 and result.outage_ms < _MAX_OUTAGE_MS
    demo.add("outage", "traffic, failure to restoration", result.to_json(), shown, survived)
    demo.add("restore", f"restore {link}", restored, f"converged in {restored['converged_ms']} ms")
    _ping(demo, lab, "ping_restored", "ping all pairs, restored")
