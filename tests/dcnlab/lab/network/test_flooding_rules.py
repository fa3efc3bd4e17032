"""Agents that exchange link state compute the tables that the controller computes, on any fabric that fails."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from addressing import registry
from addressing.scheme import Scheme
from addressing.table import compile_table
from dcnlab.lab.network import flooding
from hostagent.forwarding.agent import Agent
from tests.hostagent.frames import agent, scheme
from tests.hostagent.protocols.test_link_state_model import Net
from topos import registry as topologies
from topos.graph import LinkState

#: Small fabrics of each kind: servers joined directly, behind switches, both; and switches joined to switches.
FABRICS = ("torus:3x3", "bcube:2,1", "dcell:2,1", "clot:2x2")
CASES = [
    (topology, name)
    for topology in FABRICS
    for name, kind in registry.known().items()
    if kind.incompatibility(topologies.fabric(topology).family) is None and name != "dfr"
]


def known_to_agents(net: Net, bound: Scheme, state: LinkState) -> list[Agent]:
    """The agents that reach another one, with what they learned from each other and from the lab."""
    told, agents = flooding.to_agents(bound, state), []
    for node, core in net.cores.items():
        if any(net.reaches(node, other) for other in net.ports[node]):
            agents.append(agent(bound, node))
            agents[-1].learn_failures(core.down())
            agents[-1].apply_link_state(told)
    return agents


@pytest.mark.parametrize(("topology", "name"), CASES)
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_tables_are_those_of_the_controller(topology: str, name: str, data: st.DataObject) -> None:
    bound = scheme(topology, name)
    every = range(len(bound.fabric.link_ends))
    cut = data.draw(st.lists(st.sampled_from(every), unique=True, max_size=len(every) // 3))
    net = Net(topology, name)
    for number in cut:
        net.toggle(number)
        if data.draw(st.booleans()):  # else the next one fails before this one is known
            net.settle()
    net.settle()
    state = LinkState(frozenset(cut))
    present = bound.with_failures(state) if cut else bound
    for each in known_to_agents(net, bound, state):
        assert each.links == state
        assert each.current_scheme.label(each.node) == present.label(each.node)
        tables = (compile_table(one, each.node, state).entries for one in (each.current_scheme, present))
        assert next(tables) == next(tables)


@pytest.mark.parametrize(
    ("topology", "name", "cut", "told"),
    [
        ("torus:3x3", "wmgr", ["h0 h1"], []),  # both ends advertise it
        ("torus:3x3", "wmgr", ["h0 h1", "h0 h2", "h0 h3", "h0 h6"], []),  # so do the neighbours of h0
        ("bcube:2,1", "brp", ["h0 s0"], []),  # h0 advertises it by its other link
        ("bcube:2,1", "brp", ["h0 s0", "h0 s2"], ["h0 s0", "h0 s2"]),  # nobody hears h0, or sees a carrier
        ("bcube:2,1", "wmgr", ["h0 s0"], ["h0 s0"]),  # labels change
        ("dcell:2,1", "dfr", ["h0 s0"], []),
    ],
)
def test_the_lab_tells_what_no_agent_can(topology: str, name: str, cut: list[str], told: list[str]) -> None:
    bound = scheme(topology, name)
    fabric = bound.fabric

    def numbers(names: list[str]) -> frozenset[int]:
        ends = ([fabric.index(node) for node in pair.split()] for pair in names)
        return frozenset(link for a, b in ends for link in fabric.links_between(a, b))

    assert flooding.to_agents(bound, LinkState(numbers(cut))).down == numbers(told)
