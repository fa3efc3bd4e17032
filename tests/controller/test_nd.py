"""Neighbour discovery, compared with scapy."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet6 import ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptDstLLAddr, ICMPv6NDOptSrcLLAddr, IPv6
from scapy.layers.l2 import Ether

from controller.hosts import nd

HOST, TARGET, MAC, OTHER = "fd00::a00:1", "fd00::a00:b", "00:00:00:00:01:01", "00:00:00:00:0b:01"


def question(**changes: object) -> bytes:
    """A solicitation as a kernel sends it."""
    fields = {"src": HOST, "dst": "ff02::1:ff00:b", "hlim": 255, "tgt": TARGET} | changes
    target = fields.pop("tgt")
    option = ICMPv6NDOptSrcLLAddr(lladdr=MAC)
    return bytes(Ether(src=MAC, dst="33:33:ff:00:00:0b") / IPv6(**fields) / ICMPv6ND_NS(tgt=target) / option)


def test_a_solicitation_is_parsed() -> None:
    solicitation = nd.parse_solicitation(question())
    numbers = (int(ipaddress.IPv6Address(text)) for text in (HOST, TARGET))
    assert solicitation == nd.Solicitation(0x0101, *numbers)


@pytest.mark.parametrize("changes", [{"hlim": 64}, {"src": "::"}, {"tgt": "ff02::1"}, {"nh": 17}])
def test_solicitations_that_rfc_4861_forbids_are_ignored(changes: dict[str, object]) -> None:
    assert nd.parse_solicitation(question(**changes)) is None


@given(place=st.integers(54, 85), flip=st.integers(1, 255))
def test_a_damaged_solicitation_is_ignored(place: int, flip: int) -> None:
    damaged = bytearray(question())
    damaged[place] ^= flip
    assert nd.parse_solicitation(bytes(damaged)) is None


@given(st.integers(0, 85), st.binary(max_size=120))
def test_any_other_bytes_after_the_headers_are_ignored(begun: int, rest: bytes) -> None:
    """Only the solicitation itself, padded or not, has its checksum."""
    whole = question()
    assert len(whole) == 86
    frame = whole[:begun] + rest
    if not frame.startswith(whole):
        assert nd.parse_solicitation(frame) is None


@given(st.ip_addresses(v=6), st.ip_addresses(v=6), st.sampled_from([255, 254]), st.binary(max_size=30))
def test_solicitations_of_scapy_are_parsed_unless_forbidden(
    source: ipaddress.IPv6Address, target: ipaddress.IPv6Address, hops: int, padding: bytes
) -> None:
    """Every checksum is correct; RFC 4861, section 7.1.1, states which ones are invalid."""
    frame = question(src=str(source), tgt=str(target), hlim=hops) + padding
    legal = (
        hops == 255 and not target.is_multicast and int(source) != 0
    )  # 3.13.5: is_unspecified of ::ffff:0:0 too
    expected = nd.Solicitation(0x0101, int(source), int(target)) if legal else None
    assert nd.parse_solicitation(frame) == expected


def test_the_advertisement_equals_that_of_scapy() -> None:
    numbers = (int(ipaddress.IPv6Address(text)) for text in (TARGET, HOST))
    target, host = numbers
    written = nd.advertisement(0x0B01, target, 0x0101, host)
    layers = Ether(src=OTHER, dst=MAC) / IPv6(src=TARGET, dst=HOST, hlim=255)
    answer = ICMPv6ND_NA(tgt=TARGET, R=0, S=1, O=1) / ICMPv6NDOptDstLLAddr(lladdr=OTHER)
    assert written == bytes(layers / answer)
