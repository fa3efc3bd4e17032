"""ARP frames, compared with scapy."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.l2 import ARP, Ether

from addressing.fields import ipv4, mac
from controller.hosts import arp
from tests.controller.values import addresses, macs

REQUEST = Ether(src=mac.text(1)) / ARP(op=1, hwsrc=mac.text(1), psrc="10.0.0.1", pdst="10.0.0.2")


@given(macs, addresses, addresses)
def test_requests_of_scapy_are_parsed(sender: int, sender_ip: int, target_ip: int) -> None:
    asked = ARP(op=1, hwsrc=mac.text(sender), psrc=ipv4.text(sender_ip), pdst=ipv4.text(target_ip))
    ethernet = Ether(src=mac.text(sender), dst="ff:ff:ff:ff:ff:ff")
    frame = bytes(ethernet / asked) + bytes(18)
    assert arp.parse_request(frame) == arp.Request(sender, sender_ip, target_ip)
    asked.op = 2
    assert arp.parse_request(bytes(ethernet / asked)) is None


@given(macs, addresses, macs, addresses)
def test_scapy_reads_the_replies(owner: int, ip: int, to: int, to_ip: int) -> None:
    told = Ether(arp.reply(owner, ip, to, to_ip))
    assert (told.src, told.dst, told[ARP].op) == (mac.text(owner), mac.text(to), 2)
    assert (told[ARP].hwsrc, told[ARP].psrc) == (mac.text(owner), ipv4.text(ip))
    assert (told[ARP].hwdst, told[ARP].pdst) == (mac.text(to), ipv4.text(to_ip))
    announced = Ether(arp.announcement(owner, ip, to))
    assert announced.dst == mac.text(to)
    assert announced[ARP].psrc == announced[ARP].pdst == ipv4.text(ip)
    assert announced[ARP].hwsrc == announced[ARP].hwdst == mac.text(owner)


@given(place=st.integers(12, 21), flip=st.integers(1, 255), padding=st.binary(max_size=40))
def test_other_frames_are_not_requests(place: int, flip: int, padding: bytes) -> None:
    """Bytes 12 to 21 are protocols, sizes and the operation."""
    frame = bytearray(bytes(REQUEST) + padding)
    assert arp.parse_request(bytes(frame)) is not None
    frame[place] ^= flip
    assert arp.parse_request(bytes(frame)) is None


def test_short_frames_are_not_requests() -> None:
    whole = bytes(REQUEST)
    assert [size for size in range(len(whole) + 1) if arp.parse_request(whole[:size])] == [42]
