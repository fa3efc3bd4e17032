"""What holds of every scheme on every family that it fits."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from addressing import registry as schemes
from addressing.header import Drop, Header
from addressing.table import compile_table
from tests.addressing.cases import bound, build, failures, pairs, smalls, texts
from tests.addressing.walks import circles, seen, table_errors, undelivered
from topos import registry as families

PAIRS = pairs()
every_pair = pytest.mark.parametrize(("spec", "text"), PAIRS)
every_family = pytest.mark.parametrize("name", families.known())


@every_pair
def test_every_packet_is_delivered(spec: str, text: str) -> None:
    assert undelivered(bound(spec, text), draws=2) == []


@every_pair
def test_table_says_what_the_rule_says(spec: str, text: str) -> None:
    scheme = bound(spec, text)
    assert table_errors(scheme, seen(scheme, draws=2)) == []


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
    for node in range(scheme.fabric.size):
        if scheme.fabric.is_plain(node):
            continue
        classes = list(scheme.classes(node))
        assert len({pattern for pattern, _ in classes}) == len(classes)
        for pattern, header in classes:
            assert pattern.matches(header)
            assert header.label < 1 << scheme.label_bits
            assert header.tag < 1 << scheme.tag_bits
        for entry in compile_table(scheme, node).entries:
            assert sum(weight for _, weight in entry.choices) == pytest.approx(1)
            assert all(weight > 0 for _, weight in entry.choices)


@every_pair
def test_failures_that_the_control_plane_knows_lose_nothing(spec: str, text: str) -> None:
    fabric = build(spec)
    for seed, share, splitting in ((1, 0.01, False), (2, 0.1, False), (3, 0.25, False), (4, 0.5, True)):
        down = failures(fabric, seed, share, splitting)
        scheme = bound(spec, text).given(down)
        assert undelivered(scheme, down, count=100) == []
        assert circles(scheme, down, count=100) == []
        assert table_errors(scheme, seen(scheme, down, count=60)) == []


@every_pair
def test_failures_that_only_neighbours_know_never_circle(spec: str, text: str) -> None:
    scheme = bound(spec, text)
    down = failures(build(spec), 4, 0.1)
    assert circles(scheme, down, count=100) == []


@every_pair
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_garbage_is_answered(spec: str, text: str, data: st.DataObject) -> None:
    scheme = bound(spec, text)
    node = data.draw(st.integers(0, scheme.fabric.size - 1))
    label = data.draw(st.integers(0, (1 << scheme.carrier.bits) - 1))
    tag = data.draw(st.integers(0, (1 << 46) - 1))
    port = data.draw(st.integers(0, 64))
    header = Header(label & (1 << scheme.label_bits) - 1, tag & (1 << scheme.tag_bits) - 1, port)
    for action, weight in scheme.act(node, header):
        assert weight > 0
        assert isinstance(action, Drop) or action is not None


@every_family
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_small_sizes(name: str, data: st.DataObject) -> None:
    spec = data.draw(st.sampled_from(smalls(name)))
    fabric = build(spec)
    text = data.draw(st.sampled_from(sorted(texts(fabric.family))))
    scheme = schemes.bind(text, fabric)
    assert undelivered(scheme, count=60) == []
    assert table_errors(scheme, seen(scheme, count=60)) == []
    down = failures(fabric, data.draw(st.integers(0, 99)), 0.2)
    known = scheme.given(down)
    assert undelivered(known, down, count=60) == []
    assert circles(known, down, count=60) == []
    assert table_errors(known, seen(known, down, count=30)) == []
