"""Running a scenario: launch the lab, follow the timeline, collect the results and judge them."""

from __future__ import annotations

import contextlib
import csv
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from dcnlab.lab.client import Lab
from dcnlab.lab.contract.lab import LabInfo
from dcnlab.lab.contract.values import Figures, JsonObject
from dcnlab.lab.control.rpc import Progress
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.host_load import HostLoad
from dcnlab.lab.measurement.overruns import Overruns
from dcnlab.lab.measurement.traffic import Traffic as Flows
from dcnlab.lab.measurement.traffic import TrafficResult as FlowsResult
from dcnlab.lab.measurement.verify import Verify
from dcnlab.lab.methods.measuring import Underway
from dcnlab.lab.scenario.action import Event
from dcnlab.lab.scenario.check import LAB
from dcnlab.lab.scenario.expect import MACHINE_LIMITED, VALID, VIOLATIONS, Verdict
from dcnlab.lab.scenario.model import Scenario
from dcnlab.lab.scenario.service import Service
from dcnlab.lab.scenario.serving import Serving
from dcnlab.lab.scenario.timeline import Moment, Step, timeline
from dcnlab.lab.scenario.traffic import TrafficAction
from dcnlab.traffic.completion import SizeBin, Throughput

#: From this share in percent on, stolen time is worth a warning.
_MUCH_STOLEN = 5.0


@dataclass(frozen=True)
class FlowsMeasured:
    """Flows of a scenario: what was wanted, what was measured, and the lab as it was when they began.

    ``predicted`` are the same flows offline, by size as in ``measured.bins``; empty where nobody has predicted.
    ``throughput`` is then theirs, beside that of the optimum.
    """

    wanted: Flows
    measured: FlowsResult
    info: LabInfo
    predicted: tuple[SizeBin, ...] = ()
    throughput: Throughput | None = None

    def to_json(self) -> JsonObject:
        """Return measured and predicted times by size of flow, and the throughput of all flows."""
        return {
            "measured": [asdict(one) for one in self.measured.bins],
            "predicted": [asdict(one) for one in self.predicted],
            "throughput": self.throughput and {"measured_mbps": self.measured.mbps, **asdict(self.throughput)},
        }


@dataclass(frozen=True)
class ScenarioResult:
    """The results of a scenario and the verdicts on its expectations; flows also by size, by their name."""

    scenario: Scenario
    results: dict[str, Figures]
    verdicts: tuple[Verdict, ...]
    flows: Mapping[str, FlowsMeasured] = field(default_factory=dict)
    #: The events of the lab meanwhile, as JSON objects.
    events: tuple[Mapping[str, Any], ...] = ()

    @property
    def held(self) -> bool:
        """Whether every expectation held."""
        return all(verdict.held for verdict in self.verdicts)

    def to_json(self) -> JsonObject:
        """What ``dcnlab run --json`` prints."""
        return {
            "title": self.scenario.title,
            "topology": self.scenario.topology,
            "scheme": self.scenario.scheme,
            "results": self.results,
            **({"flows": {name: one.to_json() for name, one in self.flows.items()}} if self.flows else {}),
            "expect": [
                {"text": str(verdict.expectation), "value": verdict.value, "held": verdict.held}
                for verdict in self.verdicts
            ],
            "held": self.held,
            "warnings": self.warnings(),
        }

    def warnings(self) -> list[str]:
        """What makes the results doubtful."""
        about = self.results.get(LAB, {})
        lines = [f"{name} is {one['verdict']}" for name, one in self.results.items() if is_limited(one)]
        if lost := about.get("overruns"):
            lines.append(
                f"the lab lost {lost} packets because it was too slow: `expect: [{LAB}.overruns == 0]`"
                " rejects such a run"
            )
        if (stolen := about.get("steal_percent") or 0) >= _MUCH_STOLEN:
            lines.append(f"the hypervisor took {stolen:g} % of the processor time away")
        return lines

    def rows(self) -> list[tuple[str, str, str, str, object]]:
        """One row per figure, for a spreadsheet: topology, scheme, result, figure, value (a list as words)."""
        beside = {name: asdict(one.throughput) for name, one in self.flows.items() if one.throughput}
        return [
            (self.scenario.topology, self.scenario.scheme, name, figure, _cell(value))
            for name, result in self.results.items()
            for figure, value in {**result, **beside.get(name, {})}.items()
        ]


def _cell(value: object) -> object:
    return " ".join(map(str, value)) if isinstance(value, list) else value


def is_limited(result: Mapping[str, Any]) -> bool:
    """Whether the machine has spoiled a result, or nobody knows."""
    return bool(result.get("verdict", VALID) != VALID)


#: What completes an outcome, such as a prediction of its flows.
Completion = Callable[[ScenarioResult], ScenarioResult]
#: Records a lab into a folder while a ``with`` block runs.
Recording = Callable[[Lab, Path], contextlib.AbstractContextManager[object]]


def run(
    scenario: Scenario,
    stage: Progress,
    note: Progress,
    keep: Path | None = None,
    complete: Completion = lambda outcome: outcome,
    record: Recording = lambda lab, folder: contextlib.nullcontext(),
) -> ScenarioResult:
    """Launch the lab, follow the timeline, end the lab, judge.

    ``stage`` gets the stages of the launch, ``note`` a line per moment.  With ``keep``, the results and the
    final state of the lab are written into that folder, after ``complete``, which runs when the lab has ended;
    ``record`` writes there what happens.
    """
    lab = Lab(scenario.topology, scenario.scheme, scenario.name or "", **scenario.given_options())
    lab.start(stage)
    try:
        for entry in scenario.links:
            lab.impair(*entry.link.names, clear=False, sender=entry.sender, **entry.values())
        with contextlib.nullcontext() if keep is None else record(lab, keep):
            results, flows = _measured(scenario, lab, note)
        events = tuple(record.to_json() for record in lab.events())
        last = _final_state(lab) if keep is not None else {}
        if keep is not None:
            Serving(lab, note).write_logs(keep / "logs")
    finally:
        lab.stop()
    verdicts = tuple(item.judge(results) for item in scenario.expect)
    outcome = complete(ScenarioResult(scenario, results, verdicts, flows, events))
    if keep is not None:
        _write(keep, {"result": outcome.to_json(), **last})
        _write_csv(keep / "result.csv", outcome)
    return outcome


def check(scenario: Scenario, lab: Lab, note: Progress, events: bool = False) -> ScenarioResult:
    """Follow the timeline in a lab that runs already, and judge.

    Without ``events`` no failure is caused, and what the scenario expects of one is left out.  UsageError for
    a lab of another topology or scheme.
    """
    info, wanted = lab.info(), scenario.config()
    here, there = (info["topology"], info["scheme"]), (wanted.validate().fabric.spec, wanted.scheme)
    if here != there:
        raise UsageError(f"{info['name']} is {' with '.join(here)}, but the scenario is {' with '.join(there)}")
    left_out = set() if events else {event.result_name for event in scenario.events}
    expected = tuple(item for item in scenario.expect if item.name not in left_out)
    chosen = scenario.model_copy(update={"events": scenario.events if events else (), "expect": expected})
    results, flows = _measured(chosen, lab, note)
    return ScenarioResult(chosen, results, tuple(item.judge(results) for item in expected), flows)


def _measured(
    scenario: Scenario, lab: Lab, note: Progress
) -> tuple[dict[str, Figures], dict[str, FlowsMeasured]]:
    """The results of a timeline, with those of the lab and of the machine meanwhile; and its flows by size."""
    lost, load = _overruns(lab), HostLoad.now()
    timed = _Run(lab, note, Serving(lab, note))
    results = timed.follow(scenario)
    info, host = lab.info(), load.figures()
    lost_now = _overruns(lab)
    proved = any((one.name, one.figure) == (LAB, VIOLATIONS) for one in scenario.expect)
    about = {
        "launch_s": lab.launch_s,
        **{key: info[key] for key in ("servers", "switches", "links", "datapath")},
        "overruns": None if lost is None or lost_now is None else max(0, lost_now - lost),
        MACHINE_LIMITED: sum(map(is_limited, results.values())),
        **({VIOLATIONS: _violations(lab, note)} if proved else {}),
    }
    return {LAB: {**about, **host}, **results}, timed.flows


def _violations(lab: Lab, note: Progress) -> int:
    """What the proof of the installed tables finds, once the lab has converged."""
    proof = lab.measure(Verify())
    for line in proof.notes():
        note(line)
    return proof.violations


def _overruns(lab: Lab) -> int | None:
    """The packets lost for want of processor time so far; None where the kernel does not count them."""
    try:
        return lab.measure(Overruns()).packets
    except LabError:
        return None


def _final_state(lab: Lab) -> Figures:
    """Nodes, what happened in the lab, the counters of agents, and all tables."""
    nodes = lab.nodes()
    tables = [lab.tables(node["name"]) for node in nodes]
    events = [record.to_json() for record in lab.events()]
    return {"nodes": nodes, "events": events, "stats": lab.stats().servers, "tables": tables}


def _write(folder: Path, parts: JsonObject) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in parts.items():
        (folder / f"{name}.json").write_text(json.dumps(value, indent=2) + "\n")


def _write_csv(path: Path, outcome: ScenarioResult) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("topology", "scheme", "result", "figure", "value"))
        writer.writerows(outcome.rows())


@dataclass
class _Run:
    """One pass over a timeline."""

    lab: Lab
    note: Progress
    serving: Serving
    #: The flows by the name of their result.
    flows: dict[str, FlowsMeasured] = field(default_factory=dict)
    _results: dict[str, Figures] = field(default_factory=dict)
    _underway: dict[str, Underway[Any]] = field(default_factory=dict)
    _infos: dict[str, LabInfo] = field(default_factory=dict)
    _begun: float = 0.0

    def follow(self, scenario: Scenario) -> dict[str, Figures]:
        """Act at every moment; the results by name.

        A measurement whose traffic flows continues beside the next moments.  The runner waits for one that
        does not report its start.
        """
        self.serving.start_before(scenario.services)
        self._begun = time.monotonic()
        for moment in timeline(scenario):
            time.sleep(max(0.0, self._begun + moment.at - time.monotonic()))
            self._do(moment)
        for name, underway in self._underway.items():
            self._keep(name, partial(self._summary, name, underway))
        return {**self._results, **self.serving.results(scenario.services)}

    def _do(self, moment: Moment) -> None:
        action, name = moment.action, moment.action.result_name
        about = _event_text(action) if isinstance(action, Event) else getattr(action, "about", "")
        self._report(f"{moment.step.name.lower():5} {name}{': ' if about else ''}{about}")
        match action:
            case Event():
                self._keep(name, lambda: perform(self.lab, action))
            case Service():
                self._keep(name, lambda: self._serve(action))
            case TrafficAction() if moment.step is Step.BEGIN:
                self._keep(name, lambda: self._begin(action))
            case TrafficAction() if name in self._underway:
                self._underway[name].request_stop()

    def _serve(self, service: Service) -> Figures:
        self.serving.start(service)
        return {}

    def _begin(self, action: TrafficAction) -> Figures:
        if isinstance(action.wanted, Flows):
            self._infos[action.result_name] = self.lab.info()
        self._underway[action.result_name] = self.lab.begin(action.wanted)
        return {}

    def _summary(self, name: str, underway: Underway[Any]) -> Figures:
        """The figures of a measurement, when it has ended; flows are also kept by size."""
        result = underway.result()
        if isinstance(result, FlowsResult) and isinstance(underway.wanted, Flows):
            self.flows[name] = FlowsMeasured(underway.wanted, result, self._infos[name])
        summary: Figures = result.summary()
        if not underway.wanted.timed:
            return summary
        for line in () if result.verdict is None else result.verdict.helps:
            self._report(f"{name}: {line}")
        text = "unknown: nobody could watch the machine" if result.verdict is None else result.verdict.text
        return {**summary, "verdict": text}

    def _keep(self, name: str, measure: Callable[[], Figures]) -> None:
        """Keep a result; one that failed has no figures, so no expectation of it holds."""
        try:
            self._results[name] = measure()
        except LabError as error:
            self._results[name] = {"error": str(error)}
            self._report(f"{name}: {error}")

    def _report(self, text: str) -> None:
        self.note(f"{time.monotonic() - self._begun:8.3f} s  {text}")


def perform(lab: Lab, event: Event) -> Figures:
    """Do at once what an event says; its figures."""
    if event.program:
        return {"exit": lab.run(*event.program).returncode}
    if event.process:
        stopped = {"restart": lab.restart, "kill": lab.kill, "pause": lab.pause}[event.verb](event.process)
        return {"processes": len(stopped.processes), "ms": stopped.ms}
    if event.impair:
        values = event.to.values() if event.to else {}
        changed = lab.impair(*event.impair.names, clear=not values, sender=event.sender, **values)
        return {"links": len({one.number for one in changed})}
    done = (lab.fail if event.fail else lab.restore)(*event.target.names)
    return {key: done[key] for key in ("detection_ms", "converged_ms")} | {"links": len(done["links"])}


def _event_text(event: Event) -> str:
    """What an event does, for the line that announces it."""
    if event.process or event.program:
        return f"{event.verb} {event.process or event.exec}"
    return f"{event.verb} {event.target}"
