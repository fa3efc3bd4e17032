"""Header fields as bits of one number, so that matching and writing are each a value and a mask.

A packet has one VLAN tag or none: ``vlan_present`` says which.  Fields that only some packets have (``nw_src``,
``tp_dst``, ...) are matched together with what makes them present: in other packets their bits do not matter.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping

from addressing.fields import ipv4, mac
from dcnlab.verifier.atoms import Predicate

IPV4, ARP, RARP, IPV6 = 0x0800, 0x0806, 0x8035, 0x86DD
ICMP, TCP, UDP, ICMPV6, SCTP = 1, 6, 17, 58, 132

#: Bits of each field.
WIDTH = {
    "dl_dst": 48, "dl_src": 48, "vlan_present": 1, "dl_vlan": 12, "dl_vlan_pcp": 3, "dl_type": 16,
    "nw_src": 32, "nw_dst": 32, "ipv6_src": 128, "ipv6_dst": 128, "ipv6_label": 20, "nw_proto": 8, "nw_dscp": 6,
    "nw_ecn": 2, "nw_ttl": 8, "nw_frag": 2, "tp_src": 16, "tp_dst": 16, "tcp_flags": 12, "icmp_type": 8,
    "icmp_code": 8, "arp_op": 16, "arp_spa": 32, "arp_tpa": 32, "arp_sha": 48, "arp_tha": 48, "nd_target": 128,
    "nd_sll": 48, "nd_tll": 48,
}  # fmt: skip
BITS = sum(WIDTH.values())


def _places() -> dict[str, int]:
    place, places = BITS, {}
    for name, width in WIDTH.items():
        place -= width
        places[name] = place
    return places


#: The place of each field's lowest bit.
PLACE = _places()
#: The mask of each field.
MASK = {name: ((1 << width) - 1) << PLACE[name] for name, width in WIDTH.items()}

#: The words that stand for a protocol: its EtherType and IP protocol.
PROTOCOLS: Mapping[str, tuple[int, int | None]] = {
    "ip": (IPV4, None), "icmp": (IPV4, ICMP), "tcp": (IPV4, TCP), "udp": (IPV4, UDP), "sctp": (IPV4, SCTP),
    "mpls": (0x8847, None), "mplsm": (0x8848, None), "nsh": (0x894F, None),
    "arp": (ARP, None), "rarp": (RARP, None), "ipv6": (IPV6, None), "icmp6": (IPV6, ICMPV6),
    "tcp6": (IPV6, TCP), "udp6": (IPV6, UDP), "sctp6": (IPV6, SCTP),
}  # fmt: skip

#: Other names of fields, in OpenFlow and in ``set_field``.
_ALSO = {
    "eth_src": "dl_src", "eth_dst": "dl_dst", "eth_type": "dl_type", "ip_src": "nw_src", "ip_dst": "nw_dst",
    "ipv4_src": "nw_src", "ipv4_dst": "nw_dst", "ip_proto": "nw_proto", "vlan_pcp": "dl_vlan_pcp",
    "ip_dscp": "nw_dscp", "ip_ecn": "nw_ecn", "icmpv6_type": "icmp_type", "icmpv6_code": "icmp_code",
    "icmpv4_type": "icmp_type", "icmpv4_code": "icmp_code", "ip_frag": "nw_frag",
} | {f"{kind}_{end}": f"tp_{end}" for kind in ("tcp", "udp", "sctp") for end in ("src", "dst")}  # fmt: skip
_FRAGMENTS = {"no": (0, 3), "yes": (1, 1), "first": (1, 3), "later": (3, 3), "not_later": (0, 2)}
_FLAG_NAMES = ("fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr", "ns")
_SIGNED_FLAG = re.compile(r"([+-])([a-z]+)")
_PRESENT = 0x1000


#: Open vSwitch's names of parts of fields, as ``load`` writes them.
_NXM = re.compile(r"(?:NXM|OXM)_(?:OF|NX)_(\w+)\[(?:(\d+)(?:\.\.(\d+))?)?\]")
_NXM_NAMES = {"IP_SRC": "nw_src", "IP_DST": "nw_dst", "IP_PROTO": "nw_proto"}


class Unknown(ValueError):
    """A field or a value that is not understood; the text names it."""


def field(name: str, value: int, mask: int | None = None) -> Predicate:
    """The packets whose field has a value, in the bits of a mask."""
    whole = (1 << WIDTH[name]) - 1
    mask = whole if mask is None else mask & whole
    return (value & mask) << PLACE[name], mask << PLACE[name]


def get(header: int, name: str) -> int:
    """The field of a packet."""
    return (header & MASK[name]) >> PLACE[name]


def packet(**values: int) -> int:
    """A packet with these fields; all others are zero."""
    header = 0
    for name, value in values.items():
        header |= field(name, value)[0]
    return header


def read(name: str, text: str) -> Predicate:
    """The packets that ``name=text`` matches; Unknown where that is not understood.

    As a change it writes the same: the value into the bits of the mask."""
    name = _ALSO.get(name, name)
    if name in ("dl_vlan", "vlan_vid", "vlan_tci"):
        return _vlan(name, text)
    if name == "dl_vlan_pcp":
        return both(field("vlan_present", 1), field(name, int(text, 0)))
    if name == "nw_tos":
        return field("nw_dscp", int(text, 0) >> 2)
    if name == "nw_frag" and text in _FRAGMENTS:
        return field(name, *_FRAGMENTS[text])
    if name == "tcp_flags" and text[:1] in "+-":
        return _signed_flags(text)
    if name not in WIDTH:
        raise Unknown(name)
    value, _, mask = text.partition("/")
    try:
        return field(name, _number(value), _mask(mask, WIDTH[name]) if mask else None)
    except ValueError as error:
        raise Unknown(f"{name}={text}") from error


def part(text: str) -> tuple[str, int, int | None]:
    """The field, the lowest bit and the number of bits (None: all) of ``NXM_OF_ETH_DST[0..7]``; or Unknown."""
    match = _NXM.fullmatch(text)
    if match is None:
        raise Unknown(text)
    name = _NXM_NAMES.get(match[1], match[1].lower())
    low = int(match[2] or 0)
    return _ALSO.get(name, name), low, None if match[2] is None else int(match[3] or low) - low + 1


def both(one: Predicate, other: Predicate) -> Predicate:
    """The packets of two predicates on different fields, or on the same with the same value."""
    return one[0] | other[0], one[1] | other[1]


def protocol(word: str) -> Predicate:
    """The packets that a word such as ``tcp`` stands for."""
    eth_type, number = PROTOCOLS[word]
    bits = field("dl_type", eth_type)
    return bits if number is None else both(bits, field("nw_proto", number))


def _vlan(name: str, text: str) -> Predicate:
    value, _, mask = text.partition("/")
    number, compared = int(value, 0), int(mask, 0) if mask else None
    if name == "dl_vlan":
        if number == 0xFFFF:
            return field("vlan_present", 0)
        return both(field("vlan_present", 1), field("dl_vlan", number, compared))
    if name == "vlan_vid":
        compared = 0x1FFF if compared is None else compared
    elif compared is None:
        compared = 0xFFFF
    if number == 0 and compared & _PRESENT:
        return field("vlan_present", 0)  # the other bits of a tag that is not there are zero
    parts = both(
        field("vlan_present", number >> 12 & 1, compared >> 12 & 1), field("dl_vlan", number, compared & 0xFFF)
    )
    return both(parts, field("dl_vlan_pcp", number >> 13, compared >> 13))


def _signed_flags(text: str) -> Predicate:
    value = mask = 0
    for sign, name in _SIGNED_FLAG.findall(text):
        bit = 1 << _FLAG_NAMES.index(name)
        mask |= bit
        value |= bit if sign == "+" else 0
    return field("tcp_flags", value, mask)


def _number(text: str) -> int:
    """A number, a MAC address, an IPv4 or an IPv6 address."""
    if text.count(":") == 5 and "::" not in text:
        return int(text.replace(":", ""), 16)
    if ":" in text:
        return int(ipaddress.IPv6Address(text))
    if "." in text:
        return int(ipaddress.IPv4Address(text))
    return int(text, 0)


def _mask(text: str, width: int) -> int:
    if text.isdigit() and width in (32, 128):
        return ((1 << width) - 1) ^ ((1 << width - int(text)) - 1)
    return _number(text)


# --- in words -------------------------------------------------------------------

_WRITTEN: Mapping[str, Callable[[int], str]] = {
    "nw_src": ipv4.text, "nw_dst": ipv4.text, "arp_spa": ipv4.text, "arp_tpa": ipv4.text,
    "ipv6_src": lambda value: str(ipaddress.IPv6Address(value)),
    "ipv6_dst": lambda value: str(ipaddress.IPv6Address(value)),
    "nd_target": lambda value: str(ipaddress.IPv6Address(value)),
} | dict.fromkeys(("dl_src", "dl_dst", "arp_sha", "arp_tha", "nd_sll", "nd_tll"), mac.text)  # fmt: skip
_OF_IP = ("nw_proto", "nw_dscp", "nw_ecn", "nw_ttl", "nw_frag")
_OF_TYPE = {
    IPV4: ("nw_src", "nw_dst", *_OF_IP),
    IPV6: ("ipv6_src", "ipv6_dst", "ipv6_label", *_OF_IP),
    ARP: ("arp_op", "arp_spa", "arp_tpa", "arp_sha", "arp_tha"),
    RARP: ("arp_op", "arp_spa", "arp_tpa", "arp_sha", "arp_tha"),
}
_OF_PROTOCOL = {
    TCP: ("tp_src", "tp_dst", "tcp_flags"), UDP: ("tp_src", "tp_dst"), SCTP: ("tp_src", "tp_dst"),
    ICMP: ("icmp_type", "icmp_code"), ICMPV6: ("icmp_type", "icmp_code", "nd_target"),
}  # fmt: skip
_ALWAYS = ("nw_src", "nw_dst", "ipv6_src", "ipv6_dst")


def text(header: int) -> str:
    """The fields that a packet has, as ``ofproto/trace`` reads them."""
    eth_type, number = get(header, "dl_type"), get(header, "nw_proto")
    is_ip = eth_type in (IPV4, IPV6)
    words = {kinds: word for word, kinds in PROTOCOLS.items()}
    whole = words.get((eth_type, number)) if is_ip else None
    parts = [whole or words.get((eth_type, None)) or f"dl_type=0x{eth_type:04x}"]
    names = ["dl_src", "dl_dst"] + (["dl_vlan", "dl_vlan_pcp"] if get(header, "vlan_present") else [])
    names += _OF_TYPE.get(eth_type, ())
    names += _OF_PROTOCOL.get(number, ()) if is_ip else ()
    shown = (name for name in names if _shown(name, header) and not (name == "nw_proto" and whole))
    kind = (whole or "").removesuffix("6")
    values = (_written(name, get(header, name)) for name in shown)
    return ",".join(parts + [value.replace("tp_", f"{kind}_") for value in values])


def _shown(name: str, header: int) -> bool:
    return name.startswith("dl_") or name in _ALWAYS or get(header, name) > 0


def _written(name: str, value: int) -> str:
    if name == "nw_dscp":
        return f"nw_tos={value << 2}"
    if name == "nw_frag":
        return f"nw_frag={'first' if value == 1 else 'later'}"
    return f"{name}={_WRITTEN.get(name, str)(value)}"
