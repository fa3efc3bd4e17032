"""Runs cases in a lab, and compares what comes out with what must."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from benchmarks.conformance.case import Case, Step
from benchmarks.conformance.frames import MARK
from benchmarks.conformance.peer import PORTS
from dcnlab import Lab
from hostagent.options import FastPathMode

TOPOLOGY, SCHEME, SWITCH = "hypercube:1,hosts=3", "shortest", "s0"
_ROOT = Path(__file__).parents[2]
_OPENFLOW = ("-O", "OpenFlow13")
#: What ends a measurement leaves by all ports, and by Open vSwitch itself, since the kernel has no notes.
_END = f"priority=60000,dl_dst={':'.join(['0e'] * 6)} actions=note:00,output:1,output:2,output:3,IN_PORT"
_OUTPUT, _GROUPWISE = re.compile(r"\s*output:(\d+)\s*$"), re.compile(r"\s*(ALL|FLOOD)\s*$")


@dataclass
class Peer:
    """The program in a lab, and what the lab holds of the case before."""

    lab: Lab
    requests: TextIO
    answers: TextIO
    groups: bool = True
    meters: bool = True
    down: tuple[int, ...] = ()

    def ask(self, **request: Any) -> Any:
        """Its answer to a request."""
        self.requests.write(json.dumps(request) + "\n")
        self.requests.flush()
        line = self.answers.readline()
        if not line:
            raise SystemExit("the program in the lab has ended")
        try:
            return json.loads(line)
        except ValueError:  # the program's own error
            raise SystemExit(line + self.answers.read()) from None

    def set_down(self, ports: tuple[int, ...]) -> None:
        """Cut the links of these ports, and no others."""
        for port in PORTS:
            if (port in ports) != (port in self.down):
                (self.lab.fail if port in ports else self.lab.restore)(SWITCH, f"h{port - 1}")
        self.down = ports

    def steps(self, steps: Sequence[tuple[Step, str]]) -> str:
        """Carry out steps, each with its input; why one is not as it should be, if one is not."""
        return str(
            self.ask(steps=[(_with_switch(one.argv), text, one.refused, one.until_gone) for one, text in steps])
        )


def _with_switch(argv: Sequence[str]) -> list[str]:
    command = next(number for number, word in enumerate(argv) if not word.startswith("-"))
    return [*_OPENFLOW, *argv[: command + 1], SWITCH, *argv[command + 1 :]]


@contextmanager
def peer(switch_fast_path: FastPathMode) -> Iterator[Peer]:
    """A lab with the program in it."""
    with Lab(TOPOLOGY, SCHEME, datapath="userspace", switch_fast_path=switch_fast_path) as lab:
        requests, answers = os.pipe(), os.pipe()
        argv = ["env", f"PYTHONPATH={_ROOT}", sys.executable, "-P", "-m", "benchmarks.conformance.peer",
                 MARK.decode()]  # fmt: skip
        process = lab.popen(SWITCH, argv, stdin=requests[0], stdout=answers[1])
        os.close(requests[0])
        os.close(answers[1])
        with os.fdopen(requests[1], "w") as to, os.fdopen(answers[0]) as back:
            yield Peer(lab, to, back)
        process.wait()


def run(one: Peer, case: Case) -> str:
    """Why a case is wrong; empty where it is right."""
    one.set_down(case.down)
    before: list[tuple[Step, str]] = []
    if one.meters:
        before.append((Step(("del-meters",)), ""))
    if one.groups:
        before.append((Step(("del-groups",)), ""))
    before += [(Step(("add-group", text)), "") for text in reversed(case.groups)]
    before += [(Step(("add-meter", text)), "") for text in case.meters]
    before.append((Step(("add-flows", "-")), "\n".join(("delete", _END, *case.flows)) + "\n"))
    one.groups, one.meters = bool(case.groups), bool(case.meters)
    again = Step(("add-flow", _END))  # a step may have deleted it
    if failed := one.steps(before) or one.steps([(step, "") for step in (*case.then, again)]):
        return failed
    one.lab.tables(SWITCH)  # waits until the kernel has the entries
    frames = [(port, bytes(frame).hex()) for port, frame in case.sends]
    answer = one.ask(frames=frames, down=case.down)
    return verdict(case, {int(port): arrived for port, arrived in answer["found"].items()}, answer["seconds"])


def verdict(case: Case, frames: dict[int, list[str]], seconds: float) -> str:
    """What is wrong with the frames that each port got; empty where nothing is."""
    sent = Counter(bytes(frame).hex() for _, frame in case.sends)
    if not case.one_of:
        for port in PORTS:
            wanted = Counter(bytes(frame).hex() for frame in case.expected.get(port, ()))
            if Counter(frames[port]) != wanted:
                return f"port {port}: {_difference(wanted, Counter(frames[port]))}"
        return ""
    if strays := [port for port in PORTS if frames[port] and port not in case.one_of]:
        return f"port {strays[0]} got frames"
    got = Counter(frame for port in case.one_of for frame in frames[port])
    if case.most is not None:
        rate, burst = case.most
        bound = rate * seconds + burst + 1
        return (
            "" if 0 < got.total() <= bound and not got - sent else f"{got.total()} frames, at most {bound:.0f}"
        )
    for port in case.one_of:
        if any(count != sent[frame] for frame, count in Counter(frames[port]).items()):
            return f"port {port} got a part of a flow"
    return "" if got == sent else _difference(sent, got)


def _difference(wanted: Counter[str], frames: Counter[str]) -> str:
    missing, extra = wanted - frames, frames - wanted
    if not extra:
        return f"{missing.total()} of {wanted.total()} frames are missing"
    if not missing:
        return f"{extra.total()} frames too many"
    return f"{min(extra)[:100]} instead of {min(missing)[:100]}"


def traced(one: Peer, case: Case) -> bool | None:
    """Whether Open vSwitch's ``ofproto/trace`` sends as many frames by each port as the case expects, just
    after it has run; None where a trace cannot say so."""
    chosen_later = any("type=select" in group for group in case.groups)  # by a hash that a trace has not
    if case.one_of or case.meters or not case.flows or chosen_later:
        return None
    counts: Counter[int] = Counter()
    for port, frame in case.sends:
        text = one.ask(trace=[SWITCH, f"in_port={port}", bytes(frame).hex()])
        counts.update(_ports(text.split("Final flow:")[0].splitlines(), port))
    return all(counts[port] == len(case.expected.get(port, ())) for port in PORTS)


def _ports(lines: Sequence[str], came_by: int) -> Iterator[int]:
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if _GROUPWISE.match(line):
            yield from (port for port in PORTS if port != came_by)
        elif line.strip() == "IN_PORT":
            yield came_by
        elif (match := _OUTPUT.match(line)) and ">>" not in after:
            yield int(match[1])
