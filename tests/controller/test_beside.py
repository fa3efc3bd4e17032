"""What stands beside a scheme's entries: no frame for a group circulates, also while tables change in turn."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable

import networkx
import pytest

from addressing import registry as schemes
from addressing.scheme import Scheme
from controller import plan
from controller.beside import Beside, LaterHost
from controller.core import Core
from controller.effects import Effect, Send
from controller.rules import BESIDE_COOKIE, FlowTable, Output
from topos import registry as topologies
from topos.graph import LinkState


class SlowSwitches:
    """Switches that carry out what they were sent one message at a time, in an order of chance."""

    def __init__(self, scheme: Scheme, beside: Beside, seed: int) -> None:
        self.fabric, self.core = scheme.fabric, Core(scheme, 0.0, beside=beside)
        self.tables: dict[int, FlowTable] = {}
        self.waiting: dict[int, deque[Send]] = {}
        self.random = random.Random(seed)

    def do(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                self.waiting.setdefault(effect.switch, deque()).append(effect)

    def advance(self) -> bool:
        """Have a switch carry out a message and answer; False where nothing waits."""
        if not (due := sorted(switch for switch, queue in self.waiting.items() if queue)):
            return False
        send = self.waiting[switch := self.random.choice(due)].popleft()
        before = FlowTable() if send.reset else self.tables.get(switch, FlowTable())
        self.tables[switch] = plan.apply(before, send.changes)
        self.do(self.core.barrier(send.barrier_id, 1.0))
        return True

    def flooding(self, down: set[int]) -> networkx.MultiGraph:
        """The links by which some switch floods, but for those that are down."""
        graph = networkx.MultiGraph()
        graph.add_nodes_from(range(self.fabric.size))
        broken = {
            self.fabric.link_at(switch, action.port)
            for switch, table in self.tables.items()
            for rule in table.rules
            if rule.cookie == BESIDE_COOKIE
            for action in rule.actions
            if isinstance(action, Output)
        }
        for link in broken - down:
            ends = self.fabric.link(link)
            graph.add_edge(ends.a.node, ends.b.node, link)
        return graph


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("topology", ["fattree:4", "dragonfly:4,2,1"])
def test_no_group_frame_circulates_while_tables_change(topology: str, seed: int) -> None:
    scheme = schemes.bind("ecmp", topologies.fabric(topology))
    fabric = scheme.fabric
    switches = SlowSwitches(scheme, Beside(broadcast=True), seed)
    for switch in range(fabric.servers, fabric.size):
        switches.do(switches.core.connected(switch))
    while switches.advance():
        pass
    down: set[int] = set()
    for number in range(12):
        # Restored links work while some switches still flood along the tree of before.
        down ^= {switches.random.randrange(fabric.servers, len(fabric.link_ends))}
        switches.do(switches.core.links(down, float(number)))
        for _ in range(switches.random.randrange(3 * fabric.switches)):
            switches.advance()
            assert networkx.is_forest(switches.flooding(set()))
    while switches.advance():
        assert networkx.is_forest(switches.flooding(set()))
    up = networkx.MultiGraph([(link.a.node, link.b.node) for link in fabric.links() if link.index not in down])
    reached = networkx.connected_components(switches.flooding(down))
    assert {frozenset(one) for one in reached if len(one) > 1} == set(
        map(frozenset, networkx.connected_components(up))
    ), "the trees span what is connected"


def test_a_later_host_has_an_entry_everywhere_that_leads_to_it() -> None:
    scheme = schemes.bind("twolevel", topologies.fabric("fattree:4"))
    fabric = scheme.fabric
    host = LaterHost("h16", 0x2500, 0x0A0000FE, fabric.index("s7"), 9)
    links = LinkState(frozenset({20, 31}))
    for switch in range(fabric.servers, fabric.size):
        table = plan.desired_table(scheme.with_failures(links), switch, links, Beside(hosts=(host,)))
        (rule,) = [rule for rule in table.rules if rule.cookie == BESIDE_COOKIE]
        at, port, hops = switch, rule.actions[0], 0
        while at != host.switch:
            assert isinstance(port, Output)
            assert hops < 6
            end = fabric.peer(at, port.port)
            assert end is not None
            assert fabric.link_at(at, port.port) not in links.down
            known = plan.desired_table(scheme.with_failures(links), end.node, links, Beside(hosts=(host,)))
            (rule,) = [rule for rule in known.rules if rule.cookie == BESIDE_COOKIE]
            at, port, hops = end.node, rule.actions[0], hops + 1
        assert port == Output(9)
