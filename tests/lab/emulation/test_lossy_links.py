"""Links that lose a fifth of all packets: agents still learn of every cut and of its end, all of them."""

from __future__ import annotations

import random

import networkx as nx
import pytest

from dcnlab.lab.client import Lab
from tests.ovs import poll
from tests.topos.graphs import graph
from topos import registry
from topos.fabric import Fabric
from topos.graph import LinkState

pytestmark = pytest.mark.lab

TOPOLOGY = "torus:3x3"


def changes(fabric: Fabric, seed: int, count: int) -> list[int]:
    """Links to cut or, where down, to restore, at random; the fabric stays connected."""
    draw, down, chosen = random.Random(seed), set[int](), list[int]()
    while len(chosen) < count:
        link = draw.randrange(len(fabric.link_ends))
        after = down ^ {link}
        if nx.is_connected(graph(fabric, LinkState(frozenset(after)))):
            down = after
            chosen.append(link)
    return chosen


def soak(lab: Lab, seed: int, count: int) -> None:
    """Cut and restore links; after each change all agents must know how many links are down."""
    fabric, down = registry.fabric(TOPOLOGY), set[int]()
    for number in changes(fabric, seed, count):
        link = fabric.link(number)
        change = lab.restore if number in down else lab.fail
        down ^= {number}
        change(fabric.name(link.a.node), fabric.name(link.b.node))
        await_known(lab, len(down))


def await_known(lab: Lab, down: int) -> None:
    """Wait until all agents take so many links for down."""
    poll(lambda: all(int(own.get("links known down", 0)) == down for own in lab.stats().servers.values()), 120)


def holds(seed: int, count: int) -> bool:
    """Whether all pairs answer after the changes, when no packet is lost any more."""
    with Lab(TOPOLOGY, "wmgr", link_state="agents", loss="20%") as lab:
        soak(lab, seed, count)
        lab.impair(loss="none")
        return not lab.pingall().lost


def test_all_agents_learn_of_every_change() -> None:
    assert holds(seed=5, count=12)
