"""Cases of actions other than set-field."""

from __future__ import annotations

from collections.abc import Iterator

from scapy.contrib.mpls import MPLS
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.packet import Packet

from benchmarks.conformance import frames
from benchmarks.conformance.case import Case, passing
from benchmarks.conformance.fields import prerequisites

_PRESENT = "vlan_vid=0x1000/0x1000"


def cases() -> Iterator[Case]:
    """All of them."""
    yield from _outputs()
    yield from _vlan()
    yield from _mpls()
    yield from _ttl()


def _outputs() -> Iterator[Case]:
    sent = frames.plain()
    one = (sent,)
    for name, actions, expected in (
        ("port", "output:2", {2: one}),
        ("two-ports", "output:2,output:3", {2: one, 3: one}),
        ("twice", "output:2,output:2", {2: (sent, sent)}),
        ("drop", "drop", {}),
        ("own-port", "output:1", {}),
        ("own-port-and-another", "output:1,output:2", {2: one}),
        ("IN_PORT", "IN_PORT", {1: one}),
        ("ALL", "ALL", {2: one, 3: one}),
        ("FLOOD", "FLOOD", {2: one, 3: one}),
        ("missing-port", "output:77", {}),
        ("missing-port-and-another", "output:77,output:2", {2: one}),
        ("queue", "set_queue:0,output:2", {2: one}),
        ("controller-and-port", "CONTROLLER,output:2", {2: one}),
    ):
        yield Case("action", f"OUTPUT/{name}", (f"actions={actions}",), ((1, sent),), expected)
    changed = sent.copy()
    changed[Ether].dst = "0a:00:00:00:00:01"
    flow = "actions=output:2,set_field:0a:00:00:00:00:01->eth_dst,output:3"
    yield Case("action", "OUTPUT/before-and-after-a-change", (flow,), ((1, sent),), {2: one, 3: (changed,)})


def _untagged(frame: Packet) -> Packet:
    """Without its outer tag."""
    tag = frame[Dot1AD] if Dot1AD in frame else frame[Dot1Q]
    inner = tag.payload.copy()
    bare: Packet = Ether(dst=frame.dst, src=frame.src) / inner
    if tag.fields.get("type"):
        bare.type = tag.fields["type"]
    return bare


def _pushed(frame: Packet, layer: type[Packet], vlan: int, prio: int) -> Packet:
    """With another tag outside."""
    outer = layer(vlan=vlan, prio=prio)
    kind = frame[Ether].fields.get("type")
    if kind:
        outer.type = kind
    elif layer is Dot1AD and Dot1Q not in frame and Dot1AD not in frame:
        outer.type = Ether(bytes(frame)).type
    pushed: Packet = Ether(dst=frame.dst, src=frame.src) / outer / frame[Ether].payload.copy()
    return pushed


def _vlan() -> Iterator[Case]:
    for name, frame in frames.every():
        given = prerequisites(frame)
        tagged = Dot1AD in frame or Dot1Q in frame
        for kind, layer in (("0x8100", Dot1Q), ("0x88a8", Dot1AD)):
            vlan, prio = (100, 3) if tagged else (0, 0)  # the specification, 5.12.1: copied from the outer tag
            out = _pushed(frame, layer, vlan, prio)
            yield passing(
                "action", f"PUSH_VLAN-{kind}/{name}", f"{given} actions=push_vlan:{kind},output:2", frame, out
            )
        if tagged:
            flow = f"{given},{_PRESENT} actions=pop_vlan,output:2"
            yield passing("action", f"POP_VLAN/{name}", flow, frame, _untagged(frame))
        elif MPLS not in frame:
            flow = (f"{given} actions=push_vlan:0x8100,set_field:{0x1000 | 300}->vlan_vid,"
                    "set_field:6->vlan_pcp,output:2")  # fmt: skip
            yield passing("action", f"PUSH_VLAN-and-set/{name}", flow, frame, _pushed(frame, Dot1Q, 300, 6))


def _mpls() -> Iterator[Case]:
    for kind in ("0x8847", "0x8848"):
        for inner in ("ipv4-udp", "ipv6-tcp", "arp"):
            sent = frames.plain(inner)
            ttl = sent[IP].ttl if IP in sent else sent[IPv6].hlim if IPv6 in sent else 0
            out = Ether(dst=sent.dst, src=sent.src, type=int(kind, 0)) / MPLS(label=0, cos=0, s=1, ttl=ttl)
            out /= sent[Ether].payload.copy()
            flow = f"{prerequisites(sent)} actions=push_mpls:{kind},output:2"
            yield passing("action", f"PUSH_MPLS-{kind}/{inner}", flow, sent, out)
        sent = frames.labelled()
        out = Ether(dst=sent.dst, src=sent.src, type=int(kind, 0)) / MPLS(label=100, cos=3, s=0, ttl=60)
        out /= sent[Ether].payload.copy()
        yield passing("action", f"PUSH_MPLS-{kind}/mpls", f"mpls actions=push_mpls:{kind},output:2", sent, out)
    for inner, kind in (("ipv4-udp", "0x0800"), ("ipv6-tcp", "0x86dd"), ("arp", "0x0806")):
        flow = f"mpls,mpls_bos=1 actions=pop_mpls:{kind},output:2"
        yield passing("action", f"POP_MPLS/{inner}", flow, frames.labelled(inner), frames.plain(inner))
    two = frames.labelled(depth=2)
    out = Ether(dst=two.dst, src=two.src, type=0x8847) / two[MPLS].payload.copy()
    yield passing("action", "POP_MPLS/mpls", "mpls,mpls_bos=0 actions=pop_mpls:0x8847,output:2", two, out)
    for name, actions, ttl in (("SET_MPLS_TTL", "set_mpls_ttl(33)", 33), ("DEC_MPLS_TTL", "dec_mpls_ttl", 59)):
        yield passing(
            "action", name, f"mpls actions={actions},output:2", frames.labelled(), frames.labelled(ttl=ttl)
        )
    expired = ((1, frames.labelled(ttl=1)),)
    yield Case("action", "DEC_MPLS_TTL/expires", ("mpls actions=dec_mpls_ttl,output:2",), expired)


def _ttl() -> Iterator[Case]:
    for tag in ("", "vlan-", "svlan-"):
        for inner, layer, name in (
            *((kind, IP, "ttl") for kind in ("ipv4-udp", "ipv4-tcp", "ipv4-icmp", "ipv4-sctp")),
            *((kind, IPv6, "hlim") for kind in ("ipv6-udp", "ipv6-tcp", "ipv6-icmp", "ipv6-sctp")),
        ):
            sent = frames.tagged(inner, tag) if tag else frames.plain(inner)
            for action, words, value in (("DEC_NW_TTL", "dec_ttl", 63), ("SET_NW_TTL", "mod_nw_ttl:33", 33)):
                out = sent.copy()
                setattr(out[layer], name, value)
                flow = f"{prerequisites(sent)} actions={words},output:2"
                yield passing("action", f"{action}/{tag}{inner}", flow, sent, out)
            for ttl in (0, 1):
                last = sent.copy()
                setattr(last[layer], name, ttl)
                flow = f"{prerequisites(sent)} actions=dec_ttl,output:2"
                yield Case("action", f"DEC_NW_TTL/{tag}{inner}-{ttl}", (flow,), ((1, last),))
