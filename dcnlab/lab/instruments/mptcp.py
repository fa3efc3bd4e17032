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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from addressing.fields import ipv4
from addressing.header import Field
from addressing.scheme import Scheme
from dcnlab.lab import python_process
from dcnlab.lab.emulation.namespaces import netns
from dcnlab.lab.errors import UsageError
from dcnlab.lab.instruments import mptcp_connection
from dcnlab.lab.instruments.probe import Context, Probe
from dcnlab.lab.network.endpoint import Endpoint
from topos.graph import LinkState

if TYPE_CHECKING:
    from dcnlab.lab.running.local_machine import LocalMachine

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
    """Count the parallel paths over which flows between two servers are spread; UsageError for a single one."""
    if scheme.label_field is not Field.ETH_DST or not scheme.fabric.relaying:
        raise UsageError(f"servers have only one address under {scheme.name}: use brp or dcube-shortest")
    paths = len({header.tag for header, _ in scheme.headers(a, b, links)})
    if paths < 2:
        raise UsageError("flows take a single path in this lab: start it with --multipath 2 or more")
    return min(paths, ipv4.ALIASES)


@contextlib.contextmanager
def additional_addresses(
    servers: Sequence[int], ends: Sequence[Endpoint], count: int, sends: bool = True
) -> Iterator[None]:
    """Give servers ``count`` additional addresses; clients (``sends``) begin subflows from all of them."""
    numbers = range(1, count + 1)
    for server, end in zip(servers, ends, strict=True):
        added = [f"address replace {_alias(server, number)}/32 dev {_TUN}" for number in numbers]
        netns.batch(["ip", "-n", end.netns], [*added, f"mptcp limits set subflow {count} add_addr_accepted 0"])
    # The connection itself is the first subflow; the path manager adds one from each other address.
    try:
        for server, end in zip(servers, ends, strict=True):
            if sends:
                more = [f"mptcp endpoint add {_alias(server, n)} dev {_TUN} subflow" for n in numbers[1:]]
                netns.batch(["ip", "-n", end.netns], more)
        yield
    finally:
        for server, end in zip(servers, ends, strict=True):
            removed = [f"address del {_alias(server, number)}/32 dev {_TUN}" for number in numbers]
            netns.batch(["ip", "-n", end.netns], ["mptcp endpoint flush", *removed])


class MptcpProbe(Probe):
    """The servers of one machine at the ends of connections."""

    def __init__(self, lab: LocalMachine, context: Context) -> None:
        super().__init__(lab, context)
        self._addresses = contextlib.ExitStack()
        self._receiver: subprocess.Popen[str] | None = None

    def check(self, server: int) -> None:
        """Raise UsageError when the kernel has no Multipath TCP."""
        netns.inside(self.lab.endpoint(server).netns, check)

    def add_addresses(self, servers: Sequence[int], count: int, sends: bool) -> None:
        """Give servers additional addresses until the end; those of a client (``sends``) begin subflows."""
        ends = [self.lab.endpoint(server) for server in servers]
        self._addresses.enter_context(additional_addresses(servers, ends, count, sends))

    def listen(self, server: int, seconds: float, subflows: int) -> None:
        """Start what receives one connection that sends for some seconds; returns when it listens."""
        argv = ("serve", _kind(subflows), _alias(server, 1), str(_PORT), f"{seconds:g}")
        self._receiver = self._start(server, *argv)
        python_process.next_line(self._receiver, "connection", mptcp_connection.Listening)

    def send(self, client: int, server: int, seconds: float, subflows: int) -> int:
        """Send over one connection for some seconds: plain TCP over the first path, or with ``subflows`` > 0
        Multipath TCP; the number of subflows."""
        argv = ("send", _kind(subflows), _alias(server, 1), str(_PORT), _alias(client, 1), f"{seconds:g}")
        sender = self._start(client, *argv, str(subflows))
        try:
            self.context.terminate_with_client(sender)
            return python_process.next_line(sender, "connection", mptcp_connection.Sent).subflows
        finally:
            _end(sender)

    def received(self) -> float:
        """Received Mb/s of the connection."""
        assert self._receiver is not None
        received = python_process.next_line(self._receiver, "connection", mptcp_connection.Received)
        _end(self._receiver)
        return round(received.bytes * 8 / received.seconds / 1e6, 1)

    def close(self) -> None:
        if self._receiver is not None:
            _end(self._receiver)
        self._addresses.close()

    def _start(self, server: int, *argv: str) -> subprocess.Popen[str]:
        program = python_process.command("dcnlab.lab.instruments.mptcp_connection", *argv)
        command = self.lab.inside(self.lab.fabric.name(server), program)
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _kind(subflows: int) -> str:
    return "mptcp" if subflows else "tcp"


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def _alias(server: int, number: int) -> str:
    return ipv4.text(ipv4.alias(server, number))
