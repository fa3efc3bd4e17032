"""Link state among agents: advertisements reach all servers, and no others are accepted."""

from __future__ import annotations

import random
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from addressing.fields import mac
from hostagent.control.authentication import Rejection
from hostagent.control.interface import AgentContext
from hostagent.forwarding.agent import Agent
from hostagent.protocols.link_state import (
    ACKNOWLEDGE,
    ADVERTISE,
    MAX_ATTEMPTS,
    RETRANSMIT_INTERVAL,
    SILENT_INTERVAL,
    LinkStateAdvertisement,
    LinkStateFlooding,
    LinkStateProtocol,
    Message,
    decode,
)
from tests.hostagent.frames import agent, scheme
from topos.fabric import Fabric
from topos.graph import LinkState

KEY = bytes(range(16))
numbers = st.integers(0, 2**32 - 1)
messages = st.builds(
    Message,
    st.sampled_from([ADVERTISE, ACKNOWLEDGE]),
    numbers,
    st.builds(
        LinkStateAdvertisement, numbers, st.integers(0, 2**64 - 1), st.frozensets(st.integers(0, 2**16 - 1))
    ),
    numbers,
)


@given(messages, st.binary(max_size=40), st.sampled_from([None, KEY]))
def test_messages_are_decoded_as_they_were_padded_or_not(
    message: Message, padding: bytes, key: bytes | None
) -> None:
    assert decode(message.encode(key) + padding, key) == message


@given(st.binary(max_size=60), messages, st.integers(0, 500), st.integers(1, 255))
def test_no_damaged_message_is_accepted(junk: bytes, message: Message, at: int, flip: int) -> None:
    read = decode(junk)
    assert isinstance(read, Rejection) or junk.startswith(read.encode())
    data = bytearray(message.encode())
    data[at % len(data)] ^= flip
    assert decode(bytes(data)) != message
    assert decode(message.encode()[:-1]) is Rejection.LENGTH


def neighbour(key: bytes | None = KEY) -> LinkStateFlooding:
    """Server 0 of bcube:3,1 with all its neighbours."""
    return LinkStateFlooding(scheme("bcube:3,1", "brp").fabric, 0, (1, 2, 3, 6), lambda a, b: True, key)


forgeries = st.builds(
    Message,
    st.sampled_from([ADVERTISE, ACKNOWLEDGE]),
    st.sampled_from([1, 2, 3, 6]),
    st.builds(LinkStateAdvertisement, st.integers(1, 8), st.integers(1, 9), st.frozensets(st.integers(1, 2))),
)


@given(
    st.lists(st.tuples(forgeries, st.sampled_from([None, b"another key", KEY[:-1]])), min_size=1, max_size=8)
)
def test_messages_without_the_key_change_nothing_and_are_counted(
    advertised: list[tuple[Message, bytes | None]],
) -> None:
    states = neighbour()
    # Due to all neighbours, unless a forged acknowledgement is accepted.
    states.handle_link_change(1, False, 0.0)
    states.events.clear()
    before = states.next_timer(), states.down()
    for message, key in advertised:
        states.receive_frame(message.encode(key), 1, 0.0)
    assert not states.events
    assert (states.next_timer(), states.down()) == before
    assert states.counts == {"rejected: not authentic": len(advertised)}
    assert not states.frames_to_send()
    states.handle_timer(0.0)
    assert len(states.frames_to_send()) == 4


@settings(max_examples=50)
@given(st.lists(forgeries, min_size=1, max_size=12), st.data())
def test_replayed_messages_change_nothing(advertised: list[Message], data: st.DataObject) -> None:
    states = neighbour()
    sent = [message.encode(KEY) for message in advertised]
    for frame in sent:
        states.receive_frame(frame, 1, 0.0)
    states.events.clear()
    down, learned = states.down(), states.counts["learned"]
    for frame in data.draw(st.lists(st.sampled_from(sent), max_size=20)):
        states.receive_frame(frame, 1, 1.0)
    assert not states.events
    assert (states.down(), states.counts["learned"]) == (down, learned)


@pytest.mark.parametrize(
    ("sender", "advertised"),
    [
        (1, LinkStateAdvertisement(0, 9, frozenset({1}))),
        (1, LinkStateAdvertisement(9, 1, frozenset())),
        (1, LinkStateAdvertisement(1, 1, frozenset({3}))),
        (8, LinkStateAdvertisement(8, 1, frozenset({1}))),
    ],
    ids=["own name", "no such server", "no such port", "no neighbour"],
)
def test_impossible_advertisements_are_rejected(sender: int, advertised: LinkStateAdvertisement) -> None:
    states = neighbour()
    states.receive_frame(Message(ADVERTISE, sender, advertised).encode(KEY), 1, 0.0)
    assert not states.events
    assert states.counts == {"rejected: illegal content": 1}
    assert not states.down()
    assert not states.frames_to_send()


def test_a_neighbour_that_never_answers_is_asked_now_and_then_for_ever() -> None:
    """However much it has missed, it costs one frame per interval; when it is heard, all is due."""
    states = LinkStateFlooding(scheme("bcube:3,1", "brp").fabric, 0, (1, 2), lambda a, b: True)
    states.handle_link_change(1, False, 0.0)
    for origin in (3, 6):
        known = LinkStateAdvertisement(origin, 1, frozenset({1}))
        states.receive_frame(Message(ADVERTISE, 2, known).encode(), 1, 0.0)
    states.receive_frame(Message(ACKNOWLEDGE, 2, LinkStateAdvertisement(0, 1)).encode(), 1, 0.0)
    sent: list[float] = []
    now = 0.0
    while now < 100 * SILENT_INTERVAL:
        now = states.next_timer() or now
        states.handle_timer(now)
        sent += [now for target, payload in states.frames_to_send() if target == 1]
    fast = RETRANSMIT_INTERVAL * 2 ** (MAX_ATTEMPTS - 1)
    assert sum(one < fast for one in sent) == 3 * MAX_ATTEMPTS
    assert 98 <= sum(one >= fast for one in sent) <= 102
    assert states.counts["not acknowledged yet"] == 3
    states.receive_frame(Message(ADVERTISE, 1, LinkStateAdvertisement(1, 1)).encode(), 1, now)
    states.frames_to_send()
    states.handle_timer(now)
    assert len([target for target, _ in states.frames_to_send() if target == 1]) == 3


class Flood:
    """Agents whose frames cross links that are up at once, unless they are lost at random."""

    def __init__(self, topology: str, name: str, loss: float = 0.0, key: bytes | None = KEY) -> None:
        self.bound = scheme(topology, name)
        self.fabric: Fabric = self.bound.fabric
        self.agents: list[Agent] = [agent(self.bound, node) for node in range(self.fabric.servers)]
        self.protocols = [LinkStateProtocol(AgentContext(one, (), key)) for one in self.agents]
        self.down: set[int] = set()
        self.loss, self.draw = loss, random.Random(3)

    def change(self, links: set[int], up: bool) -> None:
        """Fail or restore links; the servers at their ends see the carriers."""
        self.down = self.down - links if up else self.down | links
        for number in links:
            link = self.fabric.link(number)
            for end in (link.a, link.b):
                if self.fabric.is_server(end.node):
                    self.agents[end.node].handle_link_change(end.number, up)
                    self.protocols[end.node].handle_link_change(end.number, up, 0.0)
        now = 0.0
        while True:
            for node, protocol in enumerate(self.protocols):
                protocol.handle_timer(now)
                self._carry(deque((node, *pair) for pair in protocol.frames_to_send()), now)
            due = [timer for protocol in self.protocols if (timer := protocol.next_timer()) is not None]
            if not due or min(due) > 2 * SILENT_INTERVAL:  # servers that are cut off are asked for ever
                return
            now = max(now, min(due))

    def _carry(self, frames: deque[tuple[int, int, bytes]], now: float) -> None:
        while frames:
            node, port, frame = frames.popleft()
            end = self._across(node, port, frame)
            if end is not None and self.draw.random() >= self.loss:
                protocol = self.protocols[end[0]]
                protocol.receive_frame(frame, end[1], now)
                frames.extend((end[0], *pair) for pair in protocol.frames_to_send())

    def _across(self, node: int, port: int, frame: bytes) -> tuple[int, int] | None:
        """Where a frame arrives; a switch forwards it by its destination's label."""
        end = self.fabric.peer(node, port)
        if end is None or self.fabric.link_at(node, port) in self.down:
            return None
        if self.fabric.is_server(end.node):
            return end.node, end.number
        label = mac.decode(int.from_bytes(frame[:6], "big"), self.bound.label_bits)
        server = next(v for v in range(self.fabric.servers) if self.bound.label(v) == label)
        out = self.fabric.port_to(end.node, server, LinkState(frozenset(self.down)))
        there = None if out is None else self.fabric.peer(end.node, out)
        return None if there is None else (there.node, there.number)

    def known(self, node: int) -> frozenset[int]:
        return self.agents[node]._links.down


@pytest.mark.parametrize(("topology", "name"), [("bcube:3,1", "brp"), ("mdcube:3,1", "dcube-shortest")])
@pytest.mark.parametrize("loss", [0.0, 0.3])
def test_all_servers_learn_of_every_failure_and_of_its_end(topology: str, name: str, loss: float) -> None:
    net = Flood(topology, name, loss)
    failed = set(random.Random(7).sample(range(len(net.fabric.link_ends)), 3))
    net.change(failed, up=False)
    assert all(net.known(node) == failed for node in range(net.fabric.servers))
    net.change(failed, up=True)
    assert not any(net.known(node) for node in range(net.fabric.servers))


def test_a_server_that_was_cut_off_gets_what_it_missed() -> None:
    net = Flood("bcube:3,1", "brp")
    own, other = set(net.fabric.links_of(4)), {net.fabric.link_at(0, 1)}
    net.change(own, up=False)
    net.change(other, up=False)
    assert net.known(4) == own
    assert net.known(0) == other  # behind switches no server notices that server 4 is down
    net.change(own, up=True)
    assert net.known(4) == net.known(0) == other


def test_an_advertisement_ends_when_the_carrier_returns() -> None:
    net = Flood("bcube:3,1", "brp")
    own = {net.fabric.link_at(4, 1)}
    net.change(own, up=False)
    net.change({net.fabric.link_at(0, 1)}, up=False)  # received while the own port is down
    net.change(own, up=True)
    assert net.known(4) == {net.fabric.link_at(0, 1)}


def test_dcell_keeps_link_state_inside_a_cell() -> None:
    net = Flood("dcell:2,2", "dfr")  # b = 1: cells of 6 servers
    link = net.fabric.link_at(0, 1)
    net.change({link}, up=False)
    assert [node for node in range(net.fabric.servers) if link in net.known(node)] == list(range(6))
