"""The coordinator of a lab on many machines, with machines that are simulated: a launch, a cut, a lost machine.

    python -m benchmarks coordinator [TOPOLOGY] [--scheme NAME] [--machines N] [--cuts N] [--idle S] [--json]

The coordinator is the real one: placement, parts, requests, observations, the link state and its convergence.
A simulated machine answers each message at once, as one with no work would: it says which of its links have no
carrier.  So the figures are the coordinator's own times, and what real machines and their network need comes on
top.  Messages are encoded and decoded as JSON; Dask, which carries them between machines, is left out.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any
from unittest.mock import patch

from dcnlab.lab.contract import codec
from dcnlab.lab.contract.machine import Observation
from dcnlab.lab.contract.part import PartLaunched, Result
from dcnlab.lab.emulation import capacity
from dcnlab.lab.machines import placement, transport
from dcnlab.lab.machines.coordination import coordination
from dcnlab.lab.machines.launching import Launch
from dcnlab.lab.machines.members import Members
from dcnlab.lab.machines.transport.contract import Worker
from dcnlab.lab.operations.change_links import ChangedLinks
from dcnlab.lab.options.config import LabConfig
from dcnlab.lab.options.local_part import LocalPart
from topos.fabric import Fabric
from topos.graph import Port

#: Seconds within which a machine answers that nothing has changed, as parts do.
_NEWS = 2.0


@dataclass
class Traffic:
    """What was said between the coordinator and all machines."""

    messages: int = 0
    octets: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def passed(self, value: Any) -> Any:
        """A value after it has crossed the network."""
        data = json.dumps(codec.encode(value))
        with self.lock:
            self.messages, self.octets = self.messages + 1, self.octets + len(data)
        return value


class Answer:
    """What an actor answers: at once, or when something has changed."""

    def __init__(self, answer: Callable[[float | None], Any]) -> None:
        self._answer = answer

    def result(self, timeout: float | None = None) -> Any:
        """The answer; TimeoutError where there is none within ``timeout`` seconds."""
        return self._answer(timeout)


class SimulatedPart:
    """The part of a machine, in the place of :class:`dcnlab.lab.machines.machine_server.MachineServer`."""

    def __init__(self, fabric: Fabric, traffic: Traffic, part: LocalPart) -> None:
        self._fabric, self._traffic = fabric, traffic
        self.part: LocalPart = traffic.passed(part)
        self._down: set[Port] = set()
        self._changed, self._lost = threading.Condition(), False
        self._numbers, self._asked = itertools.count(), dict[int, Mapping[str, Any]]()

    def call(self, method: str, *arguments: Any) -> Answer:
        """Call one of the methods below."""
        answer: Answer = getattr(self, method)(*arguments)
        return answer

    def close(self) -> None:
        """There is nothing to close."""

    def lose(self) -> None:
        """From now on it answers as a machine does whose worker has ended."""
        with self._changed:
            self._lost = True
            self._changed.notify_all()

    def launch(self, again: bool) -> Answer:
        """There is nothing to launch."""
        return self._at_once(PartLaunched({"agents": 0.0}, 0.0))

    def clock(self) -> Answer:
        """Its clock is ours."""
        return self._at_once(time.monotonic())

    def stop(self) -> Answer:
        """It ends."""
        return self._at_once(None)

    def ask(self, request: Mapping[str, Any]) -> Answer:
        """The answer to a request, and its number."""
        number, wanted = next(self._numbers), self._traffic.passed(dict(request))
        if wanted["op"] == "own_links":
            self._asked[number] = wanted
            asked = time.monotonic()
            return Answer(lambda timeout: (number, self._news(number, asked, timeout)))
        return self._at_once((number, [Result(self._perform(wanted))]))

    def fetch(self, number: int) -> Answer:
        """What has come for a request since."""
        asked = time.monotonic()
        return Answer(lambda timeout: self._news(number, asked, timeout))

    def _at_once(self, value: Any) -> Answer:
        def answer(timeout: float | None) -> Any:
            if self._lost:
                raise OSError("the worker has ended")
            return self._traffic.passed(value)

        return Answer(answer)

    def _news(self, number: int, asked: float, timeout: float | None) -> list[Any]:
        """What it observes, once that is news; nothing a while after it was asked; TimeoutError before."""
        known = self._asked[number].get("known")
        end = time.monotonic() + _NEWS if timeout is None else time.monotonic() + timeout
        with self._changed:
            while True:
                if self._lost:
                    raise OSError("the worker has ended")
                seen, now = codec.encode(self._observed()), time.monotonic()
                if known is None or seen["carriers"] != known["carriers"]:
                    del self._asked[number]
                    return [self._traffic.passed(Result(seen))]
                if now >= asked + _NEWS:
                    return list(self._traffic.passed([]))
                if now >= end:
                    raise TimeoutError
                self._changed.wait(min(end, asked + _NEWS) - now)

    def _observed(self) -> Observation:
        return Observation(frozenset(self._down), frozenset(), time.monotonic())

    def _perform(self, wanted: Mapping[str, Any]) -> Any:
        if wanted["op"] == "elsewhere":
            return None
        if wanted["op"] == "impair":
            return {"links": []}
        assert wanted["op"] == "change_links", wanted["op"]
        with self._changed:
            for number in wanted["links"]:
                link = self._fabric.link(number)
                ends = {end for end in (link.a, link.b) if end.node in self.part.nodes}
                (self._down.difference_update if wanted["up"] else self._down.update)(ends)
            self._changed.notify_all()
            observed = self._observed()
        nothing: dict[str, Any] = {"links": [], "silent": [], "still_down": [], "repair": None}
        nothing |= dict.fromkeys(("detection_ms", "converged_ms", "flow_mods", "switches", "tables_ms"), 0)
        return codec.encode(ChangedLinks(up=wanted["up"], observed=observed, **nothing))


class SimulatedCluster:
    """In the place of a transport: machines of equal size, with a server each."""

    def __init__(self, fabric: Fabric, machines: int) -> None:
        self.fabric, self.traffic = fabric, Traffic()
        needed = capacity.memory_needed(fabric, "workers")
        size = {"cores": 16, "memory": 2 * needed // machines + (1 << 32)}
        addresses = [f"10.{number >> 8}.{number & 255}.1" for number in range(machines)]
        self._workers = [
            Worker(f"tcp://{address}:1", placement.Machine(f"m{number}", **size), address, 9000, True)
            for number, address in enumerate(addresses)
        ]
        self.parts: dict[str, SimulatedPart] = {}

    def workers(self) -> list[Worker]:
        """All machines."""
        return list(self._workers)

    def worker_again(self, before: Worker) -> Worker:
        """A machine that was lost answers again."""
        return before

    def serve(self, worker: Worker, *arguments: Any, **_: Any) -> SimulatedPart:
        """A server on a machine."""
        part = self.parts[worker.worker] = SimulatedPart(self.fabric, self.traffic, arguments[3])
        return part

    def close(self) -> None:
        """There is nothing to close."""


class Stages:
    """Seconds, processor seconds, messages and bytes of each stage."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self.costs: dict[str, dict[str, float]] = {}

    @contextmanager
    def stage(self, name: str, times: int = 1) -> Iterator[None]:
        """Measure what is done meanwhile, so many ``times``."""
        before = time.monotonic(), time.process_time(), self._traffic.messages, self._traffic.octets
        yield
        after = time.monotonic(), time.process_time(), self._traffic.messages, self._traffic.octets
        wall, cpu, messages, octets = ((b - a) / times for a, b in zip(before, after, strict=True))
        self.costs[name] = {"s": wall, "cpu_s": cpu, "messages": messages, "kb": octets / 1024}


def measure(topology: str, scheme: str, machines: int, cuts: int, idle: float) -> dict[str, Any]:
    """All stages; the lab has ended when this returns."""
    config = LabConfig.of(topology, scheme, machines="tcp://127.0.0.1:8786", agents="workers")
    fabric = config.validate().fabric
    simulated = SimulatedCluster(fabric, machines)
    stages = Stages(simulated.traffic)
    with patch.object(transport, "connect", lambda address: simulated):
        with stages.stage("launch"):
            launched = Launch(config, lambda stage: None)
        lab = launched.lab
        lab.others = members = Members(launched)
        try:
            crossing, inner = _links(launched, cuts)
            for name, links in (("between machines", crossing), ("inside a machine", inner)):
                for word, up in (("cut", False), ("restored", True)):
                    with stages.stage(f"a link {name} {word}", len(links)):
                        for link in links:
                            lab.change_links([link], up=up)
            with stages.stage(f"{idle:g} s idle"):
                time.sleep(idle)
            lost = simulated.workers()[machines // 2]
            revision = len(lab.link_state.state().down)
            with stages.stage("a machine lost"):
                simulated.parts[lost.worker].lose()
                _until(lambda: len(lab.link_state.state().down) > revision)
                lab.link_state.await_state()
            down = len(lab.link_state.state().down)
            with stages.stage("the machine back"):
                members.rejoin(lost.machine.name)
            assert not lab.link_state.state().down
        finally:
            lab.end()
    size = {"servers": fabric.servers, "switches": fabric.switches, "links": len(fabric.link_ends)}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    more = {"links_cut": len(launched.placement.cut), "links_of_lost": down, "memory_mb": peak}
    planned = asdict(coordination(launched.placement))
    return {
        "topology": topology,
        "machines": machines,
        **size,
        **more,
        "planned": planned,
        "stages": stages.costs,
    }


def _links(launched: Launch, count: int) -> tuple[list[int], list[int]]:
    """Links between machines and inside one, spread over the lab."""
    crossing = list(launched.placement.cut)
    between = set(crossing)
    inner = [link for link in range(len(launched.fabric.link_ends)) if link not in between]
    return crossing[:: max(1, len(crossing) // count)][:count], inner[:: max(1, len(inner) // count)][:count]


def _until(reached: Callable[[], bool]) -> None:
    while not reached():
        time.sleep(0.001)


def show(figures: Mapping[str, Any]) -> None:
    """Print the stages."""
    print(
        f"{figures['topology']}: {figures['servers']:,} servers, {figures['switches']:,} switches,"
        f" {figures['links']:,} links on {figures['machines']} machines; {figures['links_cut']:,} links between"
        f" machines, {figures['links_of_lost']:,} at the one that is lost; {figures['memory_mb']:,} MB"
    )
    print(f"{'stage':32}{'s':>10}{'CPU s':>10}{'messages':>10}{'KB':>12}")
    for name, one in figures["stages"].items():
        print(f"{name:32}{one['s']:10.4f}{one['cpu_s']:10.4f}{one['messages']:10,.0f}{one['kb']:12,.1f}")
    plan = figures["planned"]
    print(
        f"`dcnlab plan` says: launch {plan['launch_s']:.1f} s, a link {plan['change_ms'] / 1000:.4f} s and"
        f" {plan['messages']} messages, idle {100 * plan['idle']:.1f} % of a processor"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks coordinator")
    parser.add_argument("topology", nargs="?", default="bcube:8,3")
    parser.add_argument("--scheme", default="brp")
    parser.add_argument("--machines", type=int, default=64)
    parser.add_argument("--cuts", type=int, default=5, help="links that are cut, one after the other")
    parser.add_argument("--idle", type=float, default=10.0, help="seconds without any change")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = measure(options.topology, options.scheme, options.machines, options.cuts, options.idle)
    print(json.dumps(figures)) if options.json else show(figures)


if __name__ == "__main__":
    main()
