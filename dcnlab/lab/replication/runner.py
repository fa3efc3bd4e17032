"""A replication in a lab: its paths, the programs of its servers, and its figures."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from addressing.multipath.complete_graphs import complete_graph
from addressing.multipath.construction import NoCompleteGraph
from addressing.scheme import Scheme, path
from addressing.source import SourceRouted
from dcnlab.lab import python_process
from dcnlab.lab.contract.codec import decode_fields, encode
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.network.endpoint import Endpoint
from dcnlab.lab.replication import plan
from dcnlab.lab.replication.tasks import Forwarded, Replica, Task
from dcnlab.lab.replication.transfer import Transfer
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


def tasks(parts: Sequence[plan.Part], ends: Mapping[int, Endpoint]) -> dict[int, Task]:
    """The task of the program in each server, of which the first in ``ends`` is the source."""
    size = sum(part.length for part in parts)
    return {
        server: Task(
            end.address,
            _PORT,
            size,
            server == next(iter(ends)),
            [
                Forwarded(part.offset, part.length, [ends[to].address for to in part.children(server)])
                for part in parts
            ],
        )
        for server, end in ends.items()
    }


def transfer(parts: Sequence[plan.Part], routes: Routes, seconds: float, hashes: Mapping[str, str]) -> Transfer:
    """The figures, from the time until the last byte arrived and the SHA-256 of each server's data."""
    size = sum(part.length for part in parts)
    return Transfer(
        seconds=round(seconds, 3),
        mbps=round(size * 8 / seconds / 1e6, 1),
        verified=len(set(hashes.values())) == 1,
        sha256=dict(hashes),
        busiest=round(float(plan.busiest(parts, routes.paths)), 4),
        method=routes.method,
    )


class NodeProgram:
    """The program in one server, once it is ready; ``name`` is the server's."""

    def __init__(self, name: str, task: Task, inside: Inside) -> None:
        self._name = name
        command = python_process.command("dcnlab.lab.replication.node", json.dumps(encode(task)))
        self.process = subprocess.Popen(
            inside(name, command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def begin(self) -> None:
        """Let it begin; if it has ended, :meth:`line` says so."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write("go\n")
            self.process.stdin.flush()

    def replica(self) -> Replica:
        """What it has when everything has arrived; LabError when it has ended."""
        return decode_fields(Replica, json.loads(self.line()))

    def line(self) -> str:
        """Its next line; LabError when it has ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line:
            raise LabError(f"{self._name}: the data did not arrive in time")
        return line

    def end(self) -> None:
        """End it."""
        self.process.kill()
        self.process.communicate()
