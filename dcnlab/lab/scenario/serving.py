"""The services of a scenario that runs: starting them, and what they have left."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field, replace
from pathlib import Path

from dcnlab.lab.client import Lab
from dcnlab.lab.contract.values import Figures
from dcnlab.lab.control.rpc import Progress
from dcnlab.lab.errors import LabError
from dcnlab.lab.operations import service as start
from dcnlab.lab.options import images
from dcnlab.lab.scenario.service import Service, in_order


@dataclass
class Serving:
    """The services of one run."""

    lab: Lab
    note: Progress
    _hosts: dict[str, list[str]] = field(default_factory=dict)
    _errors: dict[str, str] = field(default_factory=dict)

    def start_before(self, services: tuple[Service, ...]) -> None:
        """Start those without a time, each when those that it waits for are ready; LabError when one fails."""
        for service in in_order(one for one in services if not one.timed):
            self.note(f"service {service.result_name}: {service.about}")
            self.start(service)
            for host in self._hosts[service.result_name]:
                self._await(service, host)

    def start(self, service: Service) -> None:
        """Start one in all of its hosts, without waiting."""
        servers = [node["name"] for node in self.lab.nodes() if node["kind"] == "server"]
        self._hosts[service.result_name] = service.hosts(servers)
        choice = self.lab.config.image
        image = self.lab.with_layout(service.program()).image
        for host in self._hosts[service.result_name]:
            program = replace(service.program(in_image=bool(images.of_host(choice, host))), image=image)
            self.lab.perform(start.Service(service.result_name, host, program, service.ready, 0))

    def results(self, services: tuple[Service, ...]) -> dict[str, Figures]:
        """The result of each service; waits for programs that end by themselves."""
        return {service.result_name: self._result(service) for service in services}

    def write_logs(self, folder: Path) -> None:
        """Write the log of each service into a folder per host."""
        for one in self.lab.services():
            path = folder / one.node / f"{one.name}.log"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.lab.service_log(one.name, one.node))

    def _result(self, service: Service) -> Figures:
        name, hosts = service.result_name, self._hosts.get(service.result_name, [])
        figures: Figures = {"instances": len(hosts)}
        try:
            for host in hosts if service.timed else ():
                self._await(service, host)
        except LabError as error:
            self.note(f"{name}: {error}")
            figures["error"] = str(error)
        states = [one for one in self.lab.services() if one.name == name]
        ready = [one.ready_ms for one in states if one.ready_ms is not None]
        codes = [one.exit for one in states if one.exit is not None]
        figures["ready_ms"] = max(ready) if len(ready) == len(states) and ready else None
        figures["running"] = sum(one.state == "running" for one in states)
        figures["exit"] = max(codes) if codes and len(codes) == len(states) else None
        logs = [service.numbers(self.lab.service_log(name, one.node)) for one in states]
        for figure in service.figures_of_log:
            values = [log[figure] for log in logs]
            known = [value for value in values if value is not None]
            figures[figure] = statistics.fmean(known) if known and len(known) == len(values) else None
        return figures

    def _await(self, service: Service, host: str) -> None:
        self.lab.await_service(service.result_name, host, service.within)
