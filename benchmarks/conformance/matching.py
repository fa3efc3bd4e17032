"""Cases of matches, and of set-field: every field in every kind of frame that has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scapy.layers.l2 import Ether
from scapy.packet import Packet

from benchmarks.conformance import frames
from benchmarks.conformance.case import Case, passing
from benchmarks.conformance.fields import FIELDS, Field, prerequisites


def cases() -> Iterator[Case]:
    """All of them."""
    for name, frame in frames.every():
        for field in FIELDS:
            if field.applies(frame):
                yield _exact(field, name, frame)
                if field.mask is not None:
                    yield _masked(field, name, frame)
                if field.settable:
                    yield _set(field, name, frame)
    yield from _others()


def _match(field: Field, frame: Packet, value: Any, mask: Any = None) -> str:
    given = prerequisites(frame) if field.layer is not Ether else ""
    if field.ovs in ("icmpv6_type", "icmpv6_code", "icmp_type", "icmp_code"):
        given = given.split(",")[0]
    masked = "" if mask is None else f"/{mask}"
    return ",".join(filter(None, (given, field.extra, f"{field.ovs}={value}{masked}")))


def _exact(field: Field, name: str, frame: Packet) -> Case:
    flow = f"priority=10,{_match(field, frame, field.hit)} actions=output:2"
    other = field.with_value(frame, field.miss)
    return Case("match", f"{field.name}/{name}", (flow,), ((1, frame), (1, other)), {2: (frame,)})


def _masked(field: Field, name: str, frame: Packet) -> Case:
    flow = f"priority=10,{_match(field, frame, field.hit, field.mask)} actions=output:2"
    if field.name in ("VLAN_VID", "IPV6_FLABEL"):
        hit = field.hit & int(str(field.mask), 0)
        flow = f"priority=10,{_match(field, frame, hit, field.mask)} actions=output:2"
    alike, other = field.with_value(frame, field.alike), field.with_value(frame, field.miss)
    sends = ((1, frame), (1, alike), (1, other))
    return Case("match", f"{field.name}-masked/{name}", (flow,), sends, {2: (frame, alike)})


def _set(field: Field, name: str, frame: Packet) -> Case:
    given = prerequisites(frame)
    match = ",".join(
        filter(None, (given, field.extra or ("vlan_vid=0x1000/0x1000" * (field.ovs == "vlan_vid"))))
    )
    flow = f"priority=10,{match} actions=set_field:{field.miss}->{field.ovs},output:2"
    return passing("set-field", f"{field.name}/{name}", flow, frame, field.with_value(frame, field.miss))


def _others() -> Iterator[Case]:
    """Fields that are not bits of a frame, or that choose its kind."""
    sent = frames.plain()
    yield Case("match", "IN_PORT", ("in_port=1 actions=output:2",), ((1, sent), (3, sent)), {2: (sent,)})
    every = [frame for _, frame in frames.every() if "mpls" not in prerequisites(frame)]
    for name, frame in frames.every():
        given = prerequisites(frame)
        alike = tuple(one for one in every if prerequisites(one).split(",")[0] == given.split(",")[0])
        if given != "mpls":
            flow = f"{given.split(',')[0]} actions=output:2"
            sends = tuple((1, one) for one in every)
            yield Case("match", f"ETH_TYPE-IP_PROTO/{name}", (flow,), sends, {2: alike})
    tagged, untagged = frames.tagged(), frames.plain()
    both = ((1, tagged), (1, untagged))
    for name, match, expected in (
        ("none", "vlan_vid=0", (untagged,)),
        ("any", "vlan_vid=0x1000/0x1000", (tagged,)),
        ("unspecified", "eth_dst=22:22:22:22:22:22", (tagged, untagged)),
    ):
        yield Case("match", f"VLAN_VID/{name}", (f"{match} actions=output:2",), both, {2: expected})
