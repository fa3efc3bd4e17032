"""Multipath TCP over parallel ways: every subflow between further addresses of its own.

A server has up to seven further addresses (:func:`addressing.fields.ipv4.alias`); what is sent from or to
number i takes the i-th of the parallel ways.  The kernel's own path manager opens one subflow from
each of them.
"""

from __future__ import annotations

import contextlib
import errno
import json
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from addressing.fields import ipv4
from addressing.header import Field
from addressing.scheme import Scheme
from dcnlab.lab import python_process
from dcnlab.lab.emulation import netns
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.running.endpoint import Endpoint
from topos.graph import LinkState

_PORT = 7431
_TUN = "dcn0"


def check() -> None:
    """UsageError, in one line, when this kernel has no Multipath TCP or it is switched off."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP).close()
    except OSError as error:
        off = error.errno == errno.ENOPROTOOPT
        why = (
            "has it switched off: sysctl net.mptcp.enabled=1" if off else "was built without it (CONFIG_MPTCP)"
        )
        raise UsageError(f"no Multipath TCP: this kernel {why}") from None


def path_count(scheme: Scheme, a: int, b: int, links: LinkState) -> int:
    """Over how many ways flows between two servers are spread; UsageError where that is one."""
    if scheme.label_field is not Field.ETH_DST or not scheme.fabric.relaying:
        raise UsageError(f"servers have one address each under {scheme.name}: use brp or dcube-shortest")
    found = len({header.tag for header, _ in scheme.headers(a, b, links)})
    if found < 2:
        raise UsageError("flows take one way here: start the lab with --multipath 2 or more")
    return min(found, ipv4.ALIASES)


@contextlib.contextmanager
def further_addresses(servers: Sequence[int], ends: Sequence[Endpoint], count: int) -> Iterator[None]:
    """While servers have as many further addresses, and the client (the first) may use them all."""
    numbers = range(1, count + 1)
    for server, end in zip(servers, ends, strict=True):
        given = [f"address replace {_alias(server, number)}/32 dev {_TUN}" for number in numbers]
        netns.batch(["ip", "-n", end.netns], [*given, f"mptcp limits set subflow {count} add_addr_accepted 0"])
    client, machine = servers[0], ["ip", "-n", ends[0].netns]
    # The first subflow is the connection's own; the path manager adds one from each other address.
    more = [f"mptcp endpoint add {_alias(client, number)} dev {_TUN} subflow" for number in numbers[1:]]
    try:
        netns.batch(machine, more)
        yield
    finally:
        netns.batch(machine, ["mptcp endpoint flush"])
        for server, end in zip(servers, ends, strict=True):
            gone = [f"address del {_alias(server, number)}/32 dev {_TUN}" for number in numbers]
            netns.batch(["ip", "-n", end.netns], gone)


def measure(
    servers: Sequence[int],
    ends: Sequence[Endpoint],
    subflows: int,
    seconds: float,
    inside: Callable[[str, list[str]], list[str]],
    on_start: Callable[[subprocess.Popen[str]], None] = lambda _: None,
) -> dict[str, Any]:
    """One connection for some seconds, by TCP over the first way or (``subflows`` > 0) by Multipath
    TCP: ``mbps`` as received, and how many ``subflows`` it had.  ``begun`` hears of the sending process."""
    client, server = (_alias(one, 1) for one in servers)
    kind = "mptcp" if subflows else "tcp"
    listening = _start(inside, ends[1].name, "serve", kind, server, str(_PORT))
    try:
        _said(listening)
        words = ("send", kind, server, str(_PORT), client, f"{seconds:g}", str(subflows))
        sending = _start(inside, ends[0].name, *words)
        try:
            on_start(sending)
            sent, got = _said(sending), _said(listening)
        finally:
            sending.kill()
            sending.communicate()
    finally:
        listening.kill()
        listening.communicate()
    return {"mbps": round(got["bytes"] * 8 / got["seconds"] / 1e6, 1), "subflows": sent["subflows"]}


def _alias(server: int, number: int) -> str:
    return ipv4.text(ipv4.alias(server, number))


def _start(inside: Callable[[str, list[str]], list[str]], name: str, *words: str) -> subprocess.Popen[str]:
    command = inside(name, python_process.command("dcnlab.lab.instruments.mptcp_connection", *words))
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _said(program: subprocess.Popen[str]) -> dict[str, Any]:
    """The next line of a program; LabError with its complaint when it has ended instead."""
    assert program.stdout is not None
    assert program.stderr is not None
    line = program.stdout.readline()
    if not line:
        complaint = program.stderr.read().strip().splitlines() or ["it ended"]
        raise LabError(f"connection: {complaint[-1]}")
    found: dict[str, Any] = json.loads(line)
    return found
