"""``python -m dcnlab.lab.instruments.fidelity.watcher``: watches the machine while measurements run.

It is a process of its own, so that it does not wait for the interpreter of the process that measures.  It
runs in the lab's pid namespace, where ``/proc`` has the lab's processes and no others.  A line ``{"begin":
number}`` on standard input begins an observation, ``{"end": number}`` ends it; each is answered with a line.
Without an observation under way it only waits.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dcnlab.lab.instruments.fidelity.observation import (
    AGENTS,
    CONTROL,
    DELAYS,
    PROGRAMS,
    SWITCHES,
    Observation,
    PartSeen,
)
from dcnlab.lab.instruments.packets import packet_sockets

#: Seconds between two timers, and between two looks at processes and queues, of which looking takes at most a
#: share.
_TICK, _LOOK, _SHARE = 0.005, 0.25, 0.01
#: Times per factor of two that the lateness of timers is told apart.
_STEPS = 4
#: The columns of /proc/stat: idle, waiting for disks, interrupts, stolen.
_IDLE, _IO, _IRQ, _SOFTIRQ, _STEAL, _COLUMNS = 3, 4, 5, 6, 7, 8
#: The interface by which programs reach a server's agent, and the column of what it did not take.
_TUN, _SENT_DROPPED = "dcn0", 11
_HZ = os.sysconf("SC_CLK_TCK")
#: The module that holds packets of links back.
_DELAY_LINE = b"dcnlab.lab.emulation.links.delay_line"
#: Processor time, waiting time in ns, and turns.
Times = tuple[int, int, int]


@dataclass
class _Counters:
    """All that only grows."""

    at: float
    stat: tuple[int, ...]
    throttled: float
    threads: dict[tuple[int, int], Times]
    own: Times
    late: Counter[int]
    late_sum: float
    queued: int
    looks: int
    dropped: int


@dataclass
class _Watcher:
    """Reads the machine; ``supervisor`` is the process whose children are the agents."""

    supervisor: int
    kernels: Sequence[socket.socket]
    devices: Sequence[int]
    threads: dict[tuple[int, int], Times] = field(default_factory=dict)
    kinds: dict[int, str] = field(default_factory=dict)
    late: Counter[int] = field(default_factory=Counter)
    late_sum: float = 0.0
    queued: int = 0
    looks: int = 0
    begun: dict[int, _Counters] = field(default_factory=dict)

    def answer(self, request: dict[str, int]) -> Any:
        """Begin an observation, or end it."""
        dropped = self._look()
        if "begin" in request:
            self.begun[request["begin"]] = self._now(dropped)
            return {}
        begun = self.begun.pop(request["end"], None)
        return None if begun is None else asdict(self._between(begun, self._now(dropped)))

    def run(self) -> None:
        """Serve until standard input ends."""
        due = look = 0.0
        while True:
            now = time.monotonic()
            if not self.begun:  # to begin is to look, so that a short measurement is not disturbed again
                due, look = now + _TICK, now + _LOOK
            wait = max(0.0, due - now) if self.begun else None
            if select.select([0], [], [], wait)[0]:
                line = sys.stdin.readline()
                if not line:
                    return
                print(json.dumps(self.answer(json.loads(line))), flush=True)
                continue
            now = time.monotonic()
            self._note(now - due)
            due = max(due + _TICK, now)
            if now >= look:
                self._look()
                look = now + max(_LOOK, (time.monotonic() - now) / _SHARE)

    def _note(self, late: float) -> None:
        """A timer was so late."""
        self.late[_step(late)] += 1
        self.late_sum += late

    def _look(self) -> int:
        """Read processes and queues; the packets dropped so far."""
        self._read_threads()
        dropped = 0
        for kernel in self.kernels:
            with contextlib.suppress(OSError):
                for waiting, lost in packet_sockets.read(kernel):
                    self.queued += waiting
                    dropped += lost
        self.looks += 1
        return dropped

    def _read_threads(self) -> None:
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            with contextlib.suppress(OSError):  # it has ended meanwhile: the last values stay
                pid = int(name)
                if pid not in self.kinds:
                    self.kinds[pid] = _kind(pid, self.supervisor)
                for thread in os.listdir(f"/proc/{name}/task"):
                    self.threads[pid, int(thread)] = _times(f"/proc/{name}/task/{thread}/schedstat")

    def _now(self, dropped: int) -> _Counters:
        lost = dropped + sum(_unread(device) for device in self.devices)
        return _Counters(
            time.monotonic(), _stat(), _throttled(), dict(self.threads), _times("/proc/self/schedstat"),
            Counter(self.late), self.late_sum, self.queued, self.looks, lost,
        )  # fmt: skip

    def _between(self, then: _Counters, now: _Counters) -> Observation:
        """What was seen between two moments."""
        seconds = max(1e-6, now.at - then.at)
        stat = [(after - before) / _HZ for after, before in zip(now.stat, then.stat, strict=True)]
        late = now.late - then.late
        count = late.total() or 1
        own = [after - before for after, before in zip(now.own, then.own, strict=True)]
        return Observation(
            seconds=seconds,
            processors=len(os.sched_getaffinity(0)),
            busy=sum(stat) - stat[_IDLE] - stat[_IO] - stat[_STEAL],
            interrupts=stat[_IRQ] + stat[_SOFTIRQ],
            stolen=stat[_STEAL],
            throttled=now.throttled - then.throttled,
            parts=self._parts(then.threads, now.threads, seconds),
            late_mean=(now.late_sum - then.late_sum) / count,
            late_least=_lateness(min(late, default=0)),
            late_waited=own[1] / 1e9 / max(1, own[2]),
            late_p99=_quantile(late, 0.99),
            queued_bytes=(now.queued - then.queued) / max(1, now.looks - then.looks),
            dropped=max(0, now.dropped - then.dropped),
        )

    def _parts(
        self, then: dict[tuple[int, int], Times], now: dict[tuple[int, int], Times], seconds: float
    ) -> dict[str, PartSeen]:
        by_part: dict[str, PartSeen] = {}
        for (pid, thread), times in now.items():
            before = then.get((pid, thread), (0, 0, 0))
            ran, waited, turns = (max(0, one - other) for one, other in zip(times, before, strict=True))
            kind = self.kinds.get(pid)
            if kind is None or not turns:
                continue
            part, top = by_part.get(kind, PartSeen()), (ran + waited) / 1e9 / seconds
            by_part[kind] = PartSeen(
                part.ran + ran / 1e9, part.waited + waited / 1e9, part.turns + turns, max(part.top, top)
            )
        return by_part


def _kind(pid: int, supervisor: int) -> str:
    """The part of the lab to which a process belongs; OSError when it has ended."""
    head, _, tail = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    name, parent = head.partition("(")[2], int(tail.split()[1])
    if supervisor in (pid, parent):
        return AGENTS
    if name == "ovs-vswitchd":
        return SWITCHES
    argv = _command(pid)
    if pid in (1, os.getpid()) or name == "ovsdb-server" or b"controller" in argv:
        return CONTROL
    return DELAYS if _DELAY_LINE in argv else PROGRAMS


def _command(pid: int) -> list[bytes]:
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")


def _times(path: str) -> Times:
    ran, waited, turns = Path(path).read_text().split()
    return int(ran), int(waited), int(turns)


def _stat() -> tuple[int, ...]:
    """Ticks of all processors."""
    words = Path("/proc/stat").read_text().partition("\n")[0].split()
    return tuple(map(int, words[1 : 1 + _COLUMNS]))


def _throttled() -> float:
    """Seconds for which a limit of this process's control group stopped it; 0 where nothing tells."""
    for name in _groups():
        with contextlib.suppress(OSError, ValueError):
            values = dict(line.split() for line in Path(name, "cpu.stat").read_text().splitlines())
            if "throttled_usec" in values:
                return int(values["throttled_usec"]) / 1e6
            if "throttled_time" in values:
                return int(values["throttled_time"]) / 1e9
    return 0.0


def _groups() -> list[str]:
    """The folders of this process's control group: of version 2, of the controller for processors."""
    groups = []
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers or "cpu" in controllers.split(","):
                groups.append(f"/sys/fs/cgroup{'/cpu' if controllers else ''}{path}")
    return groups


def _unread(device: int) -> int:
    """Packets of a server that its agent did not take, from an open /proc/net/dev."""
    for line in os.pread(device, 1 << 14, 0).decode().splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == _TUN:
            return int(numbers.split()[_SENT_DROPPED])
    return 0


def _step(late: float) -> int:
    """Return the number of the class of a lateness: there are _STEPS for each factor of two, from 1 us."""
    micro, step = max(1.0, late * 1e6), 0
    while micro >= 2:
        micro, step = micro / 2, step + _STEPS
    return step + int((micro - 1) * _STEPS)


def _lateness(step: int) -> float:
    """The lateness in seconds where a class begins."""
    whole, part = divmod(step, _STEPS)
    return 1e-6 * 2.0**whole * (1 + part / _STEPS)


def _quantile(late: Counter[int], share: float) -> float:
    left = share * late.total()
    for step in sorted(late):
        left -= late[step]
        if left <= 0:
            return _lateness(step + 1)
    return 0.0


def _quietly(action: Callable[[], object]) -> None:
    with contextlib.suppress(OSError):
        action()


def main() -> None:
    """Watch, with the descriptors that the arguments name."""
    request = json.loads(sys.argv[1])
    _quietly(lambda: Path("/proc/self/timerslack_ns").write_text("1"))  # timers that are late by themselves
    kernels = [socket.socket(fileno=number) for number in request["kernels"]]
    _Watcher(request["supervisor"], kernels, request["devices"]).run()


if __name__ == "__main__":
    main()
