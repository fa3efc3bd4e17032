"""Tables as switches would hold them, read from text: sound ones are, and planted faults are found."""

from __future__ import annotations

import pytest

from addressing.scheme import Scheme
from controller import plan
from dcnlab.verifier.atoms import TooMany
from dcnlab.verifier.checking import Check, Fault, Report
from dcnlab.verifier.installed import Installed
from dcnlab.verifier.openflow import reading
from dcnlab.verifier.openflow.tables import PortState, Switch
from tests.addressing.cases import bound, covering, pairs
from topos.graph import ALL_UP

Lines = dict[int, list[str]]


def lines(scheme: Scheme) -> Lines:
    fabric = scheme.fabric
    return {v: list(plan.desired_table(scheme, v).lines()) for v in range(fabric.servers, fabric.size)}


def network(scheme: Scheme, held: Lines) -> Installed:
    switches = {}
    for node, some in held.items():
        text = "\n".join(some)
        read = reading.switch(scheme.fabric.name(node), text, text)
        ports = {port: PortState() for port, _ in scheme.fabric.ports(node)}
        switches[node] = Switch(read.name, read.entries, read.groups, ports)
    return Installed(scheme, ALL_UP, switches)


def proved(installed: Installed) -> Report:
    return Check(installed).pairs(installed.starts())


@pytest.mark.parametrize(("spec", "text"), covering(pairs()))
def test_predicted_tables_are_sound(spec: str, text: str) -> None:
    scheme = bound(spec, text)
    installed = network(scheme, lines(scheme))
    report = proved(installed)
    assert report.violations == ()
    assert report.unanalysed == 0
    assert installed.ambiguous == {}


@pytest.mark.parametrize("text", ["tz", "shortest", "twolevel", "ecmp"])
def test_no_packet_loops_between_switches(text: str) -> None:
    scheme = bound("fattree:4", text)
    installed = network(scheme, lines(scheme))
    starts = [place for header in installed.classes() for place in installed.injected(header)]
    report = Check(installed).any_packet(starts)
    assert report.checked > 100
    assert report.violations == ()


@pytest.mark.parametrize(("spec", "text"), [("torus:3x4", "dor"), ("bcube:4,1", "brp"), ("clot:4x4", "pow")])
def test_relays_take_part_in_any_packet(spec: str, text: str) -> None:
    scheme = bound(spec, text)
    installed = network(scheme, lines(scheme))
    try:
        classes = installed.classes(1 << 13)
    except TooMany:
        pytest.skip("many classes")
    starts = [
        place for header in classes[:: max(1, len(classes) // 400)] for place in installed.injected(header)
    ]
    assert Check(installed).any_packet(starts).violations == ()


FATTREE = "fattree:4"


def planted(node: int, line: str, text: str = "shortest") -> Report:
    """The lab's own tables with one more entry at a switch."""
    scheme = bound(FATTREE, text)
    held = lines(scheme)
    held[scheme.fabric.servers + node].append(line)
    return proved(network(scheme, held))


def kinds(report: Report) -> set[Fault]:
    return {one.kind for one in report.violations}


def test_each_planted_entry_is_found_with_a_packet_and_a_path() -> None:
    assert kinds(planted(0, "priority=0 actions=output:99")) == set()  # shadowed by longer matches
    dropped = planted(0, "priority=60000,ip,nw_dst=10.0.0.1 actions=drop")
    (one,) = dropped.violations
    assert (one.kind, one.path[-1]) == (Fault.lost, "s0")
    assert len(one.pairs) == 15
    assert "nw_dst=10.0.0.1 actions=drop" in one.entries[-1]
    assert one.command == f"dcnlab trace LAB {one.pairs[0][0]} {one.pairs[0][1]}"


def test_entries_that_only_some_protocols_match_are_found() -> None:
    (one,) = planted(0, "priority=60000,tcp,nw_dst=10.0.0.1,tp_dst=80 actions=drop").violations
    assert one.kind is Fault.lost
    assert "tcp_dst=80" in one.packet


def test_a_loop_by_rewriting_is_found() -> None:
    scheme = bound(FATTREE, "shortest")
    fabric, held = scheme.fabric, lines(scheme)
    edge, up = fabric.servers, next(p for p, e in fabric.ports(fabric.servers) if not fabric.is_server(e.node))
    above = fabric.peer(edge, up)
    assert above is not None
    match = "priority=60000,ip,nw_dst=10.0.0.1"
    held[edge].append(f"{match} actions=set_field:0->in_port,set_field:9->ip_dscp,output:{up}")
    held[above.node].append(f"{match} actions=set_field:0->in_port,output:{above.number}")
    loops = [one for one in proved(network(scheme, held)).violations if one.kind is Fault.loop]
    assert loops
    assert {"s0", fabric.name(above.node)} <= set(loops[0].path)


def test_a_bucket_to_a_dead_port_and_an_overlap_are_found() -> None:
    scheme = bound(FATTREE, "ecmp")
    fabric, held = scheme.fabric, lines(scheme)
    switch = fabric.servers
    held[switch].append("group_id=7,type=select,bucket=actions=output:3,bucket=actions=output:40")
    held[switch].append("priority=60000,ip,nw_dst=10.0.0.16 actions=group:7")
    report = proved(network(scheme, held))
    assert kinds(report) == {Fault.lost}
    held[switch][-1:] = [
        "priority=60000,ip,nw_dst=10.0.0.16 actions=output:3",
        "priority=60000,ip,nw_src=10.0.0.1,nw_dst=10.0.0.16/28 actions=output:4",
    ]
    installed = network(scheme, held)
    assert proved(installed).violations == ()
    assert len(installed.ambiguous) == 1


def test_a_port_that_is_down_loses_what_an_entry_sends_there() -> None:
    scheme = bound(FATTREE, "shortest")
    installed = network(scheme, lines(scheme))
    edge = scheme.fabric.servers
    held = installed.switches[edge]
    down = Switch(held.name, held.entries, held.groups, {**held.ports, 3: PortState(up=False)})
    report = proved(Installed(scheme, ALL_UP, {**installed.switches, edge: down}))
    assert kinds(report) == {Fault.lost}
    assert {one.path[-1] for one in report.violations} == {"s0"}
    assert {one.reason for one in report.violations} == {"its entry names no port that is up"}


@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        (("7,type=all,bucket=actions=output:3,bucket=actions=group:7",), "group 7 refers to itself"),
        (
            (
                "7,type=indirect,bucket=actions=group:8",
                "8,type=all,bucket=actions=output:3,bucket=actions=group:7",
            ),
            "groups 7, 8 refer to each other in a circle",
        ),
        (("7,type=indirect,bucket=actions=group:70",), "there is no group 70"),
        (("7,type=ff,bucket=watch_port:40,actions=output:3",), "no bucket of group 7 is alive"),
        (("7,type=ff,bucket=watch_port:3,actions=output:40",), "its entry names no port that is up"),
    ],
)
def test_groups_that_send_nothing_are_found_with_the_reason(groups: tuple[str, ...], reason: str) -> None:
    scheme = bound(FATTREE, "shortest")
    held = lines(scheme)
    held[scheme.fabric.servers] += [f"group_id={group}" for group in groups]
    held[scheme.fabric.servers].append("priority=60000,ip,nw_dst=10.0.0.16 actions=group:7")
    (violation,) = proved(network(scheme, held)).violations
    assert (violation.kind, violation.path[-1], violation.reason) == (Fault.lost, "s0", reason)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("priority=60000,ip,nw_dst=10.0.0.16 actions=drop", "its entry drops it"),
        ("priority=60000,ip,nw_dst=10.0.0.16 actions=goto_table:3", "no entry of table 3 matches"),
        ("priority=60000,ip,nw_dst=10.0.0.16 actions=output:40", "its entry names no port that is up"),
        (
            "priority=60000,in_port=1,ip,nw_dst=10.0.0.16 actions=output:1",
            "a switch sends no packet back by its arrival port",
        ),
    ],
)
def test_the_reason_of_a_loss_is_told(line: str, reason: str) -> None:
    (violation,) = planted(0, line).violations
    assert (violation.path[-1], violation.reason) == ("s0", reason)


@pytest.mark.parametrize(
    "action",
    [
        "NORMAL", "resubmit(,1)", "ct(commit,zone=1)", "learn(table=1,NXM_OF_ETH_DST[]=NXM_OF_ETH_SRC[])",
        "move:NXM_OF_IP_SRC[]->NXM_OF_IP_DST[]", "conjunction(1,1/2)", "output:NXM_NX_REG0[]", "exit",
    ],
)  # fmt: skip
def test_what_is_not_understood_is_not_proved(action: str) -> None:
    report = planted(0, f"priority=60000,ip,nw_dst=10.0.0.1 actions={action},output:1")
    assert report.unanalysed == 15
    (reason,) = report.reasons
    assert reason.startswith("s0: ")
    assert action.partition(":")[2] in reason
