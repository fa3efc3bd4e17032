"""A replication in a lab: the programs of its servers started, set off together, timed and checked."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from addressing.multipath.complete_graphs import complete_graph
from addressing.multipath.construction import NoCompleteGraph
from addressing.scheme import Scheme, path
from addressing.source import SourceRouted
from dcnlab.lab import python_process
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.replication import plan
from dcnlab.lab.running.endpoint import Endpoint
from topos.graph import LinkState

_PORT = 7421
_SEARCH_S = 10.0

NodePath = tuple[int, ...]
#: A command line that runs another in a node's namespace.
Inside = Callable[[str, list[str]], list[str]]


@dataclass(frozen=True)
class Routes:
    """The nodes between every two servers that take part, and how they were found, in words."""

    paths: plan.Paths
    method: str
    #: Servers of the paths that agents are to use instead of their scheme's.
    pinned: tuple[NodePath, ...] = ()


def by_complete_graph(scheme: Scheme, source: int, replicas: Sequence[int], links: LinkState) -> Routes:
    """Edge-disjoint paths where servers can be told to take them, else the scheme's own."""
    fabric = scheme.fabric
    if not isinstance(scheme, SourceRouted):
        return by_scheme(scheme, (source, *replicas), links, "the scheme's ways: no source writes routes")
    if links:
        return by_scheme(scheme, (source, *replicas), links, "the scheme's ways: links are down")
    try:
        found = complete_graph(fabric, source, replicas, _SEARCH_S)
    except NoCompleteGraph as error:
        return by_scheme(scheme, (source, *replicas), links, f"the scheme's ways: {error}")
    paths = {(a, b): found.path(a, b) for a in found.servers for b in found.servers if a != b}
    ways = tuple(tuple(node for node in path if fabric.is_server(node)) for path in paths.values())
    if any(scheme.tag_of(way) is None for way in ways):
        return by_scheme(scheme, (source, *replicas), links, "the scheme's ways: routes too long for packets")
    return Routes(paths, f"edge-disjoint, by {found.method}", ways)


def by_scheme(
    scheme: Scheme, servers: Sequence[int], links: LinkState, method: str = "the scheme's ways"
) -> Routes:
    """The way that the scheme takes between every two; LabError where there is none."""
    paths: dict[plan.Pair, NodePath] = {}
    for a in servers:
        for b in servers:
            found = path(scheme, a, b, links) if a != b else None
            if a != b and found is None:
                raise LabError(
                    f"no way from {scheme.fabric.name(a)} to {scheme.fabric.name(b)} as links are now"
                )
            if found is not None:
                paths[a, b] = found
    return Routes(paths, method)


def check(servers: Sequence[int], size: int, available: int) -> None:
    """UsageError for what cannot be replicated here."""
    if len(servers) < 2 or len(set(servers)) != len(servers):
        raise UsageError("name a source and its replicas, all different")
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
) -> dict[str, Any]:
    """Send the parts between servers (the first of ``ends`` is the source): ``seconds``, ``mbps`` of a
    replica's goodput, ``verified``, and the time that the links allow, ``busiest``; LabError when that is
    not done within ``patience`` seconds.  ``begun`` hears of every server's program."""
    size = sum(part.length for part in parts)
    programs = {server: _start(inside, server, ends, parts, size) for server in ends}
    alarm = threading.Timer(timeout, _kill, [programs.values()])
    alarm.start()
    try:
        for program in programs.values():
            on_start(program)
        for server, program in programs.items():
            if _line(program, ends[server].name) != "ready":
                raise LabError(f"{ends[server].name}: the program did not start")
        since = time.monotonic()
        for program in programs.values():
            assert program.stdin is not None
            program.stdin.write("go\n")
            program.stdin.flush()
        said = {server: json.loads(_line(program, ends[server].name)) for server, program in programs.items()}
    finally:
        alarm.cancel()
        for program in programs.values():
            program.kill()
            program.communicate()
    seconds = max(answer["done"] for answer in said.values()) - since
    busiest: Fraction = plan.busiest(parts, routes.paths)
    return {
        "seconds": round(seconds, 3),
        "mbps": round(size * 8 / seconds / 1e6, 1),
        "verified": len({answer["sha256"] for answer in said.values()}) == 1,
        "sha256": {ends[server].name: answer["sha256"] for server, answer in said.items()},
        "busiest": round(float(busiest), 4),
        "method": routes.method,
    }


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
    """The next line that a program says; LabError when it has ended instead."""
    assert program.stdout is not None
    line = program.stdout.readline().strip()
    if not line:
        raise LabError(f"{name}: the data did not arrive, or not in time")
    return line
