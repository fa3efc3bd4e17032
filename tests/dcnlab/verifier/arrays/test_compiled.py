"""Proofs in compiled code against those state by state: of every pair the same is found."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from addressing.header import Forward, Header, only
from addressing.scheme import Scheme
from addressing.schemes.brp import Brp
from addressing.source import ServerPath
from addressing.table import Entry, Table, compile_table
from dcnlab.verifier.arrays.dense import UNPROVED
from dcnlab.verifier.arrays.pairs import Compiled
from dcnlab.verifier.checking import Check, Report
from dcnlab.verifier.offline import Lookup, Offline, Tables
from tests.addressing.cases import bound, covering, few, pairs
from topos.graph import ALL_UP, LinkState


def concerned(report: Report) -> dict[tuple[str, ...], set[tuple[str, str]]]:
    """The pairs of each kind of violation and place."""
    return {(one.kind.value, one.reason, *one.path[-1:]): set(one.pairs) for one in report.violations}


def equal(compiled: Compiled, model: Offline, losses: bool = True) -> Report:
    slow, fast = Check(model).pairs(model.starts(), losses), compiled.check(model, losses)
    assert concerned(fast) == concerned(slow)
    assert (fast.checked, fast.cut, set(fast.concerned)) == (slow.checked, slow.cut, set(slow.concerned))
    return fast


@pytest.mark.parametrize(("spec", "text"), few(covering(pairs()), lambda pair: (pair[0], pair[1])))
def test_the_same_is_proved_of_failures(spec: str, text: str) -> None:
    scheme = bound(spec, text)
    whole = Tables(scheme)
    compiled = Compiled(whole)
    assert equal(compiled, Offline(whole)).held
    links = len(scheme.fabric.link_ends)
    for down in ({0}, {links // 2}, {links // 3, links - 1}):
        failed = LinkState(frozenset(down))
        equal(compiled, Offline(whole, failed), losses=False)
        equal(compiled, Offline(Tables(scheme.with_failures(failed), whole), failed))
    assert compiled.check(Offline(whole)).held  # what was replaced is restored


@pytest.mark.parametrize("text", ["cr", "cr:d=3", "cr-bfs", "cr-bfs:d=2"])
@pytest.mark.parametrize("seed", range(3))
def test_packets_that_servers_decide_otherwise_about_are_followed_from_there(text: str, seed: int) -> None:
    """Also while other links are down than the control plane knows: then some packets are lost."""
    scheme = bound("borel:7,2,1,2", text)
    whole = Tables(scheme)
    compiled, draw = Compiled(whole), random.Random(seed)
    for known, more in ((1, 0), (3, 0), (1, 1), (2, 2)):
        some = draw.sample(range(len(scheme.fabric.link_ends)), known + more)
        after = Tables(scheme.with_failures(LinkState(frozenset(some[:known]))), whole)
        after.scheme.prepare_tables(scheme.endpoints())
        assert after.scheme.redecided_of(scheme) is not None
        equal(compiled, Offline(after, LinkState(frozenset(some))), losses=not more)
    assert equal(compiled, Offline(whole)).held


class Broken(Tables):
    """Tables in which some entries lead to other ports, or are missing."""

    def __init__(self, scheme: Scheme, seed: int, before: Tables | None = None) -> None:
        super().__init__(scheme, before)
        self._draw = random.Random(seed)
        for switch in self.switches:
            entries = [one for one in super().__getitem__(switch).entries if self._draw.random() > 0.02]
            entries = [self._wrong(switch, one) if self._draw.random() < 0.1 else one for one in entries]
            self._lookups[switch] = Lookup(Table(switch, tuple(entries)))

    def _wrong(self, switch: int, entry: Entry) -> Entry:
        ports = self.scheme.fabric.port_count(switch)
        return replace(entry, next_hops=only(Forward(self._draw.randrange(1, ports + 2))))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("spec", "text"),
    [("fattree:4", "ecmp"), ("fattree:4", "twolevel"), ("jellyfish:4,8,3", "tz"), ("bcube:4,1", "brp"),
     ("clot:4x4", "pow"), ("smallworld:4x4,clusters=2x2", "hrsw")],
)  # fmt: skip
def test_the_same_faults_are_found_in_broken_tables(spec: str, text: str, seed: int) -> None:
    broken = Broken(bound(spec, text), seed)
    equal(Compiled(broken), Offline(broken, ALL_UP))


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("bcube:3,2", "brp"),
        ("hdcube:4,2", "dcube"),
        ("mdcube:6,2", "dcube"),
        ("dcell:3,1", "dfr"),
        ("hdcube:4,2", "dcube-shortest"),
        ("mdcube:4,1", "dcube-shortest"),
        ("dcube:3,1,cube=twisted", "dcube-shortest"),
    ],
)
def test_headers_known_at_once_are_those_that_sources_write(spec: str, text: str) -> None:
    scheme = bound(spec, text)
    for destination in range(scheme.fabric.servers):
        sent = scheme.headers_to(destination)
        assert sent is not None
        for source in range(scheme.fabric.servers):
            if source != destination:
                ((header, _),) = scheme.headers(source, destination)
                assert (header.label, header.tag) == (sent[0][source], sent[1][source])


@pytest.mark.parametrize(
    ("spec", "text"),
    [("bcube:2,10", "brp"), ("mdcube:60,5", "dcube"), ("hdcube:60,5", "dcube-shortest")],
)
def test_headers_that_no_array_holds_are_not_known_at_once(spec: str, text: str) -> None:
    scheme = bound(spec, text)
    ((header, _),) = scheme.headers(scheme.fabric.servers - 1, 0)
    assert header.tag.bit_length() > 62
    assert scheme.headers_to(0) is None
    assert scheme.headers_between(np.array([1]), np.array([0])) is None


@pytest.mark.parametrize(
    ("spec", "text"),
    [("bcube:4,1", "brp"), ("bcube:3,2", "brp:multipath=yes"), ("hdcube:4,2", "dcube"),
     ("mdcube:4,1", "dcube-shortest"), ("hdcube:4,2", "dcube-shortest:multipath=yes")],
)  # fmt: skip
def test_only_pairs_whose_packets_cross_a_failed_link_are_checked_again(spec: str, text: str) -> None:
    scheme = bound(spec, text)
    whole = Tables(scheme)
    compiled = Compiled(whole)
    every = compiled.intact()
    assert every.held
    draw, links = random.Random(spec + text), range(len(scheme.fabric.link_ends))
    for down in [{link} for link in draw.sample(links, 5)] + [{*draw.sample(links, 4)}]:
        failed = LinkState(frozenset(down))
        known = equal(compiled, Offline(Tables(scheme.with_failures(failed), whole), failed))
        equal(compiled, Offline(whole, failed), losses=False)
        assert known.states < every.states


@pytest.mark.parametrize("spec", ["bcube:4,1", "bcube:3,2", "bcube:2,3", "bcube:4,1,parts=2", "bcube:3,1"])
@pytest.mark.parametrize("count", [0, 1, 3, 12])
def test_headers_of_pairs_known_at_once_are_those_that_sources_write(spec: str, count: int) -> None:
    scheme = bound(spec, "brp")
    down = random.Random(spec).sample(range(len(scheme.fabric.link_ends)), count)
    failed = scheme.with_failures(LinkState(frozenset(down)))
    servers = np.arange(scheme.fabric.servers)
    sources, destinations = np.repeat(servers, len(servers)), np.tile(servers, len(servers))
    sent = failed.headers_between(sources, destinations)
    assert sent is not None
    unasked = 0
    for source, destination, label, tag in zip(sources, destinations, *sent, strict=True):
        if source != destination and tag >= 0:
            ((header, _),) = failed.headers(int(source), int(destination))
            assert (header.label, header.tag) == (label, tag)
            unasked += 1
    assert unasked > len(sources) / 2 or count > 3
    for destination in servers.tolist():
        at_once = failed.headers_to(destination)
        whole = sent[1][destinations == destination]
        assert (at_once is None) == bool((whole < 0).any())
        assert at_once is None or (at_once[1] == whole).all()


class Elsewhere(Brp):
    """Sources that write other paths than the scheme from which it is made."""

    def candidate_paths(self, source: int, destination: int) -> Iterator[ServerPath]:
        yield from reversed([*super().candidate_paths(source, destination)])


def test_paths_of_a_scheme_made_from_another_are_its_own() -> None:
    scheme = Elsewhere(bound("bcube:3,1", "brp").fabric)
    whole = Tables(scheme)
    compiled = Compiled(whole)
    assert equal(compiled, Offline(whole)).states != Compiled(Tables(bound("bcube:3,1", "brp"))).intact().states
    failed = LinkState(frozenset({0}))
    equal(compiled, Offline(Tables(scheme.with_failures(failed), whole), failed))


@pytest.mark.parametrize(
    ("spec", "text"),
    [("fattree:4", "ecmp"), ("fattree:4", "shortest"), ("bcube:3,1", "ecmp"), ("torus:4x4", "shortest"),
     ("borel:7,2,1,2", "cr"), ("jellyfish:4,8,3", "shortest")],
)  # fmt: skip
def test_what_a_scheme_knows_at_once_is_its_table(spec: str, text: str) -> None:
    scheme = bound(spec, text)
    links = range(len(scheme.fabric.link_ends))
    for down in (ALL_UP, LinkState(frozenset({links[0]})), LinkState(frozenset({links[0], links[-1]}))):
        failed = scheme.with_failures(down)
        nodes = [node for node in range(scheme.fabric.size) if not scheme.fabric.is_end_host(node)]
        failed.prepare_tables(nodes)
        for node in nodes:
            at = failed.decided_of(node)
            assert at is not None
            table = compile_table(failed, node, down)
            for label, port, which in zip(at.labels.tolist(), at.in_ports.tolist(), at.which, strict=True):
                assert table.lookup(Header(label, 0, port or 99)) == at.hops[which]
            assert len(at.labels) == len(table.entries)


@pytest.mark.parametrize(
    ("spec", "text"),
    [("fattree:4", "ecmp"), ("torus:4x4", "dor"), ("fattree:4", "twolevel"), ("clot:4x4", "dor")],
)
def test_each_destination_of_sound_tables_is_proved_by_nodes_alone(spec: str, text: str) -> None:
    scheme = bound(spec, text)
    compiled = Compiled(Tables(scheme))
    proved = compiled.proved(Offline(compiled.whole))
    assert proved is not None
    assert min(proved.values()) > 0
    assert len(proved) == scheme.fabric.servers


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("spec", "text"), [("fattree:4", "ecmp"), ("jellyfish:4,8,3", "shortest")])
def test_no_destination_of_broken_tables_is_proved_whose_packets_do_not_arrive(
    spec: str, text: str, seed: int
) -> None:
    broken = Broken(bound(spec, text), seed)
    compiled, model = Compiled(broken), Offline(broken)
    report = Check(model).pairs(model.starts())
    named = {pair[1] for violation in report.violations for pair in violation.pairs}
    wrong = {node for node in range(broken.scheme.fabric.servers) if broken.scheme.fabric.name(node) in named}
    proved = compiled.proved(model)
    assert proved is not None
    assert wrong
    assert {node for node, states in proved.items() if states == UNPROVED} >= wrong
