"""The kernel's programs do to a packet what the agent does, byte by byte (BPF_PROG_TEST_RUN)."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import signal
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest
from scipy import stats

from addressing.fields import ipv6 as wide
from addressing.fields.checksum import checksum
from addressing.scheme import Scheme, walk
from hostagent.fastpath.layout import MAX_NEXT_HOPS
from hostagent.fastpath.program import NOT_HANDLED, REDIRECTED, Shape
from hostagent.fastpath.tables import LabTables
from hostagent.forwarding import packet
from hostagent.forwarding.agent import Agent
from hostagent.forwarding.decisions import TO_HOST
from hostagent.linux import bpf
from hostagent.options import LoadBalance
from tests.addressing.cases import pairs
from tests.hostagent.classifier_runs import run
from tests.hostagent.frames import agent, from_host, from_nic, scheme
from topos import registry as topologies
from topos.graph import LinkState

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user may not load programs into the kernel"),
]

#: The loopback interface: the one by which test runs can say that a frame came.
_LOOPBACK, _TUN = 1, 7
#: The servers that one process's tables have room for.
MOST_SERVERS = 256
RELAYING = [pair for pair in pairs() if topologies.fabric(pair[0]).relaying]


@contextlib.contextmanager
def fast(
    bound: Scheme, node: int, port: int, load_balance: LoadBalance = "flow"
) -> Iterator[tuple[Agent, LabTables]]:
    """An agent, for whose tables what comes from ``port`` (0: the host) comes by the loopback interface."""
    one = agent(bound, node, load_balance)
    shape = Shape(one.framing.by_address, one.framing.tagged, one.has_aliases)
    tables = opened(shape)
    interfaces = {other: 100 + other for other, _ in bound.fabric.ports(node)} | {TO_HOST: _TUN}
    interfaces |= {port: _LOOPBACK}
    one.fast_path = tables.server(node, interfaces, one.load_balance)
    try:
        yield one, tables
    finally:
        tables.invalidate(node)  # the next agent has the same interfaces


@cache
def opened(shape: Shape) -> LabTables:
    """Tables that all tests of a process use, one agent after the other: to load their programs takes longer
    than most tests."""
    return LabTables.open(MOST_SERVERS, shape, entries=1 << 18)


def ipv4(rng: random.Random, bound: Scheme, source: int, target: int, *, odd: bool = True) -> bytes:
    """A packet between two servers; where ``odd`` some are fragments, have options or no hops left."""
    size = rng.choice((4, 8, 40, 200))
    words = rng.choice((5, 5, 5, 5, 6)) if odd else 5
    ttl = rng.choice((1, 2, 64, 255)) if odd else 64
    protocol = rng.choice((1, 6, 17, 17, 6, 132, 89))
    fragment = rng.choice((0, 0, 0, 0x2000, 0x4000, 100)) if odd else 0
    ends = (bound.ipv4(node).to_bytes(4, "big") for node in (source, target))
    head = struct.pack(
        ">BBHHHBBH4s4s",
        0x40 | words,
        0,
        4 * words + size,
        rng.randrange(1 << 16),
        fragment,
        ttl,
        protocol,
        0,
        *ends,
    )
    head += bytes(4 * (words - 5))
    return head[:10] + checksum(head).to_bytes(2, "big") + head[12:] + rng.randbytes(size)


def ipv6(rng: random.Random, bound: Scheme, source: int, target: int, *, odd: bool = True) -> bytes:
    """The same by IPv6: some are of another version, or have no hops left."""
    size = rng.choice((0, 4, 8, 40, 200))
    version, hops = (rng.choice((6, 6, 6, 6, 7)), rng.choice((1, 2, 64, 255))) if odd else (6, 64)
    head = struct.pack(">IHBB", version << 28 | rng.randrange(1 << 28), size, rng.choice((6, 17, 44, 58)), hops)
    ends = (wide.embed(bound.ipv4(node)).to_bytes(16, "big") for node in (source, target))
    return head + b"".join(ends) + rng.randbytes(size)


def arrivals(
    rng: random.Random, bound: Scheme, links: LinkState, count: int, make: Callable[..., bytes] = ipv4
) -> Iterator[tuple[int, int, bytes, bytes]]:
    """(server, port, Ethernet addresses, packet) of frames somewhere on their paths."""
    servers, framing = range(bound.fabric.servers), agent(bound, 0).framing
    for _ in range(count):
        source, target = rng.sample(servers, 2)
        for hop in walk(bound, source, target, links, rng):
            if bound.fabric.is_server(hop.node) and hop.header.in_port:
                addresses = framing.addresses(hop.header, 0x020000000000 | rng.randrange(1 << 40))
                yield hop.node, hop.header.in_port, addresses, make(rng, bound, source, target)


@pytest.mark.parametrize(("topology", "name"), RELAYING)
@pytest.mark.parametrize("failures", [0, 2])
def test_frames_are_treated_alike(topology: str, name: str, failures: int) -> None:
    rng, whole = random.Random(f"{topology} {name} {failures}"), scheme(topology, name)
    down = LinkState(frozenset(rng.sample(range(len(whole.fabric.link_ends)), failures)))
    bound = whole.with_failures(down) if down else whole
    seen: Counter[str] = Counter()
    sent = sorted(arrivals(rng, bound, down, 25), key=lambda one: one[:2])
    for (node, port), group in itertools.groupby(sent, key=lambda one: one[:2]):
        with fast(whole, node, port) as (one, tables):
            if down:
                one.apply_link_state(down)
            for _, _, addresses, data in group:
                seen[treated_alike(one, tables, port, addresses + b"\x08\x00" + data)] += 1
            one.learn_failures(LinkState(frozenset({10**6})))
            verdict, _ = run(tables.nic_program, addresses + b"\x08\x00" + data, _LOOPBACK)
            assert verdict == NOT_HANDLED, "one write of the epoch invalidates all"
    assert seen["relayed"] + seen["delivered"] > 5


@pytest.mark.parametrize(("topology", "name"), RELAYING)
def test_frames_of_ipv6_are_treated_alike(topology: str, name: str) -> None:
    rng, bound = random.Random(f"{topology} {name} 6"), scheme(topology, name)
    sent = sorted(arrivals(rng, bound, LinkState(), 25, ipv6), key=lambda one: one[:2])
    seen: Counter[str] = Counter()
    for (node, port), group in itertools.groupby(sent, key=lambda one: one[:2]):
        with fast(bound, node, port) as (one, tables):
            for _, _, addresses, data in group:
                seen[treated_alike(one, tables, port, addresses + b"\x86\xdd" + data)] += 1
    assert seen["relayed"] + seen["delivered"] > 5 or 6 not in bound.ip_versions or one.framing.by_address


def treated_alike(one: Agent, tables: LabTables, port: int, frame: bytes) -> str:
    """Give a frame to the agent and then to the program; what became of it."""
    view, end = from_nic(frame)
    out = one.receive_frame(view, end, port, 0.0)
    verdict, result = run(tables.nic_program, frame, _LOOPBACK)
    wide_one = frame[12:14] == b"\x86\xdd"
    plain = (frame[14] >> 4 == 6 and not one.framing.by_address) if wide_one else frame[14] == 0x45
    if out == TO_HOST and plain:
        assert (verdict, result) == (REDIRECTED, frame)
        return "delivered"
    if out > 0 and plain and carried_by_kernel(one, frame, port):
        assert (verdict, result) == (REDIRECTED, bytes(view[packet.FRAME_OFFSET : end]))
        return "relayed"
    assert (verdict, result) == (NOT_HANDLED, frame)
    return "left to the agent"


def carried_by_kernel(one: Agent, frame: bytes, port: int) -> bool:
    """Whether the decision has no more next hops than the kernel takes: one for IPv6."""
    made = one.decision(*from_nic(frame), port)
    most = MAX_NEXT_HOPS if frame[12:14] == b"\x08\x00" else 0
    return made is not None and len(made.next_hops) <= most


@pytest.mark.parametrize(("topology", "name"), RELAYING)
@pytest.mark.parametrize("make", [ipv4, ipv6])
def test_packets_of_the_host_are_treated_alike(topology: str, name: str, make: Callable[..., bytes]) -> None:
    rng, bound = random.Random(f"{topology} {name}"), scheme(topology, name)
    with fast(bound, 0, TO_HOST) as (one, tables):
        most = MAX_NEXT_HOPS if make is ipv4 else -1 if one.framing.by_address else 0
        for target in rng.sample(range(1, bound.fabric.servers), min(12, bound.fabric.servers - 1)):
            data = make(rng, bound, 0, target, odd=False)
            view, end = from_host(data)
            out = one.receive_packet(view, end, 0.0)
            verdict, result = run(tables.host_program, data, _LOOPBACK)
            if verdict == REDIRECTED:
                assert out > 0
                assert result == bytes(view[packet.FRAME_OFFSET : end])
            else:
                made = one.decision(*from_host(data), TO_HOST)
                assert out <= 0 or (made is not None and len(made.next_hops) > most)


@pytest.mark.parametrize(("topology", "name"), [("clot:4x4", "pow"), ("torus:4x4", "ecmp")])
def test_draws_per_packet_have_the_rules_weights(topology: str, name: str) -> None:
    bound, draws = scheme(topology, name), 2000
    tested = 0
    for target in range(1, bound.fabric.servers):
        with fast(bound, 0, TO_HOST, "packet") as (one, tables):
            data = ipv4(random.Random(target), bound, 0, target, odd=False)
            view, end = from_host(data)
            one.receive_packet(view, end, 0.0)
            made = one.decision(*from_host(data), TO_HOST)
            assert made is not None
            weights = {hop.addresses: weight for hop, weight in made.weighted()}
            if len(weights) < 2:
                continue
            seen = Counter(run(tables.host_program, data, _LOOPBACK)[1][:12] for _ in range(draws))
            assert seen.keys() <= weights.keys()
            expected = np.array(list(weights.values())) * draws
            assert stats.chisquare([seen[key] for key in weights], expected).pvalue > 1e-6
            tested += 1
    assert tested >= 3


def test_an_interface_belongs_to_one_server() -> None:
    bound = scheme("torus:4x4", "wmgr")
    tables = LabTables.open(bound.fabric.servers, Shape(False, False, False))
    tables.claim(0, {1: 5, 2: 6})
    tables.claim(0, {1: 5})
    with pytest.raises(bpf.BpfError):
        tables.claim(1, {1: 6})
    tables.close()


def test_programs_are_loaded_also_while_signals_come() -> None:
    came = 0

    def count(*_: object) -> None:
        nonlocal came
        came += 1

    before = signal.signal(signal.SIGALRM, count)
    signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
    try:
        while came < 10:
            LabTables.open(16, Shape(False, False, False)).close()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert signal.SIGALRM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_full_tables_leave_packets_to_the_agent_until_old_decisions_go() -> None:
    bound = scheme("torus:4x4", "wmgr")
    one = agent(bound, 0)
    tables = LabTables.open(16, Shape(False, False, one.has_aliases), entries=4)
    one.fast_path = tables.server(0, {1: 101, 2: 102, 3: 103, 4: 104, TO_HOST: _LOOPBACK}, "flow")

    def carried() -> int:
        """How many of the other 15 servers the kernel sends packets to after the agent has decided."""
        rng, verdicts = random.Random(1), []
        for target in range(1, 16):
            data = ipv4(rng, bound, 0, target, odd=False)
            one.receive_packet(*from_host(data), 0.0)
            verdicts.append(run(tables.host_program, data, _LOOPBACK)[0])
        return verdicts.count(REDIRECTED)

    first = carried()
    assert 0 < first < 15
    one.learn_failures(LinkState(frozenset({0})))
    assert 0 < carried() < 15, "what was decided before has made room"
    tables.close()


def test_machines_that_are_not_known_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as changed:
        changed.setattr("sys.byteorder", "big")
        with pytest.raises(bpf.BpfError, match="big-endian"):
            LabTables.open(1, Shape(False, False, False))
    monkeypatch.setattr("platform.machine", lambda: "s390x")
    with pytest.raises(bpf.BpfError, match="s390x"):
        LabTables.open(1, Shape(False, False, False))
