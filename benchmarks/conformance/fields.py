"""The fields of OpenFlow 1.3's matches: where each lies in a frame, the value it has there, and another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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
from scapy.layers.sctp import SCTP
from scapy.packet import Packet

_MAC, _ALIKE, _OTHER = "12:11:11:11:11:11", "12:11:11:11:11:ff", "32:33:33:33:33:33"
_MAC_MASK = "ff:ff:ff:ff:ff:00"
_IPV6_MASK = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:0"
Write = Callable[[Any, Any], None]


def attribute(name: str) -> Write:
    """Writes an attribute of a layer."""
    return lambda layer, value: setattr(layer, name, value)


def _bits(name: str, shift: int, mask: int) -> Write:
    """Writes bits of an attribute."""

    def write(layer: Any, value: int) -> None:
        setattr(layer, name, getattr(layer, name) & ~mask | value << shift)

    return write


@dataclass(frozen=True)
class Field:
    """A field: its name in the specification and in ``ovs-ofctl``, and in which layer it lies.

    ``hit`` is the value in the frames, ``miss`` another.  Where the field has masks, ``alike`` differs from
    ``hit`` only where ``mask`` has zeros.  ``extra`` are prerequisites beyond those of the frame's kind.
    """

    name: str
    ovs: str
    layer: type[Packet]
    write: Write
    hit: Any
    miss: Any
    mask: Any = None
    alike: Any = None
    extra: str = ""
    settable: bool = True

    def applies(self, frame: Packet) -> bool:
        """Whether a switch finds the field in this frame: nothing below an MPLS label, and no tag if it is of
        a tag."""
        return self.layer in frame and (MPLS not in frame or self.layer in (Ether, MPLS))

    def with_value(self, frame: Packet, value: Any) -> Packet:
        """The frame with another value; checksums are computed anew."""
        changed = frame.copy()
        self.write(changed[self.layer], value)
        return changed


def prerequisites(frame: Packet) -> str:
    """The prerequisites of the fields of a frame, as ``ovs-ofctl`` reads them."""
    if MPLS in frame:
        return "mpls"
    if ARP in frame:
        return "arp"
    if IP in frame:
        return {TCP: "tcp", UDP: "udp", SCTP: "sctp", ICMP: "icmp"}[_inside(frame, TCP, UDP, SCTP, ICMP)]
    if IPv6 in frame:
        inner = _inside(frame, TCP, UDP, SCTP, ICMPv6EchoRequest, ICMPv6ND_NS, ICMPv6ND_NA)
        return {
            TCP: "tcp6", UDP: "udp6", SCTP: "sctp6", ICMPv6EchoRequest: "icmp6",
            ICMPv6ND_NS: "icmp6,icmpv6_type=135,icmpv6_code=0",
            ICMPv6ND_NA: "icmp6,icmpv6_type=136,icmpv6_code=0",
        }[inner]  # fmt: skip
    return "dl_type=0x88b5"


def _inside(frame: Packet, *layers: type[Packet]) -> type[Packet]:
    return next(layer for layer in layers if layer in frame)


def tag_of(frame: Packet) -> type[Packet] | None:
    """The class of a frame's outer tag."""
    return next((layer for layer in (Dot1AD, Dot1Q) if layer in frame), None)


def _tag(layer: type[Packet]) -> tuple[Field, ...]:
    present = "vlan_vid=0x1000/0x1000"

    def write(tag: Any, value: int) -> None:
        tag.vlan = value & 0xFFF

    return (
        Field("VLAN_VID", "vlan_vid", layer, write, 0x1000 | 100, 0x1000 | 200, 0x1FF0, 0x1000 | 101),
        Field("VLAN_PCP", "vlan_pcp", layer, attribute("prio"), 3, 5, extra=present),
    )  # fmt: skip


def _ports(layer: type[Packet], name: str) -> tuple[Field, ...]:
    return (
        Field(f"{name.upper()}_SRC", f"{name}_src", layer, attribute("sport"), 11111, 33333, "0xff00", 11112),
        Field(f"{name.upper()}_DST", f"{name}_dst", layer, attribute("dport"), 2222, 4444, "0xff00", 2223),
    )


FIELDS = (
    Field("ETH_DST", "eth_dst", Ether, attribute("dst"), "22:22:22:22:22:22", _OTHER, _MAC_MASK,
          "22:22:22:22:22:ee"),
    Field("ETH_SRC", "eth_src", Ether, attribute("src"), _MAC, _OTHER, _MAC_MASK, _ALIKE),
    *_tag(Dot1Q), *_tag(Dot1AD),
    Field("IP_DSCP", "ip_dscp", IP, _bits("tos", 2, 0xFC), 0, 40),
    Field("IP_DSCP", "ip_dscp", IPv6, _bits("tc", 2, 0xFC), 0, 40),
    Field("IP_ECN", "nw_ecn", IP, _bits("tos", 0, 0x03), 0, 2),
    Field("IP_ECN", "nw_ecn", IPv6, _bits("tc", 0, 0x03), 0, 2),
    Field("IPV4_SRC", "ip_src", IP, attribute("src"), "192.168.10.10", "10.1.1.1", "255.255.255.0",
          "192.168.10.99"),
    Field("IPV4_DST", "ip_dst", IP, attribute("dst"), "192.168.20.20", "10.1.1.1", "255.255.255.0",
          "192.168.20.99"),
    *_ports(TCP, "tcp"), *_ports(UDP, "udp"), *_ports(SCTP, "sctp"),
    Field("ICMPV4_TYPE", "icmp_type", ICMP, attribute("type"), 8, 0),
    Field("ICMPV4_CODE", "icmp_code", ICMP, attribute("code"), 0, 9),
    Field("ARP_OP", "arp_op", ARP, attribute("op"), 1, 2),
    Field("ARP_SPA", "arp_spa", ARP, attribute("psrc"), "192.168.10.10", "10.1.1.1", "255.255.255.0",
          "192.168.10.99"),
    Field("ARP_TPA", "arp_tpa", ARP, attribute("pdst"), "192.168.20.20", "10.1.1.1", "255.255.255.0",
          "192.168.20.99"),
    Field("ARP_SHA", "arp_sha", ARP, attribute("hwsrc"), _MAC, _OTHER, _MAC_MASK, _ALIKE),
    Field("ARP_THA", "arp_tha", ARP, attribute("hwdst"), "22:22:22:22:22:22", _OTHER, _MAC_MASK,
          "22:22:22:22:22:ee"),
    Field("IPV6_SRC", "ipv6_src", IPv6, attribute("src"), "10::10", "40::40", _IPV6_MASK, "10::99"),
    Field("IPV6_DST", "ipv6_dst", IPv6, attribute("dst"), "20::20", "40::40", _IPV6_MASK, "20::99"),
    Field("IPV6_FLABEL", "ipv6_label", IPv6, attribute("fl"), 0, 0x54321, "0xffff0", 1),
    Field("ICMPV6_TYPE", "icmpv6_type", ICMPv6EchoRequest, attribute("type"), 128, 129),
    Field("ICMPV6_CODE", "icmpv6_code", ICMPv6EchoRequest, attribute("code"), 0, 3),
    Field("IPV6_ND_TARGET", "nd_target", ICMPv6ND_NS, attribute("tgt"), "10::30", "40::40", _IPV6_MASK,
          "10::99"),
    Field("IPV6_ND_TARGET", "nd_target", ICMPv6ND_NA, attribute("tgt"), "10::30", "40::40", _IPV6_MASK,
          "10::99"),
    Field("IPV6_ND_SLL", "nd_sll", ICMPv6NDOptSrcLLAddr, attribute("lladdr"), _MAC, _OTHER),
    Field("IPV6_ND_TLL", "nd_tll", ICMPv6NDOptDstLLAddr, attribute("lladdr"), _MAC, _OTHER),
    Field("MPLS_LABEL", "mpls_label", MPLS, attribute("label"), 100, 200),
    Field("MPLS_TC", "mpls_tc", MPLS, attribute("cos"), 3, 5),
    Field("MPLS_BOS", "mpls_bos", MPLS, attribute("s"), 1, 0, settable=False),
)  # fmt: skip
