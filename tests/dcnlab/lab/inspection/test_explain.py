"""Explanations without a lab: the walk's nodes, and entries that the tables have."""

from __future__ import annotations

import json

import pytest

from addressing import registry as schemes
from addressing.scheme import path
from dcnlab.lab.inspection import tables
from dcnlab.lab.inspection.explain import Follow, steps
from tests.lab.lines import dcnlab
from topos import registry
from topos.graph import ALL_UP

SPECS = ["bcube:3,1", "clot:4x4", "smallworld:4x4,clusters=2x2", "fattree:4", "dcell:3,1"]
PAIRS = [(spec, scheme) for spec in SPECS for scheme in schemes.compatible_schemes(registry.parse(spec))]


@pytest.mark.parametrize(("spec", "scheme"), PAIRS, ids=[f"{t} {s}" for t, s in PAIRS])
def test_each_entry_is_one_of_the_nodes_table(spec: str, scheme: str) -> None:
    fabric = registry.fabric(spec)
    bound = schemes.bind(scheme, fabric)
    source, destination = 0, fabric.servers - 1
    for links in (ALL_UP, ALL_UP.fail(fabric.links_of(source)[:1] if fabric.relaying else ())):
        given = bound.with_failures(links)
        taken = steps(given, source, destination, links, Follow.first)
        assert taken[-1].delivered
        assert [step.node for step in taken] == [
            fabric.name(node) for node in path(given, source, destination, links) or ()
        ]
        for step in taken:
            node = fabric.index(step.node)
            lines = tables.predicted(given, node, links)
            assert step.entry in lines if lines else step.entry == ""


def test_a_weighted_rule_shows_its_branches_and_follows_the_heaviest() -> None:
    words = ("explain", "clot:8x8", "(0,0)", "(3,4)", "--scheme", "pow", "--json")
    first, *_ = heaviest = json.loads(dcnlab(*words).stdout)["steps"]
    assert [(one["port"], round(one["weight"], 4)) for one in first["branches"]] == [
        (1, 0.0833), (3, 0.0833), (4, 0.0833), (5, 0.75),
    ]  # fmt: skip
    assert "-> port 5 to" in first["reason"]
    assert heaviest[-1]["delivered"]
    assert heaviest[-1]["branches"] == []
    asked = json.loads(dcnlab(*words, "--follow", "first").stdout)["steps"]
    assert "-> port 1 to" in asked[0]["reason"]
    shown = dcnlab(*words[:-1]).stdout
    assert "branch: 0.7500 port 5 to" in shown


def test_the_command_for_a_topology() -> None:
    answer = json.loads(dcnlab("explain", "bcube:4,1", "h0", "h15", "--scheme", "brp", "--json").stdout)
    assert [step["node"] for step in answer["steps"]] == ["h0", "s4", "h12", "s3", "h15"]
    assert {step["installed"] for step in answer["steps"]} == {None}
    shown = dcnlab("explain", "bcube:4,1", "h0", "h15", "--scheme", "brp").stdout
    assert shown.count("rule: ") == 3
    assert shown.count("entry: cookie=") == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nolab", "h0", "h1"), "no lab named nolab"),
        (("bcube:4,1", "h0", "s1", "--scheme", "brp"), "s1 is a switch"),
        (("bcube:4,1", "h0", "h99", "--scheme", "brp"), "no node 'h99'"),
    ],
)
def test_bad_input(words: tuple[str, ...], message: str) -> None:
    done = dcnlab("explain", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
