"""The demonstration: a small data centre launched, measured, cut under traffic, healed, ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dcnlab.lab.client import Lab, Progress


@dataclass
class Demo:
    """What was measured, as rows for people and figures for scripts, and whether all of it held."""

    rows: list[tuple[str, str]] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)
    held: bool = True

    def note(self, key: str, what: str, value: Any, shown: str, held: bool = True) -> None:
        """Add one result."""
        self.figures[key] = value
        self.rows.append((what, shown if held else f"{shown}  FAILED"))
        self.held &= held


def run(topology: str, scheme: str, stage: Progress) -> Demo:
    """Do it all; the lab is gone when this returns."""
    demo = Demo()
    lab = Lab(topology, scheme)
    lab.start(stage)
    try:
        _introduce(demo, lab)
        stage("all-pairs ping")
        _ping(demo, lab, "ping", "all pairs ping")
        stage("iperf3")
        a, b = _far_pair(lab)
        _throughput(demo, lab, a, b)
        stage("a cut under traffic")
        _cut(demo, lab, a, b)
    finally:
        lab.stop()
    demo.note("stop_s", "stopped", lab.stop_s, f"in {lab.stop_s} s, nothing left behind")
    demo.figures["held"] = demo.held
    return demo


def _introduce(demo: Demo, lab: Lab) -> None:
    info = lab.info()
    counts = f"{info['servers']} servers, {info['switches']} switches, {info['links']} links"
    demo.figures["info"] = info
    demo.rows.append((f"{info['topology']} with {info['scheme']}", counts))
    demo.note("launch_s", "launched", lab.launch_s, f"in {lab.launch_s} s ({info['datapath']} datapath)")


def _ping(demo: Demo, lab: Lab, key: str, what: str) -> None:
    found = lab.pingall()
    rtt = found["rtt_ms"]
    shown = f"{found['received']}/{found['sent']}, RTT p50 {rtt['p50']} ms, p99 {rtt['p99']} ms"
    demo.note(key, what, found, shown, found["received"] == found["sent"])


def _far_pair(lab: Lab) -> tuple[str, str]:
    """The first and the last server: in the families that relay they need a relay between them."""
    servers = [node["name"] for node in lab.nodes() if node["kind"] == "server"]
    return servers[0], servers[-1]


def _throughput(demo: Demo, lab: Lab, a: str, b: str) -> None:
    way = lab.route(a, b)
    traced = lab.traceroute(a, b)
    expected = [name for name in way[1:] if name.startswith("h")]
    demo.note("path", f"scheme's path {a} -> {b}", way, " ".join(way))
    demo.note("traceroute", "traceroute shows", traced, " ".join(traced), traced == expected)
    found = lab.iperf(a, b)
    demo.note("iperf", f"iperf3 {a} -> {b}", found, f"{found['mbps']:,} Mb/s over {len(expected) - 1} relay(s)")


def _cut(demo: Demo, lab: Lab, a: str, b: str) -> None:
    """Cut the first link of the way while packets flow every millisecond."""
    way = lab.route(a, b)
    stream = lab.ask("stream_start", a=a, b=b)["stream"]
    cut = lab.fail(way[0], way[1])
    around = lab.route(a, b)
    _ping(demo, lab, "ping_cut", f"all pairs ping, {way[0]}-{way[1]} cut")
    healed = lab.restore(way[0], way[1])
    found = lab.ask("stream_stop", stream=stream)
    survived = found["received"] > 0 and found["outage_ms"] < 1000
    shown = f"noticed in {cut['detection_ms']} ms, tables and agents converged in {cut['converged_ms']} ms"
    demo.note("cut", f"cut {way[0]}-{way[1]} under traffic", cut, shown)
    demo.note("path_after", "path afterwards", around, " ".join(around), around != way)
    shown = f"{found['outage_ms']} ms outage, {found['lost']} of {found['sent']} lost (cut and heal)"
    demo.note("outage", "traffic meanwhile", found, shown, survived)
    demo.note("restore", "healed", healed, f"converged in {healed['converged_ms']} ms")
    _ping(demo, lab, "ping_restored", "all pairs ping, healed")
