"""One evaluation divided among Dask's workers, each with limited memory, compared with the same undivided.

    python -m benchmarks divided [TOPOLOGY] [--scheme S] [--pairs P] [--workers N] [--limit GB]

The scheduler speaks TLS, as clusters do.  `prlimit` limits the address space of every worker: one that
needs more ends, and with it the evaluation.  `peak MB` is the resident memory that a process had at most.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dcnlab.lab.machines.certificates import Certificates

_REGISTERED = "Registered to"


def main() -> int:
    """Print both evaluations and the peak memory of each process; 1 if their results differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topology", nargs="?", default="torus:216x216x216")
    parser.add_argument("--scheme", default="wmgr")
    parser.add_argument("--pairs", default="sample:10000")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit", type=float, default=5.0, help="GB of address space for each worker")
    options = parser.parse_args()
    argv = [options.topology, "--scheme", options.scheme, "--pairs", options.pairs]
    print(f"{'':24}{'seconds':>9}{'nodes':>12}{'stretch':>9}  peak MB")
    with tempfile.TemporaryDirectory() as folder, _cluster(Path(folder), options) as (address, workers):
        divided = _evaluated("divided", [*argv, "--dask", address], Path(folder), workers)
    alone = _evaluated("undivided", argv)
    return int(divided != alone)


def _evaluated(
    name: str, argv: list[str], folder: Path | None = None, workers: tuple[subprocess.Popen[bytes], ...] = ()
) -> Any:
    """What `dcnlab evaluate` found, printed with its cost."""
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "dcnlab.cli", "evaluate", *argv, "--json"],
        stdout=subprocess.PIPE, check=True, env={**os.environ, "DCNLAB_MACHINES": str(folder)},
    )  # fmt: skip
    seconds, report = time.perf_counter() - begun, json.loads(done.stdout)
    [scheme] = report["schemes"]
    peaks = [f"worker {_peak(worker.pid):,}" for worker in workers]
    if not workers:
        peaks = [f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024:,}"]
    nodes, stretch = report["servers"] + report["switches"], scheme["stretch"]["mean"]
    print(f"{name:24}{seconds:9.1f}{nodes:12,}{stretch:9.4f}  {', '.join(peaks)}")
    return scheme


def _peak(pid: int) -> int:
    [kilobytes] = [
        line.split()[1] for line in Path(f"/proc/{pid}/status").read_text().splitlines() if "VmHWM" in line
    ]
    return int(kilobytes) // 1024


@contextlib.contextmanager
def _cluster(
    folder: Path, options: argparse.Namespace
) -> Iterator[tuple[str, tuple[subprocess.Popen[bytes], ...]]]:
    """A scheduler on loopback and workers of which each has so much memory at most."""
    certificates = Certificates(folder)
    certificates.create()
    address = "tls://127.0.0.1:18786"
    dask, tls = [sys.executable, "-m", "dask"], [*certificates.options, "--no-dashboard"]
    limit = ["prlimit", f"--as={int(options.limit * 1e9)}"]
    work = [*limit, *dask, "worker", address, "--no-nanny", "--nthreads", "1", "--memory-limit", "0", *tls]
    with contextlib.ExitStack() as stack:
        _started([*dask, "scheduler", "--host", "127.0.0.1", "--port", "18786", *tls], folder / "log", stack)
        logs = [folder / f"log{number}" for number in range(options.workers)]
        workers = tuple(_started(work, log, stack) for log in logs)
        while not all(_REGISTERED in log.read_text() for log in logs):
            if any(worker.poll() is not None for worker in workers):
                raise SystemExit("divided: a worker has ended:\n" + "".join(log.read_text() for log in logs))
            time.sleep(0.1)
        yield address, workers


def _started(command: list[str], log: Path, stack: contextlib.ExitStack) -> subprocess.Popen[bytes]:
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process


if __name__ == "__main__":
    sys.exit(main())
