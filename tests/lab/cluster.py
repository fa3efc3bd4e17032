"""A Dask cluster with TLS whose workers are namespaces with addresses of their own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dcnlab.lab.machines.certificates import Certificates
from tests.lab.terminal import DCNLAB
from tests.lab.underlay import Machine, underlay

#: Seconds within which anything must have happened.
TIMEOUT = 120.0


@dataclass
class Cluster:
    """A scheduler on the first machine and a worker on each."""

    machines: list[Machine]
    workers: list[subprocess.Popen[bytes]]
    environment: dict[str, str]

    @property
    def address(self) -> str:
        """The scheduler's."""
        return f"tls://{self.machines[0].address}:8786"

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


@contextlib.contextmanager
def cluster(count: int, folder: Path) -> Iterator[Cluster]:
    """So many machines with workers of a scheduler, TLS everywhere."""
    certificates = Certificates(folder)
    certificates.create()
    environment = {**os.environ, "DCNLAB_MACHINES": str(folder)}
    dask = [sys.executable, "-m", "dask"]
    with underlay(count) as machines, contextlib.ExitStack() as stack:
        words = ["--host", machines[0].address, "--port", "8786", "--no-dashboard", *certificates.options]
        stack.enter_context(
            _running(machines[0].command([*dask, "scheduler", *words]), folder / "scheduler.log")
        )
        workers = []
        for number, machine in enumerate(machines):
            words = [f"tls://{machines[0].address}:8786", "--host", machine.address, "--name", f"w{number}"]
            words += ["--no-nanny", "--nthreads", "1", "--no-dashboard", *certificates.options]
            command = machine.command([*dask, "worker", *words])
            workers.append(stack.enter_context(_running(command, folder / f"worker{number}.log")))
        for number in range(count):
            until(lambda file=folder / f"worker{number}.log": "Registered to" in file.read_text())
        yield Cluster(machines, workers, environment)


def until(holds: Any) -> None:
    """Wait until something holds; the test fails when it does not."""
    end = time.monotonic() + TIMEOUT
    while not holds():
        if time.monotonic() > end:
            pytest.fail(f"{holds} does not hold after {TIMEOUT:g} s")
        time.sleep(0.05)


@contextlib.contextmanager
def _running(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
