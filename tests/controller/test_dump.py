"""The text of rules: it can be parsed again, and Open vSwitch prints the same."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller import plan
from controller.openflow import dump, encode, ofctl
from controller.rules import Bucket, FlowTable, Group
from tests.controller.values import tables
from tests.ovs import PrivateOvs


def parse_table(flows: str, groups: str = "") -> FlowTable:
    """What a switch holds, from both dumps; DumpError for entries that the controller cannot have installed."""
    return FlowTable(
        frozenset(map(dump.parse_rule, dump.normal_lines(flows))),
        frozenset(map(parse_group, dump.normal_lines(groups))),
    )


def parse_group(line: str) -> Group:
    """The group in a line of ``dump-groups`` without statistics."""
    stated = next(ofctl.groups(line), None)
    buckets = () if stated is None or stated.kind != "select" else stated.buckets
    if (
        stated is None
        or not buckets
        or not all(one.stated.keys() <= {"bucket_id", "weight"} for one in buckets)
    ):
        raise dump.DumpError(f"not a group of the controller: {line}")
    weights = (int(one.stated.get("weight", 1)) for one in buckets)
    return Group(
        stated.number, tuple(map(Bucket, weights, (dump.parse_actions(one.actions) for one in buckets)))
    )


def parts(table: FlowTable) -> tuple[str, str]:
    """Both dumps of a table, as text."""
    lines = table.lines()
    flows = "\n".join(line for line in lines if line.startswith("cookie"))
    return flows, "\n".join(line for line in lines if line.startswith("group"))


@given(tables())
@settings(max_examples=50)
def test_text_is_parsed_to_the_same_table(table: FlowTable) -> None:
    assert parse_table(*parts(table)) == table
    assert not dump.compare(table, *parts(table))


@given(tables(), tables())
@settings(max_examples=50)
def test_comparison_names_every_difference(predicted: FlowTable, installed: FlowTable) -> None:
    differences = dump.compare(predicted, *parts(installed))
    assert set(differences.missing) == set(predicted.lines()) - set(installed.lines())
    assert set(differences.unexpected) == set(installed.lines()) - set(predicted.lines())
    assert bool(differences) == (predicted != installed)


@given(st.text() | st.from_regex(r"cookie=0x1, \w*(=\w*)?(,\w+=[\w:./]*)* actions=\S*", fullmatch=True))
@settings(max_examples=50)
def test_other_text_raises_dump_error(text: str) -> None:
    for line in text.splitlines():
        for parse in (dump.parse_rule, parse_group):
            with contextlib.suppress(dump.DumpError):
                parsed = parse(line)
                assert parse(parsed.text) == parsed


def test_entries_added_by_hand_are_shown_as_differences() -> None:
    line = (
        " cookie=0x0, duration=9.1s, table=0, n_packets=3, n_bytes=9, idle_age=4, priority=7,udp actions=NORMAL"
    )
    assert dump.compare(FlowTable(), line).unexpected == ("cookie=0x0, priority=7,udp actions=NORMAL",)


@pytest.fixture(scope="module")
def bridge(ovs: PrivateOvs) -> str:
    ovs.vsctl("--may-exist", "add-br", "text", "--", "set", "bridge", "text", "fail_mode=secure")
    ovs.vsctl("set", "bridge", "text", "datapath_type=dummy", "protocols=OpenFlow13")
    return "text"


@pytest.mark.ovs
@given(tables(), tables())
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_open_vswitch_prints_the_rules_that_were_sent(
    ovs: PrivateOvs, bridge: str, first: FlowTable, second: FlowTable
) -> None:
    """Messages built by the library, then changes to a second table; ovs-ofctl reads them back."""
    ovs.send(bridge, encode.reset() + encode.changes(plan.diff(FlowTable(), first)))
    assert parse_table(*ovs.dumps(bridge)) == first
    ovs.send(bridge, encode.changes(plan.diff(first, second)))
    dumped = ovs.dumps(bridge)
    assert parse_table(*dumped) == second
    assert not dump.compare(second, *dumped)


@pytest.mark.ovs
@given(tables())
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_ovs_ofctl_accepts_the_text(ovs: PrivateOvs, bridge: str, table: FlowTable) -> None:
    flows, groups = parts(table)
    ovs.send(bridge, encode.reset())
    ovs.ofctl("add-groups", bridge, "-", stdin=groups + "\n")
    ovs.ofctl("add-flows", bridge, "-", stdin=flows + "\n")
    assert parse_table(*ovs.dumps(bridge)) == table
