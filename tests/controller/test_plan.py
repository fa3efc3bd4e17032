"""Planned tables: correct and minimal changes, matches on labels only, weights."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from addressing import registry as schemes
from addressing.fields import mac
from addressing.header import Field, Header, NextHops, drop
from addressing.scheme import LabelTooWide
from addressing.schemes.shortest import Shortest
from addressing.table import compile_table
from controller import plan, rules
from controller.plan import Change, Op
from controller.rules import FlowTable, Group, Output, Rule, ToGroup
from tests.addressing.cases import covering
from tests.controller.values import tables
from tests.topos.graphs import built
from topos import registry as topologies
from topos.graph import ALL_UP, LinkState

#: Networks with switches.
PAIRS = covering(
    (family.example, scheme)
    for family in topologies.known().values()
    for scheme in schemes.compatible_schemes(built(family.example).family)
    if built(family.example).switches
)


class Switch:
    """A switch after the OpenFlow specification, which refuses what Open vSwitch refuses."""

    def __init__(self) -> None:
        self.flows: dict[object, Rule] = {}
        self.groups: dict[int, Group] = {}

    def do(self, change: Change) -> None:
        item, op = change.item, change.op
        if isinstance(item, Group):
            assert (item.id in self.groups) == (op is not Op.ADD)
            if op is Op.DELETE:
                del self.groups[item.id]
                self.flows = {key: rule for key, rule in self.flows.items() if item.id not in used(rule)}
            else:
                self.groups[item.id] = item
        elif op is Op.DELETE:
            del self.flows[item.key]
        else:
            assert used(item) <= self.groups.keys()
            if op is Op.MODIFY:
                before = self.flows[item.key]
                item = Rule(item.priority, item.match, item.actions, before.cookie)
            self.flows[item.key] = item

    @property
    def table(self) -> FlowTable:
        return FlowTable(frozenset(self.flows.values()), frozenset(self.groups.values()))


def used(rule: Rule) -> set[int]:
    return {action.group for action in rule.actions if isinstance(action, ToGroup)}


@given(tables(), tables())
@settings(max_examples=60)
def test_changes_lead_from_any_table_to_any_other(before: FlowTable, after: FlowTable) -> None:
    changes = plan.diff(before, after)
    assert plan.apply(before, changes) == after
    switch = Switch()
    for change in (*plan.diff(FlowTable(), before), *changes):
        switch.do(change)
    assert switch.table == after


@given(tables(), tables())
@settings(max_examples=60)
def test_changes_are_minimal(before: FlowTable, after: FlowTable) -> None:
    touched = {r.key for r in before.rules ^ after.rules} | {g.id for g in before.groups ^ after.groups}
    changed = [change.item.key for change in plan.diff(before, after)]
    assert Counter(changed) == Counter(dict.fromkeys(touched, 1))
    assert plan.diff(after, after) == ()


@given(st.lists(st.integers(1, 100), min_size=2, max_size=8))
def test_weights_of_small_fractions_are_exact(parts: list[int]) -> None:
    total = sum(parts)
    assume(total <= 1 << 12)
    divisor = math.gcd(*parts)
    assert plan.integer_weights([part / total for part in parts]) == [part // divisor for part in parts]


@given(st.lists(st.floats(1e-6, 1.0), min_size=2, max_size=8))
def test_any_weights_fit_a_bucket(parts: list[float]) -> None:
    shares = [part / sum(parts) for part in parts]
    weights = plan.integer_weights(shares)
    assert all(1 <= weight <= 0xFFFF for weight in weights)
    for weight, share in zip(weights, shares, strict=True):
        assert weight / sum(weights) == pytest.approx(share, abs=2e-3)


@pytest.mark.parametrize(("topology", "name"), PAIRS)
def test_prediction(topology: str, name: str) -> None:
    """As many entries as the table has; matches on labels only; priorities that differ where those of the
    patterns do; no unused group."""
    fabric = topologies.fabric(topology)
    scheme = schemes.bind(name, fabric)
    try:
        scheme.check_width()
    except LabelTooWide as error:
        pytest.skip(str(error))
    for switch in range(fabric.servers, fabric.size):
        table = plan.desired_table(scheme, switch)
        assert table.entries == len(compile_table(scheme, switch).entries)
        assert len({rule.key for rule in table.rules}) == len(table.rules)
        assert {n for rule in table.rules for n in used(rule)} == {group.id for group in table.groups}
        for rule in table.rules:
            assert 0 < rule.priority < plan.ARP_PRIORITY or rule.cookie == rules.ARP_COOKIE
            if scheme.label_field is Field.ETH_DST and rule.cookie == rules.TABLE_COOKIE:
                for address in (0xFFFFFFFFFFFF, 0x01005E000001, 0x333300000001, mac.hardware(switch, 1)):
                    assert address & rule.match.eth_dst.mask != rule.match.eth_dst.value
        asks = [rule for rule in table.rules if rule.actions == (Output(rules.CONTROLLER),)]
        hosts = any(fabric.is_end_host(end) for end in fabric.neighbours(switch))
        texts = {4: "arp", 6: "icmp6,icmp_type=135"}
        expected = sorted(texts[version] for version in scheme.ip_versions) if hosts else []
        assert sorted(rule.match.text for rule in asks) == expected


@pytest.mark.parametrize(("topology", "name"), PAIRS)
def test_tables_made_from_earlier_ones_are_those_made_at_once(topology: str, name: str) -> None:
    """While links fail and come back in any order, and some switches skip states."""
    fabric = topologies.fabric(topology)
    intact, tables, drawn = schemes.bind(name, fabric), plan.Tables(), random.Random(1)
    switches = range(fabric.servers, fabric.size)
    intact.prepare_tables(switches)
    links = range(len(fabric.link_ends))
    down: set[int] = set()
    for _ in range(5):
        known = LinkState(frozenset(down))
        scheme = intact.with_failures(known)
        down ^= set(drawn.sample(links, drawn.choice((1, 2, len(links) // 5))))
        try:
            scheme.check_width()
        except (LabelTooWide, ValueError):
            continue
        scheme.prepare_tables(switches)
        for switch in drawn.sample(switches, drawn.randint(1, len(switches))):
            expected = plan.desired_table(intact.with_failures(known), switch, known)
            assert tables.table(scheme, switch, known) == expected


class Changing(Shortest):
    """Shortest paths while all links are up; packets for one server are dropped as soon as any fails."""

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        return (
            drop("a link is down") if self.known and header.label == 3 else super().next_hops(at, header, links)
        )


def test_what_a_scheme_compares_is_not_taken_for_one_made_from_it() -> None:
    intact, tables, links = Changing(topologies.fabric("fattree:4")), plan.Tables(), LinkState(frozenset({20}))
    scheme, switches = intact.with_failures(links), range(intact.fabric.servers, intact.fabric.size)
    intact.prepare_tables(switches)
    scheme.prepare_tables(switches)
    for switch in switches:
        assert not scheme.stays(switch, intact)
        tables.table(intact, switch)
        table = tables.table(scheme, switch, links)
        assert table == plan.desired_table(scheme, switch, links) != plan.desired_table(intact, switch)


def test_groups_keep_their_numbers_when_others_go() -> None:
    """Fat tree, ECMP: a distant failure leaves most groups of a switch as they are."""
    fabric = topologies.fabric("fattree:4")
    scheme = schemes.bind("ecmp", fabric)
    before = plan.desired_table(scheme, fabric.servers)
    assert len(before.groups) == len({group.buckets for group in before.groups}) == 1
    assert plan.desired_table(scheme, fabric.servers).groups == before.groups
