"""Networks with switches and links beside those of their family."""

from __future__ import annotations

import numpy as np
import pytest

from addressing import registry as schemes
from addressing.scheme import path
from topos import registry
from topos.spec import SpecError


@pytest.mark.parametrize("spec", ["fattree:4", "jellyfish:4,8,3", "file:leafspine.yaml"])
def test_what_was_there_keeps_its_numbers_and_what_is_new_comes_last(spec: str) -> None:
    before = registry.fabric(spec)
    last = before.name(before.size - 1)
    grown = registry.fabric(f"{spec} + new + new--{last} + new:7--{before.name(before.servers)}")
    assert np.array_equal(grown.link_ends[: len(before.link_ends)], before.link_ends)
    assert [grown.name(node) for node in range(before.size)] == [
        before.name(node) for node in range(before.size)
    ]
    assert (grown.servers, grown.switches) == (before.servers, before.switches + 1)
    assert grown.index("new") == before.size
    assert grown.problem() is None
    assert [port for port, _ in grown.ports(before.size)] == [1, 7]
    assert registry.fabric(grown.spec).spec == grown.spec
    points = grown.family.layout()
    assert points is None or len(points) == grown.size


def test_a_scheme_that_computes_from_the_graph_uses_a_new_link_and_others_refuse_it() -> None:
    fabric = registry.fabric("fattree:4 + s0--s6")
    scheme = schemes.bind("ecmp", fabric)
    route = path(scheme, 0, 12)
    assert route is not None
    assert len(route) == 4
    with pytest.raises(SpecError, match=r"twolevel does not fit .* it needs the pods of a fat tree"):
        schemes.bind("twolevel", fabric)


@pytest.mark.parametrize(
    ("added", "says"),
    [
        ("s3", "there is a s3 already"),
        ("x + x", "there is a x already"),
        ("s0--s99", "no node 's99'"),
        ("s0--s0", "to itself"),
        ("s0:1--s3", "port 1 of node 16"),
    ],
)
def test_what_cannot_be_added_is_one_line(added: str, says: str) -> None:
    with pytest.raises(SpecError, match=says) as refused:
        registry.fabric(f"fattree:4 + {added}")
    assert "\n" not in str(refused.value)
