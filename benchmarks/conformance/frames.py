"""The frames of all cases: scapy's packets, each with a text by which it is recognised."""

from __future__ import annotations

from collections.abc import Iterator

from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptSrcLLAddr,
    IPv6,
)
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.layers.sctp import SCTP, SCTPChunkData
from scapy.packet import Packet, Padding, Raw

#: Every frame of a case has it.
MARK = b"conformance"
TAIL = MARK + bytes(48)
_A, _B = "12:11:11:11:11:11", "22:22:22:22:22:22"


def ethernet() -> Packet:
    """Destination and source of every frame."""
    return Ether(dst=_B, src=_A)


def kinds() -> dict[str, Packet]:
    """What follows the Ethernet header, by name, without a tag."""
    ip = IP(src="192.168.10.10", dst="192.168.20.20", ttl=64, tos=0x0, id=7)
    ip6 = IPv6(src="10::10", dst="20::20", hlim=64, tc=0, fl=0)
    tcp, udp = TCP(sport=11111, dport=2222), UDP(sport=11111, dport=2222)
    sctp = SCTP(sport=11111, dport=2222) / SCTPChunkData(data=TAIL)
    solicit = ICMPv6ND_NS(tgt="10::30") / ICMPv6NDOptSrcLLAddr(lladdr=_A)
    advert = ICMPv6ND_NA(tgt="10::30", R=0, S=0, O=0) / ICMPv6NDOptDstLLAddr(lladdr=_A)
    arp = ARP(op=1, psrc="192.168.10.10", pdst="192.168.20.20", hwsrc=_A, hwdst=_B)
    return {
        "unknown": Raw(TAIL),
        "arp": arp / Padding(TAIL),
        "ipv4-tcp": ip / tcp / Raw(TAIL),
        "ipv4-udp": ip / udp / Raw(TAIL),
        "ipv4-sctp": ip / sctp,
        "ipv4-icmp": ip / ICMP(type=8, code=0) / Raw(TAIL),
        "ipv6-tcp": ip6 / tcp / Raw(TAIL),
        "ipv6-udp": ip6 / udp / Raw(TAIL),
        "ipv6-sctp": ip6 / sctp,
        "ipv6-icmp": ip6 / ICMPv6EchoRequest() / Raw(TAIL),
        "ipv6-solicit": ip6 / solicit / Padding(TAIL),
        "ipv6-advert": ip6 / advert / Padding(TAIL),
    }


def tags() -> dict[str, Packet | None]:
    """What stands between the Ethernet header and the rest."""
    return {"": None, "vlan-": Dot1Q(vlan=100, prio=3), "svlan-": Dot1AD(vlan=100, prio=3)}


def plain(kind: str = "ipv4-udp") -> Packet:
    """A frame without a tag."""
    return _typed(ethernet() / kinds()[kind].copy())


def tagged(kind: str = "ipv4-udp", tag: str = "vlan-") -> Packet:
    """A frame with a tag."""
    between = tags()[tag]
    assert between is not None
    return _typed(ethernet() / between.copy() / kinds()[kind].copy())


def labelled(kind: str = "ipv4-udp", *, depth: int = 1, ttl: int = 60) -> Packet:
    """A frame with MPLS labels."""
    frame = Ether(dst=_B, src=_A, type=0x8847)
    for number in range(depth):
        frame /= MPLS(label=100 + number, cos=3, s=int(number == depth - 1), ttl=ttl)
    return frame / kinds()[kind].copy()


def every() -> Iterator[tuple[str, Packet]]:
    """Every kind of frame without a tag and with either tag, and three with an MPLS label."""
    for tag, between in tags().items():
        for name in kinds():
            yield tag + name, plain(name) if between is None else tagged(name, tag)
    for name in ("ipv4-udp", "ipv6-tcp", "arp"):
        yield f"mpls-{name}", labelled(name)


def flows(count: int) -> list[Packet]:
    """UDP frames of so many flows."""
    frames = []
    for number in range(count):
        frame = plain()
        frame[UDP].sport = 20000 + number
        frames.append(frame)
    return frames


def _typed(frame: Packet) -> Packet:
    """With an EtherType where scapy knows none."""
    last = frame[Dot1AD] if Dot1AD in frame else frame[Dot1Q] if Dot1Q in frame else frame[Ether]
    if isinstance(last.payload, Raw):
        last.type = 0x88B5
    return frame
