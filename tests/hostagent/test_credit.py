"""Credits counted at both ends, their encoding, and arbitrary other packets."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether

from addressing.fields.checksum import checksum
from hostagent.flowcontrol.credit import (
    CONTROL,
    CreditReport,
    CreditTag,
    ReceiveBuffer,
    SendWindow,
    control_entries,
    control_frame,
)
from hostagent.flowcontrol.credit_state import window
from hostagent.flowcontrol.relay import FlowControlError, Relay, check
from hostagent.forwarding import packet
from hostagent.forwarding.decisions import CONSUMED
from tests.hostagent.frames import agent, from_host, from_nic, scheme, udp
from topos import registry as topologies
from topos.graph import LinkState


@given(st.integers(0, 63), st.integers(0, 255), st.integers(0, (1 << 24) - 2), st.integers(1, 255))
def test_credit_tags_are_decoded_and_are_no_group_addresses(
    channel: int, number: int, server: int, receiver: int
) -> None:
    data = CreditTag(channel, number, server, receiver).encode()
    assert CreditTag.decode(data) == (channel, number, server, receiver)
    assert not data[0] & 1


@given(st.lists(st.builds(CreditReport, st.booleans(), st.integers(0, 1), st.integers(0, 255)), max_size=4))
def test_control_frames_are_ipv4_that_scapy_parses(entries: list[CreditReport]) -> None:
    mark = CreditTag(CONTROL, 0, 3, 2).encode()
    frame = control_frame(b"\x02" + bytes(5), mark, b"\x0a\0\0\1", b"\x0a\0\0\2", entries)
    shown = Ether(frame[packet.VNET_SIZE :])
    assert (shown[IP].src, shown[IP].dst, shown[IP].proto) == ("10.0.0.1", "10.0.0.2", 253)
    assert shown[IP].len == len(frame) - packet.IP_OFFSET
    assert checksum(frame[packet.IP_OFFSET : packet.MIN_END]) == 0
    assert list(control_entries(memoryview(frame + bytes(30)), len(frame) + 30)) == entries


@given(
    st.integers(1, 60),
    st.lists(st.sampled_from(["send", "arrive", "free", "tell"]), max_size=600),
    st.randoms(use_true_random=False),
)
def test_both_ends_agree_after_any_order_of_events(limit: int, events: list[str], draw: random.Random) -> None:
    """Frames may be reordered and reports lost: never more frames are outstanding than the buffer holds, and in
    the end all credits are back."""
    send_window, buffer = SendWindow(limit), ReceiveBuffer[int](limit)
    flying: list[int] = []
    for event in events:
        if event == "send" and send_window.room:
            flying.append(send_window.take(0.0))
        elif event == "arrive" and flying:
            assert buffer.accept(flying.pop(draw.randrange(min(3, len(flying)))))
            buffer.put(0)
        elif event == "free" and buffer.queue:
            buffer.queue.popleft()
            buffer.free()
        elif event == "tell" and draw.random() < 0.5:
            assert send_window.handle_credits(buffer.freed, 0.0)
        assert len(flying) + len(buffer.queue) <= send_window.outstanding <= limit
    while flying:
        assert buffer.accept(flying.pop())
        buffer.free()
    for _ in range(len(buffer.queue)):
        buffer.free()
    assert send_window.handle_credits(buffer.freed, 0.0)
    assert send_window.outstanding == 0


def test_credits_of_lost_frames_are_back_after_two_queries() -> None:
    send_window, buffer = SendWindow(4), ReceiveBuffer[int](4)
    numbers = [send_window.take(0.0) for _ in range(4)]
    assert not send_window.room
    assert buffer.accept(numbers[2])
    buffer.free()
    buffer.query(send_window.sent)
    assert buffer.lost == 0
    buffer.query(send_window.sent)
    assert buffer.lost == 3
    assert send_window.handle_credits(buffer.freed, 0.0)
    assert send_window.outstanding == 0
    assert not buffer.accept(numbers[1])
    assert buffer.accept(send_window.take(0.0))


def test_the_credit_of_a_lost_frame_is_back_while_others_flow() -> None:
    send_window, buffer = SendWindow(4), ReceiveBuffer[int](4)
    for number in range(300):
        assert send_window.room
        taken = send_window.take(0.0)
        if number != 100:
            assert buffer.accept(taken)
            buffer.free()
            assert send_window.handle_credits(buffer.freed, 0.0)
    assert buffer.lost == 1
    assert send_window.outstanding == 0


def test_impossible_numbers_are_rejected() -> None:
    send_window, buffer = SendWindow(4), ReceiveBuffer[int](4)
    number = send_window.take(0.0)
    assert not send_window.handle_credits(2, 0.0)
    assert send_window.outstanding == 1
    assert buffer.accept(number)
    assert not buffer.accept(number)
    assert not buffer.accept(200)
    buffer.query(200)
    buffer.query(200)
    assert buffer.lost == 0


@given(st.integers(1, 60), st.integers(0, 300), st.lists(st.integers(0, 255), max_size=9))
def test_frames_numbered_before_a_restart_do_no_lasting_harm(
    limit: int, before: int, strays: list[int]
) -> None:
    """An interface has held them.  The first frames after them may be lost, but no credit, and none later."""
    send_window, buffer = SendWindow(limit), ReceiveBuffer[int](limit)
    for _ in range(before):
        exchange(send_window, buffer)
    for stray in strays:
        if buffer.accept(stray):
            buffer.put(stray)
    if buffer.accept(send_window.take(0.0)):
        buffer.put(0)
    buffer.query(send_window.sent)
    buffer.query(send_window.sent)
    while buffer.queue:
        buffer.queue.popleft()
        buffer.free()
    assert send_window.handle_credits(buffer.freed, 0.0)
    for _ in range(300):
        exchange(send_window, buffer)


def exchange(send_window: SendWindow, buffer: ReceiveBuffer[int]) -> None:
    """One frame is sent, arrives and leaves the buffer; the sender learns that."""
    assert buffer.accept(send_window.take(0.0))
    buffer.free()
    assert send_window.handle_credits(buffer.freed, 0.0)
    assert send_window.outstanding == 0


def test_behind_a_switch_the_buffer_is_shared() -> None:
    fabric = topologies.fabric("clot:4x4x4")
    assert window(fabric, 0, 1, 10) == 10
    assert window(fabric, 0, 7, 10) == 1
    assert window(fabric, 0, 7, 70) == 10
    assert window(topologies.fabric("clot:4x4"), 0, 5, 10) == 3


@pytest.mark.parametrize(
    ("topology", "name", "buffers", "text"),
    [
        ("fattree:4", "shortest", 10, "do not relay"),
        ("clot:4x4", "pow", 0, "1 to 60"),
        ("clot:4x4", "pow", 61, "1 to 60"),
        ("bcube:4,1", "brp", 10, "source routes"),
        ("clot:2x2x2x2", "pow", 10, "needs buffers of 15"),
        ("dcell:3,1", "shortest", 10, "no up*/down* route"),
    ],
)
def test_where_credits_do_not_work_the_error_is_one_line(
    topology: str, name: str, buffers: int, text: str
) -> None:
    with pytest.raises(FlowControlError) as error:
        check(scheme(topology, name), buffers, credits=True)
    assert text in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("credits", [True, False])
def test_any_bytes_are_counted_and_nothing_is_raised(credits: bool) -> None:
    bound = scheme("clot:4x4", "pow")
    relay = Relay(agent(bound, 5), 10, credits)
    ports = st.sampled_from([port for port, _ in bound.fabric.ports(5)])

    def marked(channel: int, server: int, port: int, rest: bytes, target: bytes) -> bytes:
        mark = bytes((channel << 2, 0, 0, 0, server, port))
        return b"\x02" + bytes(5) + mark + b"\x08\x00\x45" + rest + target

    ipv4 = st.builds(
        marked,
        st.sampled_from([0, 1, 2, CONTROL]),
        st.integers(0, 17),
        st.integers(0, 5),
        st.binary(min_size=15, max_size=15),
        st.one_of(st.binary(min_size=4, max_size=60), st.sampled_from(list(relay.agent.nodes))),
    )

    @settings(max_examples=300)
    @given(st.one_of(ipv4, st.binary(max_size=100)), ports)
    def arrive(data: bytes, port: int) -> None:
        slot, end = from_nic(data)
        assert relay.receive_frame(slot, end, port, now=0.0) <= 0
        for _ in relay.frames_to_send(0.0):
            pass
        assert all(0 <= left <= 10 for left in relay.credit_state.outstanding().values())

    arrive()


def test_packets_of_the_host_are_taken_only_while_there_is_room() -> None:
    bound = scheme("torus:3x3", "dor")
    relay = Relay(agent(bound, 0), 4, credits=True)
    relay.blocked.update(port for port, _ in bound.fabric.ports(0))
    taken = 0
    while relay.room:
        slot, end = from_host(udp(bound, 0, 4))
        assert relay.receive_packet(slot, end, now=0.0) == CONSUMED
        assert not list(relay.frames_to_send(0.0))
        taken += 1
    assert taken == 4
    relay.blocked.clear()
    assert len(list(relay.frames_to_send(0.0))) == 4
    assert relay.room


@pytest.mark.parametrize("credits", [True, False])
def test_behind_a_packet_that_has_no_path_any_more_the_next_leaves_at_once(credits: bool) -> None:
    bound = scheme("torus:3x3", "wmgr")
    relay = Relay(agent(bound, 0), 4, credits)
    for target in (4, 4, 1):
        slot, end = from_host(udp(bound, 0, target))
        assert relay.receive_packet(slot, end, now=0.0) == CONSUMED
    cut = frozenset(bound.fabric.link_at(4, port) for port, _ in bound.fabric.ports(4))
    relay.agent.apply_link_state(LinkState(cut))
    [(_, frame)] = relay.frames_to_send(0.0)
    assert frame[packet.IP_OFFSET :] == udp(bound, 0, 1)
