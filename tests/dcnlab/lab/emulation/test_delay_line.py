"""What the delay line does to packets: when they leave, and which."""

from __future__ import annotations

import random
import struct

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from dcnlab.lab.emulation.links import shaping
from dcnlab.lab.emulation.links.corruption import corrupt
from dcnlab.lab.emulation.links.delay_line import End, Schedule, Settings
from dcnlab.lab.options.link_shape import Shape

#: With addresses: scapy would ask the machine's network for them.
ETHERNET = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")


def end(**settings: float) -> End:
    return End(0, Settings(**settings))


def test_packets_leave_when_they_have_waited_and_in_order() -> None:
    schedule, slow, fast = Schedule(), end(delay=0.5), end(delay=0.1)
    assert schedule.wait(0.0) is None
    for number in range(5):
        schedule.add(slow, b"%d" % number, 1.0)
    schedule.add(fast, b"first", 1.2)
    assert schedule.wait(1.2) == pytest.approx(0.1)
    assert list(schedule.due(1.29)) == []
    assert list(schedule.due(1.3)) == [(fast, b"first")]
    assert [packet for _, packet in schedule.due(9.0)] == [b"0", b"1", b"2", b"3", b"4"]
    assert (slow.waiting, fast.waiting, schedule.wait(9.0)) == (0, 0, None)


def test_a_change_moves_no_packet_that_waits() -> None:
    schedule, one = Schedule(), end(delay=0.5)
    schedule.add(one, b"a", 0.0)
    one.settings = Settings(delay=0.0)
    schedule.add(one, b"b", 0.1)
    assert [packet for _, packet in schedule.due(0.1)] == [b"b"]
    assert [packet for _, packet in schedule.due(0.5)] == [b"a"]


def test_shares_are_those_that_were_asked_for() -> None:
    schedule = Schedule(random.Random(1).random)
    one = end(loss=0.1, duplicate=0.2, delay=1.0, jitter=0.25)
    for _ in range(5000):
        schedule.add(one, b"x", 0.0)
    assert one.waiting == pytest.approx(5000 * 0.9 * 1.2, rel=0.05)
    assert not list(schedule.due(0.74))
    assert len(list(schedule.due(1.0))) == pytest.approx(2700, rel=0.05)
    assert len(list(schedule.due(1.25))) == pytest.approx(2700, rel=0.05)
    some = end(delay=1.0, reorder=0.25)
    for _ in range(5000):
        schedule.add(some, b"x", 0.0)
    assert len(list(schedule.due(0.0))) == pytest.approx(1250, rel=0.1)


def test_no_more_packets_wait_than_with_netem() -> None:
    schedule, one = Schedule(), end(delay=1.0)
    for _ in range(12_000):
        schedule.add(one, b"x", 0.0)
    assert one.waiting == 10_000


def test_a_shape_is_told_in_seconds_and_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shaping, "has_netem", lambda: False)
    shape = Shape(delay="5ms", jitter="200us", rate="5Mbit", loss="3%", reorder="50%")
    for problem, lost in (("", {}), ("run as root", {"loss": pytest.approx(0.03)})):
        monkeypatch.setattr(shaping.loss, "problem", lambda problem=problem: problem)
        told = {"delay": pytest.approx(0.005), "jitter": pytest.approx(0.0002), "reorder": 0.5}
        assert shaping.waiting(shape) == told | lost
    assert shaping.waiting(Shape(rate="5Mbit")) == {}
    assert Settings(**shaping.waiting(shape)).delay == pytest.approx(0.005)


def wrong_bits(arrived: bytes, wanted: bytes) -> int:
    assert len(arrived) == len(wanted)
    return (int.from_bytes(arrived, "big") ^ int.from_bytes(wanted, "big")).bit_count()


def test_a_packet_gets_one_wrong_bit_after_its_checksum() -> None:
    whole = bytes(ETHERNET / IP(src="10.0.0.1", dst="10.0.0.2") / UDP() / b"some data")
    start, offset, pseudo = 34, 6, 2 * 0x0A00 + 0x0003 + 17 + 17  # addresses, protocol, length
    partial = whole[:40] + pseudo.to_bytes(2, "big") + whole[42:]
    chance = random.Random(1).random
    for packet in (bytes(10) + whole, struct.pack("=BBHHHH", 1, 0, 0, 0, start, offset) + partial):
        for _ in range(200):
            (corrupted,) = corrupt(packet, chance)
            assert corrupted[:10] == bytes(10)
            assert wrong_bits(corrupted[10:], whole) == 1


@pytest.mark.parametrize(
    ("kind", "network", "start"),
    [
        (1, IP(src="10.0.0.1", dst="10.0.0.2", id=0xFFFF), 34),
        (4, IPv6(src="fd00::1", dst="fd00::2"), 54),
    ],
)
def test_a_super_packet_is_segmented_and_one_segment_is_wrong(kind: int, network: Packet, start: int) -> None:
    data = bytes(range(250)) * 10
    tcp = TCP(seq=0xFFFFFF00, flags="FPAC", options=[("Timestamp", (1, 2)), ("NOP", None), ("NOP", None)])
    packet = struct.pack("=BBHHHH", 1, kind | 0x80, start + 32, 1000, start, 16) + bytes(
        ETHERNET / network / tcp / data
    )
    segments = [one[10:] for one in corrupt(packet, random.Random(2).random)]
    wanted = []
    for number, at in enumerate((0, 1000, 2000)):
        tcp.seq, tcp.flags = (0xFFFFFF00 + at) % 2**32, ("AC", "A", "FPA")[number]
        if kind == 1:
            network.id = (0xFFFF + number) % 2**16
        wanted.append(bytes(ETHERNET / network / tcp / Raw(data[at : at + 1000])))
    assert sorted(map(wrong_bits, segments, wanted)) == [0, 0, 1]


def test_the_share_of_wrong_packets_is_the_one_asked_for() -> None:
    schedule, one = Schedule(random.Random(1).random), end(corrupt=0.1)
    for _ in range(5000):
        schedule.add(one, bytes(80), 0.0)
    assert sum(packet != bytes(80) for _, packet in schedule.due(0.0)) == pytest.approx(500, rel=0.1)
