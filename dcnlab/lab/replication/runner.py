"""A replication in a lab: start the programs of its servers together, take the time, check the contents."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from addressing.multipath.complete_graphs import complete_graph
from addressing.multipath.construction import NoCompleteGraph
from addressing.scheme import Scheme, path
from addressing.source import SourceRouted
from dcnlab.lab import python_process
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.replication import plan
from dcnlab.lab.replication.transfer import Transfer
from dcnlab.lab.running.endpoint import Endpoint
from topos.graph import LinkState

_PORT = 7421
_SEARCH_S = 10.0

NodePath = tuple[int, ...]
#: A function from a node and a command line to the command line that runs it in the node.
Inside = Callable[[str, list[str]], list[str]]


@dataclass(frozen=True)
class Routes:
    """The nodes on the path between every two servers that take part, and how it was chosen, in words."""

    paths: plan.Paths
    method: str
    #: The servers on each path that agents use instead of the scheme's own paths.
    pinned: tuple[NodePath, ...] = ()


def by_complete_graph(scheme: Scheme, source: int, replicas: Sequence[int], links: LinkState) -> Routes:
    """Edge-disjoint paths for schemes whose servers choose routes; the scheme's own paths otherwise."""
    fabric = scheme.fabric
    if not isinstance(scheme, SourceRouted):
        return by_scheme(scheme, (source, *replicas), links, "the scheme's paths: servers do not choose routes")
    if links:
        return by_scheme(scheme, (source, *replicas), links, "the scheme's paths: links are down")
    try:
        graph = complete_graph(fabric, source, replicas, _SEARCH_S)
    except NoCompleteGraph as error:
        return by_scheme(scheme, (source, *replicas), links, f"the scheme's paths: {error}")
    paths = {(a, b): graph.path(a, b) for a in graph.servers for b in graph.servers if a != b}
    pinned = tuple(tuple(node for node in path if fabric.is_server(node)) for path in paths.values())
    if any(scheme.tag_of(route) is None for route in pinned):
        return by_scheme(
            scheme, (source, *replicas), links, "the scheme's paths: routes are too long for packets"
        )
    return Routes(paths, f"edge-disjoint, by {graph.method}", pinned)


def by_scheme(
    scheme: Scheme, servers: Sequence[int], links: LinkState, method: str = "the scheme's paths"
) -> Routes:
    """The scheme's own path between every two servers; LabError where there is none."""
    paths: dict[plan.Pair, NodePath] = {}
    for a in servers:
        for b in servers:
            if a == b:
                continue
            nodes = path(scheme, a, b, links)
            if nodes is None:
                names = scheme.fabric.name(a), scheme.fabric.name(b)
                raise LabError(f"no path from {names[0]} to {names[1]} with the links that are up now")
            paths[a, b] = nodes
    return Routes(paths, method)


def check(servers: Sequence[int], size: int, available: int) -> None:
    """Raise UsageError when these servers cannot take part, or the data does not fit into memory."""
    if len(servers) < 2 or len(set(servers)) != len(servers):
        raise UsageError("name a source and its replicas, each only once")
    if size < len(servers):
        raise UsageError(f"{size} bytes are too few to cut into {len(servers) - 1} parts")
    if size * len(servers) > available * 0.8:
        raise UsageError(f"{len(servers)} times {size >> 20} MB do not fit in the memory that is free")


def replicate(
    parts: Sequence[plan.Part],
    routes: Routes,
    ends: dict[int, Endpoint],
    inside: Inside,
    timeout: float,
    on_start: Callable[[subprocess.Popen[str]], None] = lambda _: None,
) -> Transfer:
    """Send the parts between servers, of which the first in ``ends`` is the source.

    ``on_start`` gets the program of every server.  LabError when not all data has arrived within
    ``timeout`` seconds.
    """
    size = sum(part.length for part in parts)
    programs = {server: _start(inside, server, ends, parts, size) for server in ends}
    alarm = threading.Timer(timeout, _kill, [programs.values()])
    alarm.start()
    try:
        for program in programs.values():
            on_start(program)
        begun, reports = _run(programs, ends)
    finally:
        alarm.cancel()
        for program in programs.values():
            program.kill()
            program.communicate()
    seconds = max(report["done"] for report in reports.values()) - begun
    return Transfer(
        seconds=round(seconds, 3),
        mbps=round(size * 8 / seconds / 1e6, 1),
        verified=len({report["sha256"] for report in reports.values()}) == 1,
        sha256={ends[server].name: report["sha256"] for server, report in reports.items()},
        busiest=round(float(plan.busiest(parts, routes.paths)), 4),
        method=routes.method,
    )


def _run(
    programs: dict[int, subprocess.Popen[str]], ends: dict[int, Endpoint]
) -> tuple[float, dict[int, dict[str, Any]]]:
    """Start all programs at once when all are ready: the time of the start, and each program's report."""
    for server, program in programs.items():
        if _line(program, ends[server].name) != "ready":
            raise LabError(f"{ends[server].name}: the program did not start")
    begun = time.monotonic()
    for program in programs.values():
        assert program.stdin is not None
        program.stdin.write("go\n")
        program.stdin.flush()
    return begun, {server: json.loads(_line(one, ends[server].name)) for server, one in programs.items()}


def _start(
    inside: Inside,
    server: int,
    ends: dict[int, Endpoint],
    parts: Sequence[plan.Part],
    size: int,
) -> subprocess.Popen[str]:
    """One server's program, in its namespace."""
    task = {
        "address": ends[server].address,
        "port": _PORT,
        "size": size,
        "source": server == next(iter(ends)),
        "parts": [
            {
                "offset": part.offset,
                "length": part.length,
                "to": [ends[to].address for to in part.children(server)],
            }
            for part in parts
        ],
    }
    command = python_process.command("dcnlab.lab.replication.node", json.dumps(task))
    return subprocess.Popen(
        inside(ends[server].name, command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _kill(programs: Iterable[subprocess.Popen[str]]) -> None:
    for program in programs:
        program.kill()


def _line(program: subprocess.Popen[str], name: str) -> str:
    """The next line of a program's output; LabError when it has ended."""
    assert program.stdout is not None
    line = program.stdout.readline().strip()
    if not line:
        raise LabError(f"{name}: the data did not arrive in time")
    return line
