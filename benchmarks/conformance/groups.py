"""Cases of groups and meters."""

from __future__ import annotations

from collections.abc import Iterator

from scapy.layers.inet import IP
from scapy.layers.l2 import Dot1Q, Ether

from benchmarks.conformance import frames
from benchmarks.conformance.case import Case, Step

_NEW = "0a:00:00:00:00:01"
_USE = ("ip actions=group:1",)
_FLOWS = 40


def cases() -> Iterator[Case]:
    """All of them."""
    yield from _single()
    yield from _select()
    yield from _failover()
    yield from _changes()
    yield from _meters()


def _single() -> Iterator[Case]:
    sent, changed, tagged, lower = (frames.plain() for _ in range(4))
    changed[Ether].dst = _NEW
    lower[IP].ttl = 63
    tagged = Ether(dst=sent.dst, src=sent.src) / Dot1Q(vlan=5) / sent[Ether].payload.copy()
    to_new, tag = f"set_field:{_NEW}->eth_dst", "push_vlan:0x8100,set_field:4101->vlan_vid"
    for kind, buckets, expected in (
        ("all", ("output:2", "output:3"), {2: (sent,), 3: (sent,)}),
        ("all", ("output:2",), {2: (sent,)}),
        ("all", (f"{to_new},output:2", "output:3"), {2: (changed,), 3: (sent,)}),
        ("all", ("output:2", f"{to_new},output:3"), {2: (sent,), 3: (changed,)}),
        ("all", ("output:1", "output:2"), {2: (sent,)}),
        ("all", ("IN_PORT", "output:2"), {1: (sent,), 2: (sent,)}),
        ("all", (f"{tag},output:2", "output:3"), {2: (tagged,), 3: (sent,)}),
        ("all", ("dec_ttl,output:2", "output:3"), {2: (lower,), 3: (sent,)}),
        ("all", ("output:2,output:3",), {3: (sent,)}),  # a bucket is an action set: one output, the last
        ("all", (f"output:2,{to_new}",), {2: (changed,)}),
        ("all", (), {}),
        ("indirect", ("output:2",), {2: (sent,)}),
        ("indirect", ("output:2,output:3",), {3: (sent,)}),
        ("indirect", (f"output:2,{to_new}",), {2: (changed,)}),
        ("indirect", (f"{to_new},output:2",), {2: (changed,)}),
        ("indirect", (f"{tag},output:2",), {2: (tagged,)}),
        ("indirect", ("dec_ttl,output:2",), {2: (lower,)}),
        ("indirect", ("drop",), {}),
        ("select", ("output:2",), {2: (sent,)}),
        ("select", (f"{to_new},dec_ttl,output:2",), {}),
    ):
        if kind == "select" and not expected:
            both = changed.copy()
            both[IP].ttl = 63
            expected = {2: (both,)}
        name = f"{kind}/{';'.join(buckets) or 'empty'}"
        yield Case("group", name, _USE, ((1, sent),), expected, (_group(1, kind, *buckets),))
    chain = (_group(1, "indirect", "group:2"), _group(2, "all", "output:2", "output:3"))
    yield Case("group", "chain", _USE, ((1, sent),), {2: (sent,), 3: (sent,)}, chain)
    entries = ("ip actions=set_field:" + _NEW + "->eth_dst,group:1",)
    yield Case(
        "group", "after-a-change", entries, ((1, sent),), {2: (changed,)}, (_group(1, "all", "output:2"),)
    )
    written = ("ip actions=write_actions(group:1,output:3)",)
    yield Case("group", "wins-over-output-in-the-set", written, ((1, sent),), {2: (sent,)},
               (_group(1, "all", "output:2"),))  # fmt: skip


def _group(number: int, kind: str, *buckets: str) -> str:
    return ",".join((f"group_id={number},type={kind}", *(f"bucket={bucket}" for bucket in buckets)))


def _select() -> Iterator[Case]:
    sends = tuple((1, frame) for frame in frames.flows(_FLOWS)) * 2
    for weights in ((1, 1), (7, 2), (1, 0), (0, 1), (60000, 3)):
        buckets = [f"weight:{weight},output:{port}" for weight, port in zip(weights, (2, 3), strict=True)]
        one_of = tuple(port for weight, port in zip(weights, (2, 3), strict=True) if weight)
        name = f"select/{'-'.join(map(str, weights))}"
        yield Case("group", name, _USE, sends, groups=(_group(1, "select", *buckets),), one_of=one_of)
    dead = _group(1, "select", "watch_port:3,output:3", "watch_port:2,output:2")
    yield Case("group", "select/dead-port", _USE, sends, groups=(dead,), one_of=(2,), down=(3,))


def _failover() -> Iterator[Case]:
    sent = frames.plain()
    first, second = "watch_port:3,output:3", "watch_port:2,output:2"
    other = _group(2, "ff", first)
    for name, groups, down, out in (
        ("first", (_group(1, "ff", first, second),), (), 3),
        ("second", (_group(1, "ff", first, second),), (3,), 2),
        ("none", (_group(1, "ff", first),), (3,), None),
        ("missing-port", (_group(1, "ff", "watch_port:77,output:3", second),), (), 2),
        ("group", (other, _group(1, "ff", "watch_group:2,output:3", second)), (), 3),
        ("dead-group", (other, _group(1, "ff", "watch_group:2,output:3", second)), (3,), 2),
        (
            "group-of-several",
            (_group(2, "select", first, second), _group(1, "ff", "watch_group:2,output:2")),
            (3,),
            2,
        ),
        ("missing-group", (_group(1, "ff", "watch_group:9,output:3", second),), (), 2),
        ("port-or-group", (other, _group(1, "ff", "watch_port:2,watch_group:2,output:2")), (3,), 2),
        ("watches-another", (_group(1, "ff", "watch_port:2,output:3", second),), (), 3),
    ):
        expected = {} if out is None else {out: (sent,)}
        yield Case("group", f"failover/{name}", _USE, ((1, sent),), expected, groups, down=down)


def _changes() -> Iterator[Case]:
    sent = frames.plain()
    first, second = _group(1, "all", "output:2"), _group(1, "all", "output:3")
    for name, then, out in (
        ("modify", (Step(("mod-group", second)),), 3),
        ("modify-type", (Step(("mod-group", second.replace("all", "indirect"))),), 3),
        ("add-again-is-refused", (Step(("add-group", second), refused=True),), 2),
        ("modify-missing-is-refused", (Step(("mod-group", second.replace("=1", "=5")), refused=True),), 2),
        ("delete-takes-entries", (Step(("del-groups", "group_id=1")), Step(("add-group", second))), None),
        ("delete-another", (Step(("del-groups", "group_id=5")),), 2),
        ("delete-entries-out-group", (Step(("del-flows", "out_group=1")),), None),
        (
            "entry-of-missing-is-refused",
            (Step(("add-flow", "priority=50000,actions=group:5"), refused=True),),
            2,
        ),
        ("loop-is-refused", (Step(("mod-group", "group_id=1,type=indirect,bucket=group:1"), refused=True),), 2),
    ):
        expected = {} if out is None else {out: (sent,)}
        yield Case("group-mod", name, _USE, ((1, sent),), expected, (first,), then=then)


def _meters() -> Iterator[Case]:
    sends = tuple((1, frame) for frame in frames.flows(300))
    used = ("ip actions=meter:1,output:2",)
    for burst in (10, 50):
        meter = f"meter=1,pktps,burst,band=type=drop,rate=10,burst_size={burst}"
        yield Case(
            "meter",
            f"drops-packets-beyond/{burst}",
            used,
            sends,
            meters=(meter,),
            one_of=(2,),
            most=(10, burst),
        )
    wide = "meter=1,pktps,burst,band=type=drop,rate=100000,burst_size=100000"
    yield Case("meter", "passes-below", used, sends, meters=(wide,), one_of=(2,))
    sent = frames.plain()
    gone = (Step(("del-meters", "meter=1")),)
    yield Case("meter", "delete-takes-entries", used, ((1, sent),), meters=(wide,), then=gone)
    missing = (Step(("add-flow", "priority=50000,actions=meter:9,output:3"), refused=True),)
    yield Case(
        "meter", "entry-of-missing-is-refused", used, ((1, sent),), {2: (sent,)}, meters=(wide,), then=missing
    )
    marking = "meter=1,pktps,burst,band=type=dscp_remark,rate=1,burst_size=1,prec_level=1"
    yield Case("meter", "dscp-remark-is-accepted", used, ((1, sent),), {2: (sent,)}, meters=(marking,))
