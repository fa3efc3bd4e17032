"""Real namespaces and links for agents, created for one test and removed after it."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from addressing import registry as schemes
from addressing.fields.ipv4 import text
from hostagent.client import AgentPlacement, AgentPool
from hostagent.options import Options
from hostagent.runtime.devices import inside
from topos import registry as topologies
from topos.fabric import Fabric

T = TypeVar("T")

_numbers = itertools.count()


def run(*words: str, timeout: float = 60) -> str:
    """The output of a command; AssertionError with its messages if it fails."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=timeout, check=False)
    assert not done.returncode, f"{' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout


@dataclass(frozen=True)
class ServerNetwork:
    """The servers of a fabric without switches, each in a namespace, connected by veth pairs."""

    fabric: Fabric
    addresses: list[str]
    name: str
    pool: AgentPool

    def netns(self, node: int) -> str:
        """The name of a server's namespace."""
        return f"{self.name}-{node}"

    def place(self, node: int) -> AgentPlacement:
        """Where the agent of a server runs."""
        ports = {port: f"h{node}-eth{port}" for port, _ in self.fabric.ports(node)}
        return AgentPlacement(node, f"/run/netns/{self.netns(node)}", ports)

    def run(self, node: int, *words: str, timeout: float = 60) -> str:
        """Run a command in a server's namespace."""
        return run("ip", "netns", "exec", self.netns(node), *words, timeout=timeout)

    def inside(self, node: int, action: Callable[[], T]) -> T:
        """Run a function in a server's namespace; sockets that it opens stay there."""
        with inside(f"/run/netns/{self.netns(node)}"):
            return action()

    def connect(self, a: int, b: int) -> tuple[socket.socket, socket.socket]:
        """The two ends of a TCP connection from server ``a`` to server ``b``."""
        server = self.inside(b, lambda: socket.create_server((self.addresses[b], 0)))
        with server:
            client = self.inside(a, lambda: socket.create_connection(server.getsockname(), timeout=120))
            return client, server.accept()[0]


@contextlib.contextmanager
def server_network(
    topology: str, scheme: str, *, start: bool = True, **options: Any
) -> Iterator[ServerNetwork]:
    """Namespaces, links and (unless ``start`` is false) ready agents, run with ``options`` of
    :class:`hostagent.options.Options`."""
    fabric = topologies.fabric(topology)
    assert not fabric.switches
    bound = schemes.bind(scheme, fabric)
    addresses = [text(bound.ipv4(node)) for node in range(fabric.servers)]
    with contextlib.ExitStack() as stack:
        pool = stack.enter_context(AgentPool(Options(topology, scheme, **options)))
        made = ServerNetwork(fabric, addresses, f"dcnt{os.getpid()}x{next(_numbers)}", pool)
        for node in range(fabric.servers):
            stack.callback(run, "ip", "netns", "del", made.netns(node))
            run("ip", "netns", "add", made.netns(node))
        for link in fabric.links():
            _connect(made, link.index, (link.a.node, link.a.number), (link.b.node, link.b.number))
        if start:
            pool.start([made.place(node) for node in range(fabric.servers)])
            pool.wait_ready(20)
        stack.push(lambda *_: pool.close())
        yield made


def _connect(made: ServerNetwork, number: int, a: tuple[int, int], b: tuple[int, int]) -> None:
    """A veth pair whose ends have different indices: with equal ones, carrier loss is reported late."""
    names = [f"h{node}-eth{port}" for node, port in (a, b)]
    spaces = [made.netns(node) for node, _ in (a, b)]
    run(
        *("ip", "link", "add", names[0], "index", str(1000 + 2 * number), "netns", spaces[0]),
        *("type", "veth", "peer", "name", names[1], "index", str(1001 + 2 * number), "netns", spaces[1]),
    )
    for name, space in zip(names, spaces, strict=True):
        run("ip", "-n", space, "link", "set", name, "up")
