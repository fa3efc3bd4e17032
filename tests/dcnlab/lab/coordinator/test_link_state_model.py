"""The link-state machine against brute force: random inputs, and after each what the definitions say.

``DCNLAB_LINK_STATE=100000`` is the number of sequences; without it few run.
"""

from __future__ import annotations

import os
import random
from collections import deque
from collections.abc import Callable, Collection

import pytest

from dcnlab.lab.contract.machine import Apply, Observation
from dcnlab.lab.coordinator.link_state.state_machine import (
    Convergence,
    Effect,
    LinkEvent,
    LinkStateMachine,
    SetLinks,
)
from topos import registry
from topos.graph import Port

SEQUENCES = int(os.environ.get("DCNLAB_LINK_STATE", "2000"))
FABRIC = registry.fabric("bcube:2,1")
NODES, SERVERS = range(FABRIC.size), range(FABRIC.servers)
ENDS = {link.index: (link.a, link.b) for link in FABRIC.links()}
LINK_OF = {end: number for number, ends in ENDS.items() for end in ends}
LINKS_AT = {node: {number for end, number in LINK_OF.items() if end.node == node} for node in NODES}
#: The nodes of each machine: one machine, two, three.
PLACED = (
    {"": frozenset(NODES)},
    *({f"m{part}": frozenset(NODES[part::count]) for part in range(count)} for count in (2, 3)),
)
INPUTS = 14


class Network:
    """Ports, agents and machines as they are, what the user has asked for, and what followed.

    It keeps facts only, and computes everything from them each time.
    """

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.placed = draw.choice(PLACED)
        self.machine = LinkStateMachine(FABRIC, self.placed)
        self.now = 0.0
        #: Ports without carrier, as they are and as they were reported; reports come in the order of each port.
        self.dark: set[Port] = set()
        self.reported: set[Port] = set()
        self.reports: dict[Port, deque[bool]] = {port: deque() for port in LINK_OF}
        self.silent: set[int] = set()
        #: Links to machines that do not answer, and those that were taken down for that only.
        self.absent: set[int] = set()
        self.isolated: set[int] = set()
        self.taken: set[int] = set()
        self.elsewhere: set[int] = set()
        self.unreachable: set[str] = set()
        self.cut_links: set[int] = set()
        self.cut_nodes: set[int] = set()
        #: What each machine is to follow now, and the links and the result of what it has followed last.
        self.following: dict[str, Apply] = {}
        self.followed = {name: (frozenset[int](), "") for name in self.placed}
        self.last_event = dict.fromkeys(ENDS, True)
        #: The links that are down since the last input.
        self.before = frozenset[int]()
        self.first_change: float | None = None
        self.steps: list[str] = []

    # --- the definitions ------------------------------------------------------

    def down(self, at: Collection[int] = NODES) -> frozenset[int]:
        """The links that are down as seen from some nodes; a machine that does not answer says nothing."""
        seen = {LINK_OF[port] for port in self.reported if port.node in at}
        useless = [node for node in self.silent if node in at]
        useless += [node for name in self.unreachable for node in self.placed[name]]
        return frozenset(seen).union(self.elsewhere, self.isolated, *(LINKS_AT[node] for node in useless))

    def is_cut(self, link: int) -> bool:
        return link in self.cut_links or any(end.node in self.cut_nodes for end in ENDS[link])

    def has_converged(self) -> bool:
        """All machines that answer follow what is down now."""
        living = self.placed.keys() - self.unreachable
        return all(name not in self.following and self.followed[name] == (self.before, "") for name in living)

    # --- inputs ---------------------------------------------------------------

    def step(self) -> None:
        """One random input, and what must hold then."""
        self.now += self.draw.choice((0.0, 0.001, 1.0))
        one = [self.report] * 4 + [self.change_agents, self.change_absent, self.change_elsewhere, self.isolate]
        several = [self.observe] * 4 + [self.lose_contact]
        inputs: list[Callable[[], None]] = [
            self.follow, self.follow, self.cut, self.restore, self.break_port, self.restart,
            *(several if len(self.placed) > 1 else one),
        ]  # fmt: skip
        chosen = self.draw.choice(inputs)
        self.steps.append(chosen.__name__)
        chosen()

    def take(self, effects: list[Effect]) -> None:
        """Effects of an input, in the order in which the driver carries them out."""
        down, before, self.before = self.down(), self.before, self.down()
        if down != before and self.first_change is None:
            self.first_change = self.now
        for effect in effects:
            if isinstance(effect, LinkEvent):
                assert effect.up != self.last_event[effect.link], "events alternate"
                self.last_event[effect.link] = effect.up
            elif isinstance(effect, Apply):
                self.begin(effect)
            elif isinstance(effect, Convergence):
                since = self.now if self.first_change is None else self.first_change
                assert (effect.down, effect.ms) == (down, round(1000 * (self.now - since), 2))
                assert (not effect.error) == self.has_converged()
                self.first_change = None
        assert sum(isinstance(effect, LinkEvent) for effect in effects) == len(down ^ before), (
            "no event is lost"
        )
        assert {link for link, up in self.last_event.items() if not up} == self.machine.down == down
        assert self.machine.has_converged == self.has_converged()

    def begin(self, update: Apply) -> None:
        """A machine is told which links are down, and why, as far as it matters."""
        assert update.machine not in self.following, "one at a time"
        assert update.machine not in self.unreachable
        nodes = set(self.placed[update.machine])
        assert update.down == self.before
        assert update.silent == frozenset().union(*(LINKS_AT[server] for server in self.silent))
        outside = self.down(set(NODES) - nodes)
        assert (update.elsewhere, update.unreachable) == (outside, self.unreachable)
        self.following[update.machine] = update

    def break_port(self) -> None:
        """Somebody takes an interface down by hand, or up where the user has not cut it."""
        port = self.draw.choice(list(LINK_OF))
        if not self.is_cut(LINK_OF[port]) and LINK_OF[port] not in self.absent | self.isolated:
            self.set_port(port, port in self.dark)

    def set_port(self, port: Port, up: bool) -> None:
        if (port not in self.dark) != up:
            (self.dark.discard if up else self.dark.add)(port)
            self.reports[port].append(up)

    def report(self) -> None:
        waiting = [port for port, reports in self.reports.items() if reports]
        if waiting:
            self.report_of(self.draw.choice(waiting))

    def report_of(self, port: Port) -> None:
        up = self.reports[port].popleft()
        (self.reported.discard if up else self.reported.add)(port)
        self.take(self.machine.port(port, up, self.now))

    def cut(self) -> None:
        links, node = self.target()
        (self.cut_links.update(links) if node is None else self.cut_nodes.add(node))
        self.taken -= links
        self.set_links(self.machine.cut(links, node), links, False)

    def restore(self) -> None:
        links, node = self.target()
        (self.cut_links.difference_update(links) if node is None else self.cut_nodes.discard(node))
        free = {link for link in links if not self.is_cut(link)}
        self.taken |= free & (self.absent | self.isolated)
        self.set_links(self.machine.restore(links, node), free - self.absent - self.isolated, True)
        reasons = self.machine.still_down(links)
        assert reasons.keys() == links & self.down()
        for link, because in reasons.items():
            assert because
            assert any("cut" in reason for reason in because) == self.is_cut(link)
            assert ("it is cut by itself" in because) == (link in self.cut_links)

    def target(self) -> tuple[set[int], int | None]:
        if self.draw.random() < 0.5:
            return {self.draw.choice(list(ENDS))}, None
        node = self.draw.choice(NODES)
        return set(FABRIC.links_of(node)), node

    def set_links(self, effect: SetLinks, links: set[int], up: bool) -> None:
        assert (effect.links, effect.up) == (links, up)
        for link in effect.links:
            for end in ENDS[link]:
                self.set_port(end, up)

    def change_agents(self) -> None:
        self.silent = set(self.draw.sample(SERVERS, self.draw.choice((0, 0, 1, 2))))
        self.take(self.machine.silent_agents(self.silent, self.now))

    def change_absent(self) -> None:
        self.set_absent(set(self.draw.sample(list(ENDS), self.draw.choice((0, 1, 3)))))

    def isolate(self) -> None:
        """Nobody asks this machine, or somebody does again."""
        self.report_all()
        self.isolated = set(self.draw.sample(list(ENDS), self.draw.choice((0, 3))))
        effects = self.machine.isolated(self.isolated, self.isolated, self.now)
        self.take(effects)
        self.hold([effect for effect in effects if isinstance(effect, SetLinks)])

    def set_absent(self, absent: set[int]) -> None:
        """Links lead to machines that do not answer; all was reported before, as the driver waits for it."""
        self.report_all()
        self.absent = absent
        self.hold(self.machine.absent(absent))

    def hold(self, changes: list[SetLinks]) -> None:
        """Ends go down that lead nowhere, and others come back."""
        nowhere = self.absent | self.isolated
        up = {link for link in ENDS if not self.is_cut(link) and not {*ENDS[link]} & self.dark}
        down, back = nowhere & up, self.taken - nowhere
        assert changes == [
            SetLinks(frozenset(links), there) for links, there in ((down, False), (back, True)) if links
        ]
        self.taken = (self.taken | down) & nowhere
        for change in changes:
            self.set_links(change, set(change.links), change.up)
        self.report_all()
        carriers = frozenset(port for port in self.dark if LINK_OF[port] not in self.taken)
        assert self.machine.own == Observation(carriers, frozenset(self.silent))

    def observe(self) -> None:
        """One of several machines tells all that it sees; what comes late changes nothing."""
        self.observe_at(name := self.draw.choice(list(self.placed)), set(self.draw.sample(SERVERS, 1)))
        late = Observation(frozenset(), frozenset(), self.now - 1)
        assert self.machine.observed(name, late, self.now) == []

    def observe_at(self, name: str, silent: set[int]) -> None:
        nodes = set(self.placed[name])
        for port in self.reports:
            if port.node in nodes:
                self.reports[port].clear()
                (self.reported.add if port in self.dark else self.reported.discard)(port)
        self.silent = (self.silent - nodes) | (silent & nodes)
        carriers = frozenset(port for port in self.dark if port.node in nodes)
        seen = Observation(carriers, frozenset(self.silent & nodes), self.now)
        self.take(self.machine.observed(name, seen, self.now))

    def change_elsewhere(self) -> None:
        self.elsewhere = set(self.draw.sample(list(ENDS), self.draw.choice((0, 1, 3))))
        self.take(self.machine.elsewhere(self.elsewhere, self.now))

    def lose_contact(self) -> None:
        name = self.draw.choice(list(self.placed))
        if name in self.unreachable:
            self.observe_at(name, self.silent)
            self.unreachable.remove(name)
            self.followed[name] = (frozenset(), "unknown")
            self.take(self.machine.reachable(name, self.now))
            for up in (True, False):  # what it follows is not known
                assert not self.machine.has_reached(frozenset(), up)
        else:
            self.unreachable.add(name)
            self.following.pop(name, None)
            self.reported = {port for port in self.reported if port.node not in self.placed[name]}
            self.silent -= set(self.placed[name])
            self.take(self.machine.unreachable(name, self.now))

    def follow(self) -> None:
        """A machine has applied what it was to, or has failed; an answer may come from before it was lost."""
        if self.following:
            name = self.draw.choice(list(self.following))
            error = self.draw.choice(("", "", "the controller has ended"))
            self.follow_at(name, error)

    def follow_at(self, name: str, error: str) -> None:
        update = self.following.pop(name)
        self.followed[name] = (update.down, error)
        effects = self.machine.applied(update, update.revision, error, self.now)
        self.take(effects)
        assert self.machine.applied(update, None, "late", self.now) == []  # a second answer changes nothing

    def restart(self) -> None:
        self.restart_at(self.draw.choice(list(self.placed)))

    # --- the end --------------------------------------------------------------

    def report_all(self) -> None:
        for port, reports in self.reports.items():
            while reports:
                self.report_of(port)

    def settle(self) -> None:
        """All is reported, machines answer and follow: the lab has converged, and what was dark is."""
        if len(self.placed) == 1:
            self.set_absent(set())
            self.isolated = set()
            self.take(effects := self.machine.isolated((), (), self.now))
            self.hold([effect for effect in effects if isinstance(effect, SetLinks)])
        for name in self.placed if len(self.placed) > 1 else ():
            self.observe_at(name, self.silent)
        for name in sorted(self.unreachable):
            self.unreachable.remove(name)
            self.followed[name] = (frozenset(), "unknown")
            self.take(self.machine.reachable(name, self.now))
        for name in self.placed:
            self.restart_at(name)  # one that has failed is not told again by itself
        while self.following:
            self.follow_at(next(iter(self.following)), "")
        assert self.machine.has_converged
        dark = {LINK_OF[port] for port in self.dark}
        assert dark >= {link for link in ENDS if self.is_cut(link)}
        for link in ENDS:
            assert self.machine.has_reached(frozenset([link]), up=False) == (link in dark)
            assert self.machine.has_reached(frozenset([link]), up=True) == (
                link not in dark or self.is_cut(link)
            )

    def restart_at(self, name: str) -> None:
        if name not in self.following:
            self.followed[name] = (frozenset(), "unknown")
        self.take(self.machine.restarted(name, self.now))


@pytest.mark.parametrize("share", range(10))
def test_random_inputs_give_what_the_definitions_say(share: int) -> None:
    for seed in range(share, SEQUENCES, 10):
        network = Network(random.Random(seed))
        try:
            network.take(network.machine.start(network.now))
            for _ in range(INPUTS):
                network.step()
            network.settle()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {' '.join(network.steps)}") from error
