"""Properties of every scheme on every compatible family."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from addressing import registry as schemes
from addressing.header import Header
from addressing.scheme import Scheme
from addressing.table import Table, compile_table
from tests.addressing.cases import bound, failures, few, pairs, smalls, texts
from tests.addressing.walks import PAIRS, TABLES, Walks
from tests.topos.graphs import built
from topos import registry as families
from topos.graph import ALL_UP, LinkState

every_pair = pytest.mark.parametrize(("spec", "text"), pairs())
#: Each scheme and setting with one of its families.
every_scheme = pytest.mark.parametrize(("text", "spec"), {text: spec for spec, text in pairs()}.items())
#: Few links that are down, which split nothing; and many, which may.
KINDS = ((0.1, False), (0.4, True))
#: Every pair with one of these kinds of failures; every scheme, setting and network with both.
failing_pairs = few(
    ((*pair, *KINDS[(i + turn) % 2]) for turn in (0, 1) for i, pair in enumerate(pairs())),
    lambda item: (item[:2], (item[0], item[2]), (item[1], item[2])),
)
every_family = pytest.mark.parametrize("name", families.known())


def holds(scheme: Scheme, down: LinkState, pairs: int) -> None:
    """Packets between connected nodes arrive, none loops, and tables agree with the rule."""
    walks = Walks.of(scheme, down, pairs)
    assert walks.undelivered() == []
    assert walks.loops() == []
    assert scheme.hairpin or walks.hairpin() == []
    assert walks.table_errors() == []


@every_pair
def test_every_packet_is_delivered_and_tables_agree(spec: str, text: str) -> None:
    holds(bound(spec, text), ALL_UP, pairs=PAIRS)


@every_pair
def test_labels_are_unique_and_fit(spec: str, text: str) -> None:
    scheme = bound(spec, text)
    labels = [scheme.label(node) for node in scheme.endpoints()]
    assert len(set(labels)) == len(labels)
    assert max(labels) < 1 << scheme.label_bits
    scheme.check_width()


@every_pair
def test_classes_are_well_formed(spec: str, text: str) -> None:
    scheme = bound(spec, text)
    nodes = [node for node in range(scheme.fabric.size) if not scheme.fabric.is_end_host(node)]
    for node in random.Random(1).sample(nodes, min(TABLES, len(nodes))):
        forwarding_classes = list(scheme.forwarding_classes(node))
        assert len({pattern for pattern, _ in forwarding_classes}) == len(forwarding_classes)
        for pattern, header in forwarding_classes:
            assert pattern.matches(header)
            assert header.label < 1 << scheme.label_bits
            assert header.tag < 1 << scheme.tag_bits
        for entry in compile_table(scheme, node).entries:
            assert sum(weight for _, weight in entry.next_hops) == pytest.approx(1)
            assert all(weight > 0 for _, weight in entry.next_hops)


@pytest.mark.parametrize(("spec", "text", "share", "splitting"), failing_pairs)
def test_known_failures_lose_nothing(spec: str, text: str, share: float, splitting: bool) -> None:
    down = failures(built(spec), 2, share, splitting)
    holds(bound(spec, text).with_failures(down), down, pairs=60)


@every_pair
def test_unknown_failures_cause_no_loops(spec: str, text: str) -> None:
    down = failures(built(spec), 4, 0.1)
    scheme = bound(spec, text)
    walks = Walks.of(scheme, down, pairs=60)
    assert walks.loops() == []
    assert scheme.hairpin or walks.hairpin() == []


@every_scheme
def test_threads_that_share_a_scheme_get_the_same_tables(spec: str, text: str, switching: None) -> None:
    """Threads of the controller and the session share schemes, so values in a scheme's caches must be final."""
    fabric = built(spec)
    down = failures(fabric, 2, 0.1)
    nodes = [node for node in range(fabric.size) if not fabric.is_end_host(node)]
    asked = random.Random(1).sample(nodes, min(TABLES, len(nodes)))

    def tables(threads: int) -> list[Table]:
        scheme = schemes.bind(text, fabric).with_failures(down)
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda node: compile_table(scheme, node), asked))

    assert tables(threads=4) == tables(threads=1)


@pytest.fixture
def switching() -> Iterator[None]:
    """Python switches threads after every few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@every_pair
def test_invalid_headers_have_next_hops(spec: str, text: str) -> None:
    whole, draw = bound(spec, text), random.Random(spec + text)
    for scheme in (whole, whole.with_failures(failures(whole.fabric, 2, 0.1))):
        for _ in range(20):
            node, port = draw.randrange(scheme.fabric.size), draw.randrange(65)
            header = Header(draw.getrandbits(scheme.label_bits), draw.getrandbits(scheme.tag_bits), port)
            assert sum(weight for _, weight in scheme.act(node, header)) == pytest.approx(1)


@every_family
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_small_sizes(name: str, data: st.DataObject) -> None:
    spec = data.draw(st.sampled_from(smalls(name)))
    fabric = built(spec)
    scheme = schemes.bind(data.draw(st.sampled_from(sorted(texts(fabric.family)))), fabric)
    holds(scheme, ALL_UP, pairs=60)
    down = failures(fabric, data.draw(st.integers(0, 99)), 0.2, data.draw(st.booleans()))
    holds(scheme.with_failures(down), down, pairs=40)
