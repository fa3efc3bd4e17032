"""Frames that are relayed by arrays leave as if each had been relayed alone."""

from __future__ import annotations

import functools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from addressing.header import Field
from hostagent.forwarding import packet
from hostagent.forwarding.agent import Agent
from hostagent.forwarding.batch import Headers
from tests.hostagent.frames import NO_OFFLOAD, agent, frame, from_host, scheme, udp

SLOT = 2048
#: Cases with a label, with label and tag, with IPv4 addresses.  Server NODE relays the packets of server
#: SOURCE, which arrive at PORT.
CASES = {
    "label": ("torus:3x4", "shortest"),
    "switches": ("bcube:4,1", "wmgr"),
    "tag": ("bcube:4,1", "brp"),
    "address": ("torus:3x4", "pow"),
}
NODE, SOURCE, PORT = 5, 9, 1


@functools.cache
def arriving(case: str) -> tuple[bytes, ...]:
    """A frame from the source to every other server, as it arrives at the relay."""
    bound = scheme(*CASES[case])
    origin = agent(bound, SOURCE)
    frames = []
    for destination in range(bound.fabric.servers):
        slot, end = from_host(udp(bound, SOURCE, destination))
        if origin.receive_packet(slot, end, now=0.0) > 0:
            frames.append(bytes(slot[:end]))
    return tuple(frames)


def relay(case: str) -> Agent:
    """The relaying agent, with cached decisions."""
    relaying = agent(scheme(*CASES[case]), NODE)
    for data in arriving(case):
        relaying.receive_frame(memoryview(bytearray(data)), len(data), PORT, now=0.0)
    relaying.outbox.clear()
    return relaying


def in_slots(frames: list[bytes]) -> memoryview:
    """Slots with frames; their previous content is arbitrary."""
    memory = bytearray(random.Random(1).randbytes(SLOT * len(frames)))
    for i, data in enumerate(frames):
        memory[i * SLOT : i * SLOT + len(data)] = data
    return memoryview(memory)


def altered(data: bytes, at: int, value: int) -> bytes:
    """The frame with one byte changed."""
    return data[:at] + bytes([value]) + data[at + 1 :]


@functools.cache
def bursts(case: str) -> st.SearchStrategy[list[bytes]]:
    """Frames as they arrive; some are not plain IPv4, cut short or damaged."""
    good = st.sampled_from(arriving(case))
    headers_end = packet.MIN_END + 8
    strange = st.one_of(
        st.builds(altered, good, st.integers(0, headers_end - 1), st.integers(0, 255)),
        st.builds(lambda whole, end: whole[:end], good, st.integers(0, headers_end)),
        st.just(NO_OFFLOAD + frame(b"\xff" * 6 + b"\2" * 6, bytes(40), 0x0806)),
    )
    return st.builds(
        mixed,
        st.lists(good, min_size=1, max_size=20),
        st.lists(st.tuples(st.integers(0, 20), strange), max_size=2),
    )


def mixed(frames: list[bytes], odd: list[tuple[int, bytes]]) -> list[bytes]:
    """The frames with odd ones among them."""
    for place, data in odd:
        frames.insert(place, data)
    return frames


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_a_burst_is_relayed_as_frame_by_frame(case: str, data: st.DataObject) -> None:
    """Or not at all."""
    holds(case, data.draw(bursts(case)))


def holds(case: str, frames: list[bytes]) -> list[int]:
    """Compare both; returns the ports by which the burst left."""
    ours, theirs = relay(case), relay(case)
    before, memory, single = ours.counts(), in_slots(frames), in_slots(frames)
    untouched = bytes(memory)
    ports = ours.receive_burst(
        Headers(memory, len(frames), SLOT), np.array([len(data) for data in frames], np.uint32), PORT
    )
    if not ports:
        assert bytes(memory) == untouched
        assert ours.counts() == before
        return ports
    slots = [single[i * SLOT : (i + 1) * SLOT] for i in range(len(frames))]
    outs = [
        theirs.receive_frame(slot, len(data), PORT, now=0.0) for slot, data in zip(slots, frames, strict=True)
    ]
    assert outs == (ports * len(frames) if len(ports) == 1 else ports)
    assert memory == single
    assert ours.counts() == theirs.counts()
    return ports


@pytest.mark.parametrize("case", CASES)
def test_plain_frames_are_relayed_together(case: str) -> None:
    """All with a single next hop; TTL 255 to 2, each with its checksum."""
    bound, alone = scheme(*CASES[case]), relay(case)
    onward = [
        data
        for data in arriving(case)
        if alone.receive_frame(memoryview(bytearray(data)), len(data), PORT, now=0.0) > 0
        and (decision := alone.decision(memoryview(bytearray(data)), len(data), PORT)) is not None
        and decision.only is not None
    ]
    assert len(onward) > 1
    assert holds(case, onward * 3)
    to = int.from_bytes(onward[0][packet.IP_OFFSET + 16 : packet.IP_OFFSET + 20], "big")
    (destination,) = (n for n in range(bound.fabric.servers) if bound.ipv4(n) == to)
    flow = [
        onward[0][: packet.IP_OFFSET] + udp(bound, SOURCE, destination, ttl=ttl, port=5000 + ttl)
        for ttl in range(2, 256)
    ]
    assert holds(case, flow)
    assert bound.label_field is (Field.IPV4_DST if case == "address" else Field.ETH_DST)


def test_every_checksum_is_updated_as_rfc_1624_states() -> None:
    """All 65,536 of them, impossible ones as well: relays do not verify checksums."""
    whole = arriving("label")[0]
    at = packet.TTL_OFFSET + 2
    frames = [
        whole[:at] + value.to_bytes(2, "big") + whole[at + 2 : packet.MIN_END] for value in range(1 << 16)
    ]
    size = packet.MIN_END
    memory = memoryview(bytearray(b"".join(frames)))
    ours = relay("label")
    lengths = np.full(len(frames), size, np.uint32)
    assert ours.receive_burst(Headers(memory, len(frames), size), lengths, PORT)
    for value in range(1 << 16):
        assert int.from_bytes(memory[value * size + at :][:2], "big") == packet.ttl_decremented_checksum(value)


def test_nothing_is_relayed_by_cleared_decisions() -> None:
    ours, frames = relay("label"), [arriving("label")[-1]] * 20
    lengths = np.full(len(frames), len(frames[0]), np.uint32)

    def burst() -> list[int]:
        return ours.receive_burst(Headers(in_slots(frames), len(frames), SLOT), lengths, PORT)

    assert burst()
    ours.handle_link_change(2, up=False)
    assert burst() == []
