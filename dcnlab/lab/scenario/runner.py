"""Running a scenario: the lab launched, the timeline followed, results collected and judged."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dcnlab.lab.client import Lab, Progress
from dcnlab.lab.errors import LabError
from dcnlab.lab.instruments.echo import IPERF_PORT
from dcnlab.lab.scenario.check import LAB
from dcnlab.lab.scenario.expect import Verdict
from dcnlab.lab.scenario.model import Action, Event, PathQuery, Pings, Scenario, Stream, Throughput
from dcnlab.lab.scenario.timeline import Moment, Step, timeline
from dcnlab.lab.scenario.values import Pair

Result = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What a scenario found."""

    scenario: Scenario
    results: dict[str, Result]
    verdicts: tuple[Verdict, ...]

    @property
    def held(self) -> bool:
        """Whether every expectation did."""
        return all(verdict.held for verdict in self.verdicts)

    def to_json(self) -> dict[str, Any]:
        """What ``dcnlab run --json`` prints."""
        return {
            "title": self.scenario.title,
            "topology": self.scenario.topology,
            "scheme": self.scenario.scheme,
            "results": self.results,
            "expect": [
                {"text": str(verdict.expectation), "value": verdict.value, "held": verdict.held}
                for verdict in self.verdicts
            ],
            "held": self.held,
        }

    def rows(self) -> list[tuple[str, str, str, str, object]]:
        """One per figure, for a spreadsheet: topology, scheme, result, figure, value (lists as words)."""
        return [
            (self.scenario.topology, self.scenario.scheme, name, figure, _cell(value))
            for name, result in self.results.items()
            for figure, value in result.items()
        ]


def _cell(value: object) -> object:
    return " ".join(map(str, value)) if isinstance(value, list) else value


def run(scenario: Scenario, stage: Progress, note: Progress, keep: Path | None = None) -> Outcome:
    """Launch, follow the timeline, end, judge.

    ``stage`` hears the stages of the launch, ``note`` a line per moment.  With ``keep``,
    the results and what the lab knew at its end are written into that folder.
    """
    lab = Lab(scenario.topology, scenario.scheme, **scenario.given_options())
    lab.start(stage)
    try:
        results = {LAB: _about(lab), **_Run(lab, note).follow(timeline(scenario))}
        last = _final_state(lab) if keep is not None else {}
    finally:
        lab.stop()
    outcome = Outcome(scenario, results, tuple(item.judge(results) for item in scenario.expect))
    if keep is not None:
        _write(keep, {"result": outcome.to_json(), **last})
        _write_csv(keep / "result.csv", outcome)
    return outcome


def _about(lab: Lab) -> Result:
    info = lab.info()
    return {
        "launch_s": lab.launch_s,
        **{key: info[key] for key in ("servers", "switches", "links", "datapath")},
    }


def _final_state(lab: Lab) -> dict[str, Any]:
    """The state of the lab: nodes, changes of links, the agents' counters, all tables."""
    nodes = lab.nodes()
    tables = [lab.tables(node["name"]) for node in nodes]
    return {"nodes": nodes, "events": lab.ask("events"), "stats": lab.ask("stats"), "tables": tables}


def _write(folder: Path, parts: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in parts.items():
        (folder / f"{name}.json").write_text(json.dumps(value, indent=2) + "\n")


def _write_csv(path: Path, outcome: Outcome) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("topology", "scheme", "result", "figure", "value"))
        writer.writerows(outcome.rows())


@dataclass
class _Run:
    """One pass over a timeline."""

    lab: Lab
    note: Progress
    _results: dict[str, Result] = field(default_factory=dict)
    _streams: dict[str, int] = field(default_factory=dict)
    _pending: dict[str, Future[Result]] = field(default_factory=dict)
    _begun: float = 0.0

    def follow(self, moments: tuple[Moment, ...]) -> dict[str, Result]:
        """Do what each moment says when it comes; the results by name.

        Probes, cuts and ways are asked for in order; pings and iperf3 take their time
        beside them.
        """
        with ThreadPoolExecutor(max_workers=max(1, len(moments))) as self._workers:
            self._begun = time.monotonic()
            for moment in moments:
                time.sleep(max(0.0, self._begun + moment.at - time.monotonic()))
                self._do(moment)
            for name, future in self._pending.items():
                self._keep(name, future.result)
        return self._results

    def _do(self, moment: Moment) -> None:
        action, name = moment.action, moment.action.label
        self._say(f"{moment.step.name.lower():5} {name}{_words(action)}")
        match action:
            case Stream() if moment.step is Step.BEGIN:
                self._keep(name, lambda: self._start_stream(action))
            case Stream() if name in self._streams:
                self._keep(name, lambda: self.lab.ask("stream_stop", stream=self._streams[name]))
            case Throughput():
                port = IPERF_PORT + len(self._pending)
                self._pending[name] = self._workers.submit(_throughput, self.lab, action, port)
            case Pings():
                self._pending[name] = self._workers.submit(_pings, self.lab, action)
            case PathQuery():
                self._keep(name, lambda: _path(self.lab, action.path))
            case Event():
                self._keep(name, lambda: self._event(action))

    def _start_stream(self, action: Stream) -> Result:
        asked = self.lab.ask("stream_start", a=action.stream.a, b=action.stream.b, interval=action.every)
        self._streams[action.label] = asked["stream"]
        return {}

    def _event(self, event: Event) -> Result:
        done = (self.lab.fail if event.fail else self.lab.restore)(*event.target.names)
        return {key: done[key] for key in ("detection_ms", "converged_ms")} | {"links": len(done["links"])}

    def _keep(self, name: str, measure: Callable[[], Result]) -> None:
        """Keep what is measured; what fails has no figures, so nothing expected of it holds."""
        try:
            self._results[name] = measure()
        except LabError as error:
            self._results[name] = {"error": str(error)}
            self._say(f"{name}: {error}")

    def _say(self, text: str) -> None:
        self.note(f"{time.monotonic() - self._begun:8.3f} s  {text}")


def _throughput(lab: Lab, action: Throughput, port: int) -> Result:
    words: dict[str, Any] = {"a": action.iperf.a, "b": action.iperf.b, "seconds": action.duration, "port": port}
    if action.udp:
        words |= {"udp": True, "rate": action.udp}
    found: Result = lab.ask("iperf", parallel=action.parallel, **words)
    return found


def _pings(lab: Lab, action: Pings) -> Result:
    found = lab.pingall(
        pairs=[[action.ping.a, action.ping.b]] if isinstance(action.ping, Pair) else action.ping
    )
    rtt = found["rtt_ms"]
    return {
        "sent": found["sent"],
        "received": found["received"],
        "lost": len(found["lost"]),
        "rtt_p50_ms": rtt["p50"],
        "rtt_p99_ms": rtt["p99"],
    }


def _path(lab: Lab, pair: Pair) -> Result:
    nodes = lab.route(pair.a, pair.b)
    relays = sum(name.startswith("h") for name in nodes[1:-1])
    return {"nodes": nodes, "links": len(nodes) - 1, "relays": relays}


def _words(action: Action) -> str:
    """What an act is about, for the line that announces it."""
    if isinstance(action, Event):
        return f": {'fail' if action.fail else 'restore'} {action.target.kind} {' '.join(action.target.names)}"
    about = next(getattr(action, key) for key in ("stream", "iperf", "ping", "path") if hasattr(action, key))
    return f": {about.a} -> {about.b}" if isinstance(about, Pair) else f": {about}"
