"""Multipath TCP over parallel paths: every subflow has a pair of additional addresses.

A server has up to seven additional addresses (:func:`addressing.fields.ipv4.alias`).  Packets from or to
address number i take the i-th of the parallel paths.  The kernel's path manager opens one subflow from
each of them.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from addressing.fields import ipv4
from addressing.header import Field
from addressing.scheme import Scheme
from dcnlab.lab import python_process
from dcnlab.lab.emulation import netns
from dcnlab.lab.errors import UsageError
from dcnlab.lab.running.endpoint import Endpoint
from topos.graph import LinkState

#: A function from a node and a command line to the command line that runs it in the node.
Inside = Callable[[str, list[str]], list[str]]

_PORT = 7431
_TUN = "dcn0"


@dataclass(frozen=True)
class Throughput:
    """Received Mb/s of one connection, and the number of its subflows."""

    mbps: float
    subflows: int


def check() -> None:
    """Raise UsageError when this kernel has no Multipath TCP, or has it switched off."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP).close()
    except OSError as error:
        off = error.errno == errno.ENOPROTOOPT
        why = (
            "has it switched off: sysctl net.mptcp.enabled=1" if off else "was built without it (CONFIG_MPTCP)"
        )
        raise UsageError(f"no Multipath TCP: this kernel {why}") from None


def path_count(scheme: Scheme, a: int, b: int, links: LinkState) -> int:
    """Over how many parallel paths flows between two servers are spread; UsageError when that is one."""
    if scheme.label_field is not Field.ETH_DST or not scheme.fabric.relaying:
        raise UsageError(f"servers have only one address under {scheme.name}: use brp or dcube-shortest")
    paths = len({header.tag for header, _ in scheme.headers(a, b, links)})
    if paths < 2:
        raise UsageError("flows take a single path in this lab: start it with --multipath 2 or more")
    return min(paths, ipv4.ALIASES)


@contextlib.contextmanager
def additional_addresses(servers: Sequence[int], ends: Sequence[Endpoint], count: int) -> Iterator[None]:
    """Give both servers ``count`` additional addresses, and let the client (the first) use all of them."""
    numbers = range(1, count + 1)
    for server, end in zip(servers, ends, strict=True):
        added = [f"address replace {_alias(server, number)}/32 dev {_TUN}" for number in numbers]
        netns.batch(["ip", "-n", end.netns], [*added, f"mptcp limits set subflow {count} add_addr_accepted 0"])
    client, machine = servers[0], ["ip", "-n", ends[0].netns]
    # The connection itself is the first subflow; the path manager adds one from each other address.
    more = [f"mptcp endpoint add {_alias(client, number)} dev {_TUN} subflow" for number in numbers[1:]]
    try:
        netns.batch(machine, more)
        yield
    finally:
        netns.batch(machine, ["mptcp endpoint flush"])
        for server, end in zip(servers, ends, strict=True):
            removed = [f"address del {_alias(server, number)}/32 dev {_TUN}" for number in numbers]
            netns.batch(["ip", "-n", end.netns], removed)


def measure(
    servers: Sequence[int],
    ends: Sequence[Endpoint],
    subflows: int,
    seconds: float,
    inside: Inside,
    on_start: Callable[[subprocess.Popen[str]], None] = lambda _: None,
) -> Throughput:
    """Send over one connection for some seconds: plain TCP over the first path, or with ``subflows`` > 0
    Multipath TCP.  ``on_start`` gets the sending process."""
    client, server = (_alias(one, 1) for one in servers)
    kind = "mptcp" if subflows else "tcp"
    receiver = _start(inside, ends[1].name, "serve", kind, server, str(_PORT))
    try:
        python_process.next_line(receiver, "connection")
        words = ("send", kind, server, str(_PORT), client, f"{seconds:g}", str(subflows))
        sender = _start(inside, ends[0].name, *words)
        try:
            on_start(sender)
            sent, received = (
                python_process.next_line(sender, "connection"),
                python_process.next_line(receiver, "connection"),
            )
        finally:
            sender.kill()
            sender.communicate()
    finally:
        receiver.kill()
        receiver.communicate()
    return Throughput(round(received["bytes"] * 8 / received["seconds"] / 1e6, 1), sent["subflows"])


def _alias(server: int, number: int) -> str:
    return ipv4.text(ipv4.alias(server, number))


def _start(inside: Inside, name: str, *words: str) -> subprocess.Popen[str]:
    command = inside(name, python_process.command("dcnlab.lab.instruments.mptcp_connection", *words))
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
