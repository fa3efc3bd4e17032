"""The prompt of a lab on many machines: Mininet's CLI, whose nodes run elsewhere.

What concerns Mininet's objects of one machine, such as ``py``, is not there.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mininet.log import output

from dcnlab.lab import foreground
from dcnlab.lab.control.rpc import Answering
from dcnlab.lab.session import prompt
from dcnlab.lab.session.commands import Commands
from topos.fabric import Fabric

#: Mininet's commands that need its objects.
_ABSENT = ("py", "px", "x", "xterm", "gterm", "dpctl", "switch", "pingallfull", "pingpairfull", "wait")


@dataclass(frozen=True)
class _Node:
    """A node, as far as Mininet's CLI asks."""

    name: str
    #: No command is ever under way in it when the CLI asks.
    waiting: bool = False


class _Network(dict[str, _Node]):
    """The nodes by name, as Mininet's CLI knows a network."""

    def __init__(self, fabric: Fabric) -> None:
        super().__init__({name: _Node(name) for name in map(fabric.name, range(fabric.size))})
        self.hosts = [self[fabric.name(node)] for node in range(fabric.servers)]
        self.switches = [self[fabric.name(node)] for node in range(fabric.servers, fabric.size)]
        self.controllers: list[_Node] = []


class Prompt(prompt.Prompt):
    """The prompt; ``path`` is the lab's control socket."""

    def __init__(self, fabric: Fabric, answer: Answering, path: Path, commands: Commands) -> None:
        self._fabric, self._path = fabric, path
        super().__init__(answer, _Network(fabric), commands)

    def run_in(self, name: str, command: str) -> None:
        """Run a command in a node; its input is empty where the prompt reads a file or a pipe."""
        without_input = "" if self.isatty() else "exec </dev/null; "
        foreground.run_here(self._path, name, ["sh", "-c", f"{without_input}{command}"])
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def do_net(self, line: str) -> None:
        """net: the links of each node."""
        for node in range(self._fabric.size):
            ports = (f"{self._end(node, port)}:{self._end(*peer)}" for port, peer in self._peers(node))
            output(" ".join([self._fabric.name(node), *ports]) + "\n")

    def do_links(self, line: str) -> None:
        """links: whether each link is up."""
        down = set((self._ask("info") or {}).get("down", ()))
        for number, link in enumerate(self._fabric.links()):
            ends = "<->".join(self._end(end.node, end.number) for end in (link.a, link.b))
            output(f"{ends} ({'down' if number in down else 'up'})\n")

    def do_link(self, line: str) -> None:
        """link A B up|down: change a link."""
        a, b, state, *more = [*line.split(), "", "", ""]
        if state not in ("up", "down") or any(more):
            output("usage: link A B up|down\n")
        else:
            self._run_command(f"{'restore' if state == 'up' else 'fail'} link {a} {b}")

    def do_dump(self, line: str) -> None:
        """dump: name, kind, label, address and machine of each node."""
        info = self._ask("info") or {"machines": []}
        for node in self._ask("nodes") or ():
            number = self._fabric.index(node["name"])
            where = next(
                (one["machine"] for one in info["machines"] if number in self._nodes(one["nodes"])), ""
            )
            output(f"{node['name']}: {node['kind']} {node['label']} {node['ipv4'] or ''} {where}\n")

    def do_intfs(self, line: str) -> None:
        """intfs: the interfaces of each node."""
        for node in range(self._fabric.size):
            names = ",".join(self._end(node, port) for port, _ in self._peers(node))
            output(f"{self._fabric.name(node)}: {names}\n")

    do_ports = do_intfs

    def get_names(self) -> list[str]:
        """The commands, for `help` and for completion."""
        return [name for name in super().get_names() if name.removeprefix("do_") not in _ABSENT]

    def onecmd(self, line: str) -> bool:
        """Run one command."""
        word = line.split(" ")[0]
        if word in _ABSENT:
            output(f"*** {word} needs a lab on one machine: use `NODE COMMAND`\n")
            return False
        return super().onecmd(line)

    def _nodes(self, spans: Iterable[str]) -> set[int]:
        nodes: set[int] = set()
        for span in spans:
            first, _, last = span.partition("-")
            nodes.update(range(self._fabric.index(first), self._fabric.index(last or first) + 1))
        return nodes

    def _peers(self, node: int) -> Iterator[tuple[int, tuple[int, int]]]:
        return ((port, (peer.node, peer.number)) for port, peer in self._fabric.ports(node))

    def _end(self, node: int, port: int) -> str:
        return f"{self._fabric.name(node)}-eth{port}"


def run(fabric: Fabric, answer: Answering, path: Path, commands: Commands) -> None:
    """Prompt until the user exits."""
    sys.stdout.flush()
    prompt.run(lambda: Prompt(fabric, answer, path, commands))
