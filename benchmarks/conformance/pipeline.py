"""Cases of tables, instructions, priorities, changes of entries, and timeouts."""

from __future__ import annotations

from collections.abc import Iterator

from scapy.layers.inet import IP
from scapy.layers.l2 import Dot1Q, Ether

from benchmarks.conformance import frames
from benchmarks.conformance.case import Case, Step

_NEW = "0a:00:00:00:00:01"


def cases() -> Iterator[Case]:
    """All of them."""
    yield from _priorities()
    yield from _tables()
    yield from _changes()
    yield from _timeouts()


def _case(kind: str, name: str, flows: tuple[str, ...], out: int | None, *then: Step) -> Case:
    """One frame that must leave by one port, or by none."""
    sent = frames.plain()
    return Case(kind, name, flows, ((1, sent),), {} if out is None else {out: (sent,)}, then=then)


def _priorities() -> Iterator[Case]:
    exact, wide, all_ = "udp,tp_dst=2222", "udp", ""
    for name, flows, out in (
        ("higher-wins", (f"priority=20,{exact} actions=output:2", f"priority=10,{wide} actions=output:3"), 2),
        (
            "wider-and-higher-wins",
            (f"priority=10,{exact} actions=output:2", f"priority=20,{wide} actions=output:3"),
            3,
        ),
        ("lowest", (f"priority=0,{all_} actions=output:3",), 3),
        ("highest", ("priority=59999 actions=output:2", "priority=59998 actions=output:3"), 2),
        ("drop-wins", ("priority=2 actions=drop", "priority=1 actions=output:2"), None),
        ("miss", ("tcp actions=output:2",), None),
        ("empty-table", (), None),
    ):
        yield _case("priority", name, flows, out)


def _tables() -> Iterator[Case]:
    changed, tagged = frames.plain(), frames.plain()
    changed[Ether].dst = _NEW
    tagged = Ether(dst=tagged.dst, src=tagged.src) / Dot1Q(vlan=0) / tagged[Ether].payload.copy()
    lower = frames.plain()
    lower[IP].ttl = 63
    first = "table=0,actions="
    sent = frames.plain()
    for name, flows, out in (
        ("goto", (f"{first}goto_table:1", "table=1,actions=output:2"), sent),
        ("goto-twice", (f"{first}goto_table:1", "table=1,actions=goto_table:9", "table=9,actions=output:2"),
         sent),
        ("apply-then-goto", (f"{first}set_field:{_NEW}->eth_dst,goto_table:1",
                             f"table=1,dl_dst={_NEW} actions=output:2"), changed),
        ("write-output", (f"{first}write_actions(output:2)",), sent),
        ("write-later-table", (f"{first}write_actions(output:2),goto_table:1",
                               "table=1,actions=write_actions(set_field:" + _NEW + "->eth_dst)"), changed),
        ("write-replaces", (f"{first}write_actions(output:3),goto_table:1",
                            "table=1,actions=write_actions(output:2)"), sent),
        ("write-keeps-match", (f"{first}write_actions(set_field:{_NEW}->eth_dst,output:2),goto_table:1",
                               "table=1,dl_dst=22:22:22:22:22:22 actions=goto_table:2", "table=2,actions="),
         changed),
        ("order-of-set", (f"{first}write_actions(output:2,push_vlan:0x8100)",), tagged),
        ("order-of-ttl", ("table=0,ip actions=write_actions(output:2,dec_ttl)",), lower),
        ("clear", (f"{first}write_actions(output:3),goto_table:1",
                   "table=1,actions=clear_actions,write_actions(output:2)"), sent),
        ("clear-all", (f"{first}write_actions(output:3),goto_table:1", "table=1,actions=clear_actions"), None),
        ("apply-before-write", (f"{first}set_field:{_NEW}->eth_dst,write_actions(output:2)",), changed),
        ("metadata", (f"{first}write_metadata:0x5,goto_table:1", "table=1,metadata=0x5 actions=output:2",
                      "table=1,priority=1,actions=output:3"), sent),
        ("metadata-masked", (f"{first}write_metadata:0xf5/0xf,goto_table:1",
                             "table=1,metadata=0x5 actions=output:2",
                             "table=1,priority=1,actions=output:3"), sent),
        ("metadata-other", (f"{first}write_metadata:0x6,goto_table:1", "table=1,metadata=0x5 actions=output:3",
                            "table=1,priority=1,actions=output:2"), sent),
        ("miss-in-second", (f"{first}goto_table:1", "table=1,tcp,actions=output:3"), None),
        ("miss-in-second-ends-set",
         (f"{first}write_actions(output:3),goto_table:1", "table=1,tcp,actions=output:3"),
         None),
    ):  # fmt: skip
        yield Case("table", name, flows, ((1, sent),), {} if out is None else {2: (out,)})
    back = Step(("add-flow", "table=1,actions=goto_table:0"), refused=True)
    yield _case("table", "goto-back-is-refused", ("actions=output:2",), 2, back)


def _changes() -> Iterator[Case]:
    two, three = "actions=output:2", "actions=output:3"

    def add(flow: str, refused: bool = False) -> Step:
        return Step(("add-flow", flow), refused)

    def modify(flow: str, *options: str) -> Step:
        return Step((*options, "mod-flows", flow))

    def delete(flow: str, *options: str) -> Step:
        return Step((*options, "del-flows", flow))

    for name, flows, out, then in (
        ("add-replaces", (f"priority=9,ip {two}",), 3, (add(f"priority=9,ip {three}"),)),
        ("add-other-priority", (f"priority=9,ip {two}",), 3, (add(f"priority=10,ip {three}"),)),
        ("add-overlap-checked", (f"priority=9,ip {two}",), 2,
         (add(f"check_overlap,priority=9,udp {three}", refused=True),)),
        ("add-overlap-other-priority", (f"priority=9,ip {two}",), 3,
         (add(f"check_overlap,priority=10,udp {three}"),)),
        ("modify", (f"priority=9,udp {two}",), 3, (modify(f"ip {three}"),)),
        ("modify-narrower-changes-nothing", (f"priority=9,ip {two}",), 2,
         (modify(f"udp,tp_dst=2222 {three}"),)),
        ("modify-strict", (f"priority=9,udp {two}",), 3, (modify(f"priority=9,udp {three}", "--strict"),)),
        ("modify-strict-other-priority", (f"priority=9,udp {two}",), 2,
         (modify(f"priority=8,udp {three}", "--strict"),)),
        ("modify-strict-wider", (f"priority=9,udp {two}",), 2, (modify(f"priority=9,ip {three}", "--strict"),)),
        ("modify-cookie", (f"cookie=5,udp {two}",), 3, (modify(f"cookie=5/-1,ip {three}"),)),
        ("modify-other-cookie", (f"cookie=5,udp {two}",), 2, (modify(f"cookie=6/-1,ip {three}"),)),
        ("delete-wider", (f"priority=9,udp {two}",), None, (delete("ip"),)),
        ("delete-exactly", (f"priority=9,udp {two}",), None, (delete("udp"),)),
        ("delete-narrower", (f"priority=9,ip {two}",), 2, (delete("udp"),)),
        ("delete-strict", (f"priority=9,udp {two}",), None, (delete("priority=9,udp", "--strict"),)),
        ("delete-strict-other-priority", (f"priority=9,udp {two}",), 2,
         (delete("priority=8,udp", "--strict"),)),
        ("delete-strict-wider", (f"priority=9,udp {two}",), 2, (delete("priority=9,ip", "--strict"),)),
        ("delete-out-port", (f"priority=9,ip {two}",), None, (delete("out_port=2"),)),
        ("delete-other-out-port", (f"priority=9,ip {two}",), 2, (delete("out_port=3"),)),
        ("delete-cookie", (f"cookie=5,ip {two}",), None, (delete("cookie=5/-1"),)),
        ("delete-cookie-masked", (f"cookie=5,ip {two}",), None, (delete("cookie=1/1"),)),
        ("delete-other-cookie", (f"cookie=5,ip {two}",), 2, (delete("cookie=2/2"),)),
        ("delete-other-table", (f"priority=9,ip {two}",), 2, (delete("table=1"),)),
        ("delete-then-lower", (f"priority=9,ip {two}", f"priority=8 {three}"), 3, (delete("ip"),)),
        ("delete-what-is-not-there", (f"priority=9,ip {two}",), 2, (delete("arp"),)),
        ("bad-port-is-refused", (two,), 2, (add("actions=output:0xffffff01", refused=True),)),
    ):  # fmt: skip
        yield _case("flow-mod", name, flows, out, *then)


def _timeouts() -> Iterator[Case]:
    gone = Step(("dump-flows",), until_gone="timeout=")
    for kind in ("idle", "hard"):
        flow = f"{kind}_timeout=1,priority=9,ip actions=output:2"
        yield _case("timeout", f"{kind}-expires", (flow,), None, gone)
        yield _case("timeout", f"{kind}-expires-to-lower", (flow, "priority=1 actions=output:3"), 3, gone)
        yield _case("timeout", f"{kind}-holds", (flow.replace("=1,", "=60,"),), 2)
    yield _case("timeout", "idle-before-hard", ("idle_timeout=1,hard_timeout=60,actions=output:2",), None, gone)
