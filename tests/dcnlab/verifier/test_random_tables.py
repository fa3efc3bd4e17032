"""Random tables on small networks: proofs against brute force over all headers, and planted faults."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pytest

from addressing.header import Forward, Header, NextHops, Pattern, drop, uniform
from addressing.scheme import ForwardingClass
from addressing.schemes.shortest import Shortest
from addressing.table import compile_table
from dcnlab.verifier.checking import Check, Fault
from dcnlab.verifier.offline import Offline, Tables
from dcnlab.verifier.search import LOOPS, LOST
from tests.topos.graphs import built
from topos.graph import ALL_UP, LinkState

BITS, TAG = 4, 2
Start = tuple[int, Header]


@dataclass(frozen=True)
class Drawn(Shortest):
    """A scheme whose switches have random entries: masks, arrival ports, rewriting, several next hops."""

    seed: int = 0

    @property
    def label_bits(self) -> int:
        return BITS

    @property
    def tag_bits(self) -> int:
        return TAG

    @cached_property
    def drawn(self) -> dict[int, dict[Pattern, NextHops]]:
        draw = random.Random(self.seed)
        switches = range(self.fabric.servers, self.fabric.size)
        return {
            switch: {self._pattern(draw): self._hops(draw, switch) for _ in range(9)} for switch in switches
        }

    def _pattern(self, draw: random.Random) -> Pattern:
        """Priorities are those of the masks; equal ones that overlap are possible."""
        mask, tag_mask = draw.getrandbits(BITS), draw.getrandbits(TAG)
        port = draw.choice((0, 0, 0, 1, 2))
        return Pattern(draw.getrandbits(BITS) & mask, mask, draw.getrandbits(TAG) & tag_mask, tag_mask, port)

    def _hops(self, draw: random.Random, switch: int) -> NextHops:
        ports = [port for port, _ in self.fabric.ports(switch)]
        if draw.random() < 0.1:
            return drop("drawn")
        return uniform([self._forward(draw, ports) for _ in range(draw.choice((1, 1, 2)))])

    def _forward(self, draw: random.Random, ports: list[int]) -> Forward:
        label = draw.getrandbits(BITS) if draw.random() < 0.2 else None
        return Forward(draw.choice(ports), label, draw.getrandbits(TAG) if draw.random() < 0.2 else None)

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        pattern = next(pattern for pattern in self.drawn[at] if pattern.matches(header))
        return self.drawn[at][pattern]

    def forwarding_classes(self, at: int) -> Iterator[ForwardingClass]:
        for pattern in self.drawn[at]:
            yield pattern, Header(pattern.label, pattern.tag, pattern.in_port)


class Brute:
    """One header after the other, entry after entry, in the words of OpenFlow."""

    def __init__(self, scheme: Drawn) -> None:
        self.scheme, self.fabric = scheme, scheme.fabric
        self.tables = {
            v: compile_table(scheme, v).entries for v in range(self.fabric.servers, self.fabric.size)
        }

    def ends(self, at: int, header: Header, before: frozenset[Start]) -> Iterator[str | int]:
        """All that can become of a packet at a switch: a host, `lost` or `loops`."""
        if self.fabric.is_server(at):
            yield at
            return
        if (at, header) in before:
            yield "loops"
            return
        matching = [entry for entry in self.tables[at] if entry.pattern.matches(header)]
        best = [entry for entry in matching if entry.priority == matching[0].priority]
        if not best:
            yield "lost"
        for entry in best:
            for action, _ in entry.next_hops:
                back = isinstance(action, Forward) and action.port == header.in_port
                if not isinstance(action, Forward) or (back and entry.pattern.in_port == 0):
                    yield "lost"
                    continue
                end = self.fabric.peer(at, action.port)
                assert end is not None
                arrived = Header(
                    header.label if action.label is None else action.label,
                    header.tag if action.tag is None else action.tag,
                    end.number,
                )
                yield from self.ends(end.node, arrived, before | {(at, header)})


@pytest.mark.parametrize("seed", range(60))
def test_all_headers_end_as_their_class_is_proved_to(seed: int) -> None:
    scheme = Drawn(built("hypercube:2,hosts=1"), seed=seed)
    network, brute = Offline(Tables(scheme)), Brute(scheme)
    classes, fabric = network.classes(), scheme.fabric
    patterns = {pattern for table in scheme.drawn.values() for pattern in table}

    def alike(header: Header) -> tuple[bool, ...]:
        return tuple(
            header.label & p.mask == p.label and header.tag & p.tag_mask == p.tag
            for p in sorted(patterns, key=hash)
        )

    proved: dict[tuple[int, tuple[bool, ...]], set[frozenset[str | int]]] = {}
    for header in classes:
        check = Check(network)
        starts = list(network.injected(header))
        for (node, arrived), number in zip(starts, check.graph.add(starts), strict=True):
            flags: int = check.solution.flags[number]
            ends = {word for word, bit in (("loops", LOOPS), ("lost", LOST)) if flags & bit}
            group = proved.setdefault((node, alike(arrived)), set())
            group.add(frozenset(ends | check.solution.arrivals(number)))
    for label in range(1 << BITS):
        for tag in range(1 << TAG):
            for server in range(fabric.servers):
                _, end = next(iter(fabric.ports(server)))
                header = Header(label, tag, end.number)
                walked = frozenset(brute.ends(end.node, header, frozenset()))
                assert walked in proved[end.node, alike(header)]


@dataclass(frozen=True)
class Planted(Shortest):
    """Shortest paths, with one label sent elsewhere at some switches: pairs of (switch, port)."""

    label_of: int = 0
    planted: tuple[tuple[int, int], ...] = ()

    def next_hops(self, at: int, header: Header, links: LinkState = ALL_UP) -> NextHops:
        port = dict(self.planted).get(at)
        if port is not None and header.label == self.label(self.label_of):
            return uniform([Forward(port)]) if port else drop("planted")
        return super().next_hops(at, header, links)

    def forwarding_classes(self, at: int) -> Iterator[ForwardingClass]:
        yield from super().forwarding_classes(at)
        if at in dict(self.planted):
            label = self.label(self.label_of)
            yield Pattern(label, (1 << self.label_bits) - 1, in_port=0), Header(label)


#: Four switches in a ring; their numbers, one after the other round it.
RING, ROUND = "hypercube:2,hosts=2", (0, 1, 3, 2)


def report(planted: tuple[tuple[int, int], ...]) -> dict[Fault, set[tuple[str, str]]]:
    network = Offline(Tables(Planted(built(RING), label_of=0, planted=planted)))
    checked = Check(network).pairs(network.starts())
    return {
        kind: {pair for one in checked.violations if one.kind is kind for pair in one.pairs}
        for kind in checked.concerned
    }


def test_nothing_is_invented() -> None:
    assert report(()) == {}


def test_each_planted_fault_is_found_with_its_pairs() -> None:
    fabric = built(RING)
    ring = [fabric.servers + number for number in ROUND]

    def port(switch: int, to: int) -> int:
        return next(number for number, end in fabric.ports(switch) if end.node == to)

    everybody = {(f"h{source}", "h0") for source in range(1, 8)}
    assert report(((ring[0], port(ring[0], 1)),))[Fault.misdelivered] == everybody - {("h1", "h0")}
    assert report(((ring[0], 0),)) == {Fault.lost: everybody}
    assert report(((ring[2], 0),)) == {Fault.lost: {("h6", "h0"), ("h7", "h0")}}
    circle = tuple((switch, port(switch, ring[(turn + 1) % 4])) for turn, switch in enumerate(ring))
    assert report(circle) == {Fault.loop: everybody}
