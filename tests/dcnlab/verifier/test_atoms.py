"""Classes of headers against the definition: all headers, one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcnlab.verifier.atoms import Predicate, Preimage, TooMany, closed, representatives, shifted, written

BITS = 6
WHOLE = (1 << BITS) - 1
#: The lowest bits, which can be shifted.
FIELD = 4


@st.composite
def predicates(draw: st.DrawFn) -> list[Predicate]:
    pairs = draw(st.lists(st.tuples(st.integers(0, WHOLE), st.integers(0, WHOLE)), max_size=8))
    return [(value & mask, mask) for value, mask in pairs]


def holding(header: int, some: list[Predicate]) -> tuple[bool, ...]:
    return tuple(header & mask == value for value, mask in some)


@given(predicates(), st.integers(0, WHOLE))
def test_there_is_one_representative_of_each_class(some: list[Predicate], preferred: int) -> None:
    held = [holding(header, some) for header in representatives(some, BITS, preferred)]
    assert len(held) == len(set(held))
    assert set(held) == {holding(header, some) for header in range(WHOLE + 1)}


def write(value: int, mask: int) -> tuple[Preimage, object]:
    return written(value & mask, mask), lambda header: header & ~mask | value & mask


def shift(count: int) -> tuple[Preimage, object]:
    low = (1 << FIELD) - 1
    return shifted(count, FIELD), lambda header: header & ~low | (header << count) & low


changes = st.one_of(
    st.builds(write, st.integers(0, WHOLE), st.integers(0, WHOLE)), st.builds(shift, st.integers(1, FIELD))
)


@given(predicates(), st.lists(changes, max_size=3), st.lists(st.integers(0, 2), max_size=6))
def test_headers_of_one_class_stay_alike_while_they_are_rewritten(
    some: list[Predicate], made: list[tuple[Preimage, object]], order: list[int]
) -> None:
    closure = closed(some, [preimage for preimage, _ in made])
    after: dict[tuple[bool, ...], set[tuple[bool, ...]]] = {}
    for header in range(WHOLE + 1):
        group = holding(header, closure)
        for turn in order if made else ():
            header = made[turn % len(made)][1](header)  # type: ignore[operator]
        after.setdefault(group, set()).add(holding(header, some))
    assert all(len(alike) == 1 for alike in after.values())


def test_too_many_classes_are_an_error_of_one_line() -> None:
    bits = [(1 << place, 1 << place) for place in range(12)]
    assert len(representatives(bits, 12)) == 1 << 12
    with pytest.raises(TooMany, match="more than 1000 classes"):
        representatives(bits, 12, most=1000)
