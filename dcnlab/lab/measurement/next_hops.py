"""How often agents really take each of a packet's next hops, beside what the scheme's rule says."""

from __future__ import annotations

import socket
from collections import Counter
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from addressing.header import Forward, Header
from dcnlab.lab.emulation import netns
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.running.lab import RunningLab

#: Every packet has a source port of its own, so that it is a flow of its own.
_FIRST_PORT, _MAX_PACKETS = 10_000, 50_000
#: Packets under way at once: no queue is ever full.
_IN_FLIGHT = 50
_TIMEOUT = 10.0
#: Packets that a next hop must be expected to get for the test to count it on its own.
_MIN_EXPECTED = 5


@dataclass(frozen=True)
class Share:
    """One next hop of one server: packets that took it, of so many that left, and the rule's probability."""

    server: str
    port: int
    towards: str
    packets: int
    share: float
    rule: float


def measure(session: RunningLab, a: str, b: str, packets: int) -> dict[str, Any]:
    """Send packets from one server to another and count by which ports they leave each server:
    ``shares``, and the chi-square test over all of them, ``statistic``, ``freedom`` and ``p``.

    Nothing else may be sent in the lab meanwhile.
    """
    if packets > _MAX_PACKETS:
        raise UsageError(f"at most {_MAX_PACKETS} packets: each has a port of its own")
    if session.scheme.tag_bits:
        raise UsageError(
            f"{session.scheme.name} marks packets with their way: frequencies are of schemes whose servers"
            " choose next hops, such as pow and ecmp"
        )
    source, target = session.two_servers(a, b)
    before = _leaving(session)
    _send(session, source, target, packets)
    moved = _leaving(session) - before
    return _compared(session, target, moved)


def _leaving(session: RunningLab) -> Counter[tuple[int, int]]:
    """Frames that have left by each (server, port)."""
    found: Counter[tuple[int, int]] = Counter()
    for server in range(session.fabric.servers):
        name = session.fabric.name(server)
        text = netns.inside(session.running.namespace(server), _devices)
        for line in text.splitlines():
            device, _, numbers = line.strip().partition(":")
            if device.startswith(f"{name}-eth"):
                found[server, int(device.removeprefix(f"{name}-eth"))] = int(numbers.split()[9])
    return found


def _devices() -> str:
    with open("/proc/thread-self/net/dev") as lines:
        return lines.read()


def _send(session: RunningLab, source: int, target: int, packets: int) -> None:
    """That many datagrams, a few at a time, all of which arrive; LabError when one does not."""
    there = session.endpoint(target)
    sink = netns.inside(there.netns, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    here = session.endpoint(source)
    with sink:
        sink.bind((there.address, 0))
        sink.settimeout(_TIMEOUT)
        for first in range(0, packets, _IN_FLIGHT):
            ports = range(_FIRST_PORT + first, _FIRST_PORT + min(first + _IN_FLIGHT, packets))
            netns.inside(here.netns, partial(_burst, here.address, ports, sink.getsockname()))
            try:
                for _ in ports:
                    sink.recv(16)
            except TimeoutError:
                raise LabError(f"packets from {here.name} to {there.name} were lost") from None


def _burst(address: str, ports: range, target: tuple[str, int]) -> None:
    for port in ports:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
            handle.bind((address, port))
            handle.sendto(b"frequency", target)


def _compared(session: RunningLab, target: int, moved: Counter[tuple[int, int]]) -> dict[str, Any]:
    """Chi-square over all servers that have a choice: each server's packets against its rule."""
    from scipy import stats  # half a second that no other operation needs

    fabric, scheme, state = session.fabric, session.scheme, session.link_state.state()
    shares, statistic, freedom = [], 0.0, 0
    for server in range(fabric.servers):
        total = sum(count for (node, _), count in moved.items() if node == server)
        ways = scheme.next_hops(server, Header(scheme.label(target)), state) if total else ()
        rule = {action.port: weight for action, weight in ways if isinstance(action, Forward)}
        seen = [moved[server, port] for port in rule]
        for (port, weight), count in zip(rule.items(), seen, strict=True):
            end = fabric.peer(server, port)
            assert end is not None
            shares.append(Share(fabric.name(server), port, fabric.name(end.node), count, count / total, weight))
        if len(rule) > 1 and min(rule.values()) * total >= _MIN_EXPECTED and sum(seen) == total:
            statistic += stats.chisquare(seen, [weight * total for weight in rule.values()]).statistic
            freedom += len(rule) - 1
        elif sum(seen) != total:
            raise LabError(
                f"{fabric.name(server)} sent {total - sum(seen)} frames that the rule knows nothing of"
            )
    p = float(stats.chi2.sf(statistic, freedom)) if freedom else None
    found = {"statistic": round(statistic, 3), "freedom": freedom, "p": None if p is None else round(p, 4)}
    return {"shares": [asdict(share) for share in shares], **found}
