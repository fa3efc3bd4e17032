"""``python -m tests.kills [SEED [ROUNDS]]``: processes of a lab on three machines are killed at random moments.

Each round launches a lab and kills one process with SIGKILL, of each kind in turn, in the launch or after it.
Then the lab is ended, if it still runs.  Nothing may be left on any machine: process, interface or socket.
Exit code 1 if something is.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from dcnlab.lab.control import runtime
from tests.lab.cluster import Cluster, cluster
from tests.lab.terminal import DCNLAB

#: What the command line of each kind of process contains.
KINDS = {
    "coordinator": "dcnlab.lab.machines",
    "guard": "dcnlab.lab.emulation.sandbox",
    "worker": "multiprocessing.spawn",
    "session": "dcnlab.lab.session",
    "agents": "-m hostagent",
    "nanny": "dask worker",
    "controller": "-m controller",
    "Open vSwitch": "ovs-vswitchd",
    "database": "ovsdb-server",
    "scheduler": "dask scheduler",
}
#: Those of the cluster: after one of these was killed, the next round has a new one.
_CLUSTER = ("worker", "nanny", "scheduler")
_PR_SET_CHILD_SUBREAPER = 36
#: Seconds after the start of a launch in which a process is killed, and until all must have ended.
_MOMENTS, _END = 15.0, 120.0


def main(seed: int = 1, rounds: int = 20) -> int:
    """Run so many rounds; the exit code."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)  # processes without a parent become our children
    draw, failed = random.Random(seed), 0
    turns = itertools.islice(itertools.cycle(KINDS), rounds)
    kind: str | None = next(turns, None)
    with tempfile.TemporaryDirectory(prefix="dcnlab-") as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        for number in itertools.count():
            if kind is None:
                break
            with cluster(3, Path(folder, f"cluster{number}"), nanny=True) as machines:
                while kind is not None:
                    done, left = kind, round_of(machines, kind, draw)
                    failed += bool(left)
                    kind = next(turns, None)
                    if left or done in _CLUSTER:
                        break
    print(f"{rounds} rounds, {failed} left something")
    return 1 if failed else 0


def round_of(machines: Cluster, kind: str, draw: random.Random) -> list[str]:
    """One round; what is left."""
    moment = draw.uniform(0.0, _MOMENTS)
    name, before = f"kills-{secrets.token_hex(3)}", set(alive())
    words = ["bcube:4,1", "--scheme", "brp", "-d", "--name", name, "--machines", machines.address]
    up = subprocess.Popen(
        machines.machines[0].command([*DCNLAB, "up", *words]),
        env=machines.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    victim = _victim(kind, moment, up, draw)
    if victim is not None:
        with contextlib.suppress(psutil.NoSuchProcess):
            victim.kill()
    _, said = up.communicate(timeout=_END)
    if runtime.in_use(runtime.socket_path(name)):
        subprocess.run([*DCNLAB, "down", name], check=False, timeout=_END)
    gone = kind in _CLUSTER
    left = until_nothing(machines, name, before, gone)
    state = "killed" if victim is not None else "not found"
    launched = f"up: {up.returncode} {said.strip()}"
    print(f"{kind} {state} after {moment:.1f} s; {launched}; left: {left or 'nothing'}", flush=True)
    return left


def _victim(kind: str, moment: float, up: subprocess.Popen[str], draw: random.Random) -> psutil.Process | None:
    """A process of this kind at that moment after now, or, if there is none yet, the first that comes."""
    begun, end = time.monotonic(), time.monotonic() + _END
    while time.monotonic() < end:
        if time.monotonic() >= begun + moment and (victims := list(of_kind(kind))):
            return draw.choice(victims)
        if up.poll() is not None and not list(of_kind(kind)):
            return None
        time.sleep(0.02)
    return None


def alive() -> Iterator[psutil.Process]:
    """All processes that this one has started, directly or not."""
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.status() != psutil.STATUS_ZOMBIE:
                yield process


def of_kind(kind: str) -> Iterator[psutil.Process]:
    """The running processes of a kind."""
    for process in alive():
        with contextlib.suppress(psutil.Error):
            if KINDS[kind] in " ".join(process.cmdline()[:6]):
                yield process


def until_nothing(machines: Cluster, name: str, before: set[psutil.Process], cluster_gone: bool) -> list[str]:
    """Wait until nothing is left of a lab; what is left at last."""
    end, left = time.monotonic() + _END, ["?"]
    while left and time.monotonic() < end:
        left = [lab.name for lab in runtime.labs() if lab.name.startswith(name)]
        for machine in machines.machines:
            names = {line.split()[0].split("@")[0] for line in machine.links().splitlines()}
            left += sorted(names - {"lo", "up0"})
        for process in set(alive()) - before:
            with contextlib.suppress(psutil.Error):
                words = " ".join(process.cmdline())
                if not (cluster_gone and ("multiprocessing" in words or "dask" in words)):
                    left.append(words[:100])
        time.sleep(0.1)
    return left


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(main(*map(int, sys.argv[1:])))
