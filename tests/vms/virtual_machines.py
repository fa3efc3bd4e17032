"""Virtual machines as the workers of a real Dask scheduler with TLS: each boots a kernel of its own.

They are user-mode Linux on this machine's files (vagrant/uml/run.sh), each in a network namespace whose only
interface its kernel drives.  A bridge in another namespace joins them.  The scheduler and the user's command
run in one more namespace.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from dcnlab.lab.machines.certificates import Certificates
from tests.lab.cluster import Cluster, running, until
from tests.lab.underlay import Machine, underlay

_ROOT = Path(__file__).resolve().parents[2]
#: Where the machines see the folder with the certificates.
_SHARED = Certificates(Path("/run/shared"))


@dataclass
class VirtualMachine:
    """A machine with a kernel of its own; ``process`` is the script that has booted it."""

    command: list[str]
    environment: dict[str, str]
    log: Path
    process: subprocess.Popen[bytes] | None = None

    def boot(self) -> None:
        """Start it; returns when its worker has registered."""
        with self.log.open("wb") as file:
            self.process = subprocess.Popen(
                self.command, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                env=self.environment,
            )  # fmt: skip
        until(lambda: "Registered to" in self.log.read_text(errors="replace"))

    def kill(self) -> None:
        """Switch it off without a word: its kernel and the processes that this runs, which lead groups of
        their own."""
        if self.process is not None:
            for process in psutil.Process(self.process.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            self.process.kill()
            self.process.wait()
        self.process = None


@contextlib.contextmanager
def virtual_machines(count: int, folder: Path) -> Iterator[tuple[Cluster, list[VirtualMachine]]]:
    """So many virtual machines, and where their scheduler and their user are."""
    certificates = Certificates(folder)
    certificates.create()
    environment = {**os.environ, "DCNLAB_MACHINES": str(folder)}
    with underlay(count + 1) as (here, *places), contextlib.ExitStack() as stack:
        log = folder / "scheduler.log"
        words = ["--host", here.address, "--port", "8786", "--no-dashboard", *certificates.options]
        command = here.command([sys.executable, "-m", "dask", "scheduler", *words])
        scheduler = stack.enter_context(running(command, log, {}))
        machines = [_machine(number, place, here.address, folder) for number, place in enumerate(places)]
        for machine in machines:
            stack.callback(machine.kill)
            machine.boot()
        address = f"tls://{here.address}:8786"
        yield Cluster([here, *places], address, environment, [], scheduler, log), machines


def _machine(number: int, place: Machine, scheduler: str, folder: Path) -> VirtualMachine:
    subprocess.run(place.command(["ip", "address", "flush", "dev", "up0"]), check=True)
    worker = [f"tls://{scheduler}:8786", "--host", place.address, "--name", f"w{number}", "--no-nanny",
              "--nthreads", "1", "--no-dashboard", *_SHARED.options]  # fmt: skip
    inside = [
        "ip link set vec0 up",
        f"ip address add {place.address}/24 dev vec0",
        f"exec {shlex.join([sys.executable, '-m', 'dask', 'worker', *worker])}",
    ]
    command = place.command([str(_ROOT / "vagrant/uml/run.sh"), " && ".join(inside)])
    scratch = folder / f"machine{number}"
    scratch.mkdir()
    environment = {
        **os.environ, "TMPDIR": str(scratch), "DCNLAB_VM_MEMORY": "1500M",
        "DCNLAB_VM_OPTIONS": f"vec0:transport=raw,ifname=up0 SHARED={folder}",
    }  # fmt: skip
    return VirtualMachine(command, environment, folder / f"machine{number}.log")
