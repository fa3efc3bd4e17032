"""Machines that are namespaces with addresses of their own: Dask's workers, or servers at Unix sockets."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dcnlab.lab.machines.certificates import Certificates
from tests.lab.terminal import DCNLAB
from tests.lab.underlay import Machine, underlay

#: Seconds within which anything must have happened.
TIMEOUT = 240.0
_SETTINGS = {
    # Dask keeps connections over which nothing comes: how long tests part machines depends on the load.
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "600s",
    # It looks at itself seldom, not a hundred times a second: nothing here reads what it finds.
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__WORKER__MEMORY__MONITOR_INTERVAL": "5s",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "500ms",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "5s",
}


@dataclass
class Machines:
    """Machines for labs, which ``--machines`` names by ``address``."""

    machines: list[Machine]
    address: str
    environment: dict[str, str]
    #: The process on each.
    workers: list[subprocess.Popen[bytes]]

    def up(self, *words: str) -> subprocess.CompletedProcess[str]:
        """`dcnlab up` on the first machine."""
        command = self.machines[0].command([*DCNLAB, "up", *words, "--machines", self.address])
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=self.environment, timeout=TIMEOUT
        )

    def launched(self, name: str, *words: str) -> dict[str, Any]:
        """What `dcnlab up -d --json` prints."""
        done = self.up(*words, "-d", "--json", "--name", name)
        assert done.returncode == 0, done.stderr
        value: dict[str, Any] = json.loads(done.stdout)
        return value


@dataclass
class Cluster(Machines):
    """A scheduler of Dask on the first machine and a worker on each."""

    scheduler: subprocess.Popen[bytes]
    scheduler_log: Path
    #: The command line of each worker, and where its output goes.
    commands: list[tuple[list[str], Path]] = field(default_factory=list)

    def start_again(self, number: int) -> None:
        """Start the worker of a machine that has ended; returns when the scheduler knows it."""
        self.workers[number].wait()
        command, log = self.commands[number]
        self.workers[number] = _started(command, log)
        until(functools.partial(_registered, log))


def served(machine: Machine, path: Path) -> list[str]:
    """The command line of a machine's server."""
    words = ["machines", "serve", "--socket", str(path), "--host", machine.address]
    return machine.command([*DCNLAB, *words])


def _registered(log: Path) -> bool:
    return "Registered to" in log.read_text()


def _listens(process: subprocess.Popen[bytes], path: Path) -> bool:
    return path.is_socket() or process.poll() is not None


@contextlib.contextmanager
def servers(count: int, folder: Path) -> Iterator[Machines]:
    """Machines with a server each at a Unix socket, as `dcnlab machines serve` makes them."""
    with underlay(count) as machines, contextlib.ExitStack() as stack:
        paths = [folder / f"m{number}" for number in range(count)]
        begun = []
        for machine, path in zip(machines, paths, strict=True):
            log = path.with_suffix(".log")
            process = stack.enter_context(running(served(machine, path), log))
            begun.append((process, path, log))
        for process, path, log in begun:
            until(functools.partial(_listens, process, path))
            assert process.poll() is None, log.read_text()
        address = f"unix:{','.join(map(str, paths))}"
        yield Machines(machines, address, dict(os.environ), [process for process, _, _ in begun])


@contextlib.contextmanager
def cluster(count: int, folder: Path, nanny: bool = False, mtu: int = 1500) -> Iterator[Cluster]:
    """Machines with workers of a scheduler, TLS everywhere; with a ``nanny`` Dask starts workers again."""
    certificates = Certificates(folder)
    certificates.create()
    environment = {**os.environ, "DCNLAB_MACHINES": str(folder), **_SETTINGS}
    dask = [sys.executable, "-m", "dask"]
    with underlay(count, mtu) as machines, contextlib.ExitStack() as stack:
        log = folder / "scheduler.log"
        words = ["--host", machines[0].address, "--port", "8786", "--no-dashboard", *certificates.options]
        scheduler = stack.enter_context(running(machines[0].command([*dask, "scheduler", *words]), log))
        address = f"tls://{machines[0].address}:8786"
        started = Cluster(machines, address, environment, [], scheduler, log)
        for number, machine in enumerate(machines):
            words = [f"tls://{machines[0].address}:8786", "--host", machine.address, "--name", f"w{number}"]
            words += ["--nanny" if nanny else "--no-nanny", "--nthreads", "1", "--no-dashboard"]
            words += certificates.options
            command = machine.command([*dask, "worker", *words])
            started.commands.append((command, folder / f"worker{number}.log"))
            started.workers.append(_started(*started.commands[-1]))
            stack.callback(lambda number=number: _end(started.workers[number]))
        for _, log in started.commands:
            until(functools.partial(_registered, log))
        yield started


def until(holds: Any) -> None:
    """Wait until something holds; the test fails when it does not."""
    end = time.monotonic() + TIMEOUT
    while not holds():
        if time.monotonic() > end:
            pytest.fail(f"{holds} does not hold after {TIMEOUT:g} s")
        time.sleep(0.05)


@contextlib.contextmanager
def running(
    command: list[str], log: Path, settings: Mapping[str, str] = _SETTINGS
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends with the block, with these settings of Dask."""
    process = _started(command, log, settings)
    try:
        yield process
    finally:
        _end(process)


def _started(command: list[str], log: Path, settings: Mapping[str, str] = _SETTINGS) -> subprocess.Popen[bytes]:
    with log.open("wb") as file:
        return subprocess.Popen(
            command,
            stdout=file,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **settings},
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
