"""Link state among agents, model-checked: whatever is lost, doubled, reordered or restarted, servers that can
exchange frames end with the same link state, and then send nothing."""

from __future__ import annotations

import dataclasses
import functools

import networkx as nx
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from hostagent.control.one_hop import one_hop_neighbours
from hostagent.protocols.link_state import SILENT_INTERVAL, LinkStateFlooding
from tests.hostagent.frames import agent, scheme

#: Small fabrics of each kind: servers behind switches, servers joined directly, both.
FABRICS = [("bcube:2,1", "brp"), ("torus:3", "dor"), ("dcell:2,1", "dfr")]
indices = st.integers(0, 1000)


@dataclasses.dataclass(frozen=True)
class Frame:
    """A frame under way between two servers one hop apart."""

    source: int
    target: int
    payload: bytes


@functools.cache
def neighbours(topology: str, name: str) -> dict[int, dict[int, int]]:
    """Per server its neighbours one hop away, with the ports that lead there."""
    bound = scheme(topology, name)
    return {
        node: {other: hop.port for other, hop in one_hop_neighbours(agent(bound, node)).items()}
        for node in range(bound.fabric.servers)
    }


class Net:
    """The pure cores of all servers, and the frames under way, which arrive when they are told to."""

    def __init__(self, topology: str, name: str) -> None:
        bound = scheme(topology, name)
        self.fabric, self.scope = bound.fabric, bound.in_flooding_scope
        self.now = 0.0
        self.down: set[int] = set()
        self.frames: list[Frame] = []
        self.sent = 0
        self.ports = neighbours(topology, name)
        self.generations = dict.fromkeys(self.ports, 0)
        self.cores = {node: self.core(node) for node in self.ports}

    def core(self, node: int) -> LinkStateFlooding:
        generation = self.generations[node]
        return LinkStateFlooding(self.fabric, node, self.ports[node], self.scope, b"key", generation)

    def restart(self, node: int) -> None:
        """The agent of a server ends, and another one starts, which knows nothing."""
        self.generations[node] += 1
        self.cores[node] = self.core(node)
        for port, _ in self.fabric.ports(node):
            if self.fabric.link_at(node, port) in self.down:
                self.cores[node].handle_link_change(port, False, self.now)
        self.collect(node)

    def toggle(self, number: int) -> None:
        """Fail a link that is up, or restore it; the servers at its ends see the carrier."""
        self.down ^= {number}
        link = self.fabric.link(number)
        for end in (link.a, link.b):
            if self.fabric.is_server(end.node):
                up, core = number not in self.down, self.cores[end.node]
                core.handle_link_change(end.number, up, self.now)
                if up:
                    core.resume([v for v, port in self.ports[end.node].items() if port == end.number], self.now)
                self.collect(end.node)

    def collect(self, node: int) -> None:
        """Put what a server sends under way."""
        for target, payload in self.cores[node].frames_to_send():
            self.sent += 1
            self.frames.append(Frame(node, target, payload))

    def deliver(self, frame: Frame) -> None:
        """A frame arrives, if its links are up."""
        if self.reaches(frame.source, frame.target):
            core = self.cores[frame.target]
            core.receive_frame(frame.payload, self.ports[frame.target].get(frame.source, 1), self.now)
            self.collect(frame.target)

    def reaches(self, a: int, b: int) -> bool:
        """Whether frames from server a cross the one or two links to server b."""
        port = self.ports[a][b]
        end = self.fabric.peer(a, port)
        if self.fabric.link_at(a, port) in self.down or end is None:
            return False
        return end.node == b or any(
            far.node == b and self.fabric.link_at(end.node, out) not in self.down
            for out, far in self.fabric.ports(end.node)
        )

    def tick(self) -> bool:
        """Time goes on until the next timer, which is handled; False if there is none."""
        timers = {node: core.next_timer() for node, core in self.cores.items()}
        due = [timer for timer in timers.values() if timer is not None]
        if not due:
            return False
        self.now = max(self.now, min(due))
        for node, timer in timers.items():
            if timer is not None and timer <= self.now:
                self.cores[node].handle_timer(self.now)
                self.collect(node)
        return True

    def settle(self) -> None:
        """Everything arrives in order from now on; until the longest interval has passed twice."""
        end = self.now + 3 * SILENT_INTERVAL
        while self.now < end:
            while self.frames:
                self.deliver(self.frames.pop(0))
            if not self.tick():
                return

    def check(self) -> None:
        """Servers that can exchange frames know which ports of each other are down."""
        joined = nx.DiGraph()
        joined.add_nodes_from(self.ports)
        joined.add_edges_from((a, b) for a in self.ports for b in self.ports[a] if self.reaches(a, b))
        for piece in nx.strongly_connected_components(joined):
            for origin in piece:
                links = {self.fabric.link_at(origin, port) for port, _ in self.fabric.ports(origin)}
                for node in piece:
                    if self.scope(node, origin):
                        known = self.cores[node].down().down & links
                        assert known >= self.down & links, (node, origin)
                        stale = known - self.down  # only the other end can have advertised it
                        assert all(self.is_cut_off(origin, one, piece) for one in stale), (node, origin)
        if not self.down:
            assert not any(core.down() for core in self.cores.values())
            assert not any(core.next_timer() for core in self.cores.values())

    def is_cut_off(self, origin: int, number: int, piece: set[int]) -> bool:
        """Whether the other end of a link of ``origin`` is a server outside of ``piece``."""
        link = self.fabric.link(number)
        (other,) = {link.a.node, link.b.node} - {origin}
        return self.fabric.is_server(other) and other not in piece


class Interleavings(RuleBasedStateMachine):
    """Any order of failures, restarts, and the fate of every frame."""

    net: Net

    @initialize(chosen=st.sampled_from(FABRICS))
    def begin(self, chosen: tuple[str, str]) -> None:
        self.net = Net(*chosen)

    @rule(index=indices)
    def toggle(self, index: int) -> None:
        self.net.toggle(index % len(self.net.fabric.link_ends))

    @rule(index=indices)
    def restart(self, index: int) -> None:
        self.net.restart(index % self.net.fabric.servers)

    @precondition(lambda self: self.net.frames)
    @rule(index=indices, count=st.integers(1, 8))
    def deliver(self, index: int, count: int) -> None:
        for _ in range(min(count, len(self.net.frames))):
            self.net.deliver(self.net.frames.pop(index % len(self.net.frames)))

    @precondition(lambda self: self.net.frames)
    @rule(index=indices)
    def deliver_a_copy(self, index: int) -> None:
        self.net.deliver(self.net.frames[index % len(self.net.frames)])

    @precondition(lambda self: self.net.frames)
    @rule(index=indices, count=st.integers(1, 50))
    def lose(self, index: int, count: int) -> None:
        for _ in range(min(count, len(self.net.frames))):
            self.net.frames.pop(index % len(self.net.frames))

    @rule(count=st.integers(1, 8))
    def wait(self, count: int) -> None:
        for _ in range(count):
            self.net.tick()
            if len(self.net.frames) > 200:
                del self.net.frames[:100]

    @rule()
    def settle(self) -> None:
        self.net.settle()
        self.net.check()

    def teardown(self) -> None:
        if not hasattr(self, "net"):  # the example ended before anything was chosen
            return
        self.net.settle()
        self.net.check()
        for link in sorted(self.net.down):
            self.net.toggle(link)
        self.net.settle()
        self.net.check()


Interleavings.TestCase.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
TestInterleavings = Interleavings.TestCase


@pytest.mark.parametrize(("topology", "name"), FABRICS)
def test_a_server_that_was_silent_for_long_gets_all_at_once(topology: str, name: str) -> None:
    net = Net(topology, name)
    own = net.fabric.link_at(0, 1)
    far = net.fabric.link_at(net.fabric.servers - 1, 1)
    isolated = {net.fabric.link_at(0, port) for port, _ in net.fabric.ports(0)}
    for number in sorted(isolated | {far}):
        net.toggle(number)
    net.settle()
    net.now += 3600
    for number in sorted(isolated - {far}):
        net.toggle(number)
    begun = net.now
    while any(core.down().down != net.down for node, core in net.cores.items() if net.scope(node, 0)):
        while net.frames:
            net.deliver(net.frames.pop(0))
        assert net.tick(), own
    assert net.now - begun < 1.0  # it does not wait for the next frame to a silent neighbour
