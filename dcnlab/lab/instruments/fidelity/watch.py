"""Starts the watcher of a machine, and asks it."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import threading
from functools import cache
from typing import TYPE_CHECKING, Any

from dcnlab.lab import python_process
from dcnlab.lab.contract.codec import decode
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.emulation.running import Running
from dcnlab.lab.instruments.fidelity.observation import Observation
from dcnlab.lab.instruments.packets import packet_sockets
from dcnlab.lab.instruments.probe import Context, Probe

if TYPE_CHECKING:
    from dcnlab.lab.running.local_machine import LocalMachine


class Watch:
    """The watcher of a lab's machine, from the first observation on."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._process: subprocess.Popen[str] | None = None

    def begin(self) -> int:
        """Begin an observation; its number.  OSError where the watcher cannot run."""
        number = next(self._numbers)
        self._ask(begin=number)
        return number

    def end(self, number: int) -> Observation:
        """What was seen since; OSError when the watcher has ended meanwhile."""
        seen = self._ask(end=number)
        if seen is None:
            raise OSError("the watcher ended meanwhile")
        observation: Observation = decode(Observation, seen)
        return observation

    def _ask(self, **request: int) -> Any:
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._process = _start(self._running)
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        if not line:
            raise OSError("the watcher of the machine has ended")
        return json.loads(line)


@cache
def of(lab: LocalMachine) -> Watch:
    """The watch of a lab."""
    return Watch(lab.running)


def _start(running: Running) -> subprocess.Popen[str]:
    """The watcher, with a socket to the kernel and the counters of each namespace."""
    names = sorted({running.namespace(node) for node in (*running.servers, *running.switches)})
    with contextlib.ExitStack() as stack:
        kernels = [stack.enter_context(netns.inside(name, packet_sockets.asking)).fileno() for name in names]
        devices = []
        for name in sorted({running.namespace(node) for node in running.servers}):
            devices.append(netns.inside(name, lambda: os.open("/proc/thread-self/net/dev", os.O_RDONLY)))
            stack.callback(os.close, devices[-1])
        supervisor = 0 if running.agents is None else running.agents.process.pid
        request = {"supervisor": supervisor, "kernels": kernels, "devices": devices}
        argv = python_process.command("dcnlab.lab.instruments.fidelity.watcher", json.dumps(request))
        return subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            pass_fds=[*kernels, *devices], env=python_process.environment(),
        )  # fmt: skip


class WatchProbe(Probe):
    """The watch of a machine during a measurement."""

    def __init__(self, lab: LocalMachine, context: Context) -> None:
        super().__init__(lab, context)
        self._watch = of(lab)
        self._number: int | None = None

    def begin(self) -> bool:
        """Begin to watch; whether the machine can."""
        with contextlib.suppress(OSError):
            self._number = self._watch.begin()
        return self._number is not None

    def seen(self) -> Observation | None:
        """What was seen since; None where nobody could watch."""
        number, self._number = self._number, None
        with contextlib.suppress(OSError):
            return None if number is None else self._watch.end(number)
        return None

    def close(self) -> None:
        self.seen()
