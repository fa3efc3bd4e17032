"""Checksums that hosts left open are completed in what a controller sees; scapy says what is right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addressing.fields.checksum import checksum
from controller.checksums import Messages, complete, complete_message

scapy = pytest.importorskip("scapy.all")
#: With addresses: scapy would ask the network for them.
ETHERNET = scapy.Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
Frame = st.tuples(
    st.sampled_from(["TCP", "UDP"]), st.sampled_from([4, 6]), st.booleans(), st.binary(max_size=70)
)


def packets(kind: str, version: int, tagged: bool, data: bytes) -> tuple[bytes, bytes]:
    """(a frame whose checksum is the sum of the pseudo-header, as Linux leaves it; that with the whole one)."""
    ip = scapy.IP(src="10.0.0.1", dst="10.0.0.2") if version == 4 else scapy.IPv6(src="fd00::1", dst="fd00::2")
    layer = scapy.TCP(sport=1, dport=2) if kind == "TCP" else scapy.UDP(sport=1, dport=2)
    below = ETHERNET / scapy.Dot1Q(vlan=7) if tagged else ETHERNET
    whole = bytes(below / ip / layer / data)
    segment = len(bytes(layer / data))
    at = len(whole) - segment + (16 if kind == "TCP" else 6)
    first = len(whole) - segment
    addresses = whole[first - 8 : first] if version == 4 else whole[first - 32 : first]
    protocol = 6 if kind == "TCP" else 17
    open_sum = checksum(addresses + segment.to_bytes(4, "big") + protocol.to_bytes(4, "big")) ^ 0xFFFF
    return whole[:at] + open_sum.to_bytes(2, "big") + whole[at + 2 :], whole


@given(Frame)
def test_an_open_checksum_becomes_the_one_that_scapy_computes(what: tuple[str, int, bool, bytes]) -> None:
    left_open, whole = packets(*what)
    frame = bytearray(left_open)
    complete(frame)
    assert bytes(frame) == whole


@given(Frame)
def test_what_is_complete_stays_as_it_is(what: tuple[str, int, bool, bytes]) -> None:
    frame = bytearray(packets(*what)[1])
    assert not complete(frame)
    assert bytes(frame) == packets(*what)[1]


@given(st.binary(max_size=120))
def test_any_bytes_are_passed_on(data: bytes) -> None:
    assert len(complete_message(data)) == len(data)
    assert len(Messages().passed_on(data)) <= len(data)
    complete(bytearray(data))


@given(Frame, st.lists(st.integers(1, 60), min_size=1), st.booleans())
def test_messages_are_completed_wherever_the_stream_is_divided(
    what: tuple[str, int, bool, bytes], cuts: list[int], old: bool
) -> None:
    left_open, whole = packets(*what)
    stream = message(left_open, old) + bytes((4, 2, 0, 8, 0, 0, 0, 1)) + message(left_open, old)
    reader, out, at = Messages(), b"", 0
    for size in cuts * (len(stream) // sum(cuts) + 1):
        out += reader.passed_on(stream[at : at + size])
        at += size
    assert out == message(whole, old) + bytes((4, 2, 0, 8, 0, 0, 0, 1)) + message(whole, old)


def test_a_tunnel_is_completed_inside() -> None:
    left_open, whole = packets("TCP", 4, False, b"inside")
    outside = ETHERNET / scapy.IP(src="10.0.0.8", dst="10.0.0.9") / scapy.UDP(dport=4789, chksum=0)
    frame = bytearray(bytes(outside / (bytes(8) + left_open)))
    assert complete(frame)
    assert bytes(frame).endswith(whole)


def test_an_encrypted_connection_is_left_alone() -> None:
    hello = b"\x16\x03\x01\x00\x05hello"
    assert Messages().passed_on(hello) == hello


def message(frame: bytes, old: bool) -> bytes:
    """A packet-in of OpenFlow 1.0 or 1.3, whose match names the port 3."""
    match = b"" if old else bytes.fromhex("0001000c800000040000000300000000") + bytes(2)
    fixed = (bytes.fromhex("00030000") if old else bytes(10)) + match
    body = b"\xff\xff\xff\xff" + len(frame).to_bytes(2, "big") + fixed + frame
    return bytes((1 if old else 4, 10)) + (8 + len(body)).to_bytes(2, "big") + bytes(4) + body
