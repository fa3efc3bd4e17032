"""Short TCP flows per second in a lab: dcnlab's generator, and what one would use instead.

    python -m benchmarks traffic [--flows N] [--size BYTES] [--rounds N] [--json]

Four pairs of servers at one switch send flows of the same size, each over a connection of its own:

- dcnlab traffic: all flows of all pairs by one process, as `dcnlab traffic` sends them;
- wrk and nginx: a request per connection, as many connections at once as fit the two programs;
- iperf3: a process per flow, one after the other in each pair, as a shell script would do it.

The programs take turns in each round; printed are medians of the rounds, and their ratio to iperf3.  A program
that is not installed is left out.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from dcnlab import Lab

PAIRS = (("h0", "h1"), ("h2", "h3"), ("h4", "h5"), ("h6", "h7"))
#: iperf3 is slower by so much that it gets this share of the flows.
_SHARE = 10
_REQUESTS = re.compile(r"Requests/sec:\s+([\d.]+)")
_NGINX = """
daemon off; worker_processes 1; pid {own}.pid; error_log stderr error;
events {{ worker_connections 4096; }}
http {{
    access_log off; client_body_temp_path {own}-body; proxy_temp_path {own}-proxy;
    fastcgi_temp_path {own}-fastcgi; uwsgi_temp_path {own}-uwsgi; scgi_temp_path {own}-scgi;
    server {{ listen 80; root {folder}; }}
}}
"""
#: The server refuses a flow that begins just after the one before has ended: it is tried again.
_IPERF3 = """
for i in $(seq {count}); do
    until iperf3 -c {target} -n {size} >/dev/null 2>&1; do sleep 0.01; done
done
"""
_IPERF3_TIMEOUT = 300


def ours(lab: Lab, folder: Path, flows: int, size: int) -> float:
    """Flows per second of `dcnlab traffic`."""
    (pairs := folder / "pairs.txt").write_text("".join(f"{a} {b}\n" for a, b in PAIRS))
    result = lab.traffic(str(pairs), sizes=f"fixed:{size}", count=flows // len(PAIRS), timeout=120)
    if result.failed:
        raise SystemExit(f"{result.failed} flows failed: {result.errors}")
    return result.flows / result.seconds


def wrk(lab: Lab, folder: Path, flows: int, size: int) -> float:
    """Connections per second of wrk, one request each, to nginx."""
    (folder / "file").write_bytes(bytes(size))
    known = {one.node for one in lab.services()}
    for _, target in PAIRS:
        if target not in known:
            (config := folder / f"{target}.conf").write_text(_NGINX.format(folder=folder, own=folder / target))
            argv = ["nginx", "-p", str(folder), "-c", str(config), "-e", "stderr"]
            lab.serve("web", target, argv, ready="tcp:80")
    load = ["wrk", "-t1", "-c16", "-d3s", "-H", "Connection: close"]
    running = [lab.popen(source, [*load, f"http://{_address(lab, target)}/file"]) for source, target in PAIRS]
    total = 0.0
    for program in running:
        program.wait()
        match = _REQUESTS.search(program.output())
        if match is None:
            raise SystemExit(f"wrk: {program.output()}")
        total += float(match[1])
    return total


def iperf3(lab: Lab, _: Path, flows: int, size: int) -> float:
    """Flows per second of iperf3, a process each."""
    count = max(1, flows // len(PAIRS) // _SHARE)
    servers = [lab.popen(target, ["iperf3", "-s"]) for _, target in PAIRS]
    for source, target in PAIRS:
        _await(lambda source=source, target=target: _connects(lab, source, target))  # type: ignore[misc]
    begun = time.monotonic()
    scripts = [_IPERF3.format(count=count, target=_address(lab, target), size=size) for _, target in PAIRS]
    running = [lab.popen(source, ["sh", "-c", text]) for (source, _), text in zip(PAIRS, scripts, strict=True)]
    codes = [program.wait(_IPERF3_TIMEOUT) for program in running]
    seconds = time.monotonic() - begun
    for server in servers:
        server.terminate()
    if any(codes):
        raise SystemExit("iperf3: a flow failed")
    return count * len(PAIRS) / seconds


PROGRAMS: dict[str, tuple[Callable[[Lab, Path, int, int], float], tuple[str, ...]]] = {
    "dcnlab traffic": (ours, ()),
    "wrk and nginx, a connection per request": (wrk, ("wrk", "nginx")),
    "iperf3, a process per flow": (iperf3, ("iperf3",)),
}


def _address(lab: Lab, server: str) -> str:
    return next(node.ipv4 or "" for node in lab.nodes() if node.name == server)


def _connects(lab: Lab, source: str, target: str) -> bool:
    return lab.popen(source, ["iperf3", "-c", _address(lab, target), "-n", "1K"]).wait() == 0


def _await(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("iperf3 does not answer")
        time.sleep(0.1)


def measure(flows: int, size: int, rounds: int) -> dict[str, float]:
    """Flows per second of each program that is installed: medians of the rounds, in which they take turns."""
    rates: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="dcnlab-") as name, Lab("bcube:8,0", scheme="shortest") as lab:
        folder = Path(name)
        folder.chmod(0o755)  # nginx's workers are another user's
        for number in range(rounds):
            for title, (program, needs) in PROGRAMS.items():
                if all(shutil.which(need, path="/usr/sbin:/usr/bin:/sbin:/bin") for need in needs):
                    Console(stderr=True).print(f"round {number + 1} of {rounds}: {title}")
                    rates.setdefault(title, []).append(program(lab, folder, flows, size))
    return {title: statistics.median(values) for title, values in rates.items()}


def main() -> None:
    """Run all and print a table, or JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks traffic", description=__doc__.split("\n")[0])
    parser.add_argument("--flows", type=int, default=4000)
    parser.add_argument("--size", type=int, default=10_000, help="bytes of a flow")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    rates = measure(wanted.flows, wanted.size, wanted.rounds)
    base = rates.get("iperf3, a process per flow")
    if wanted.json:
        print(json.dumps(rates, indent=2))
        return
    table = Table("program", "flows/s", "to iperf3", box=None)
    for title, rate in rates.items():
        table.add_row(title, f"{rate:,.0f}", f"{rate / base:.1f}" if base else "-")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
