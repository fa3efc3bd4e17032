"""Fields that users fill in refuse what is outside their limits, and nothing else."""

from __future__ import annotations

import dataclasses
import math

from hypothesis import given
from hypothesis import strategies as st

from topos import fields

NUMBERS = st.integers(-9, 9) | st.floats(-9, 9) | st.just(math.nan)
BOUNDS = st.none() | st.integers(-5, 5)


@given(NUMBERS | st.tuples(NUMBERS, NUMBERS), BOUNDS, BOUNDS)
def test_a_number_is_refused_where_it_is_outside_its_limits(
    value: float | tuple[float, float], low: int | None, high: int | None
) -> None:
    @dataclasses.dataclass
    class Owner:
        field: object = fields.declare("A number.", low=low, high=high, default=0)

    [item] = dataclasses.fields(Owner)
    inside = all(
        not math.isnan(part) and (low is None or low <= part) and (high is None or part <= high)
        for part in (value if isinstance(value, tuple) else (value,))
    )
    assert (fields.problem(item.metadata, value) == "") == inside


@given(st.text("ab", max_size=3), st.lists(st.text("ab", min_size=1, max_size=2), min_size=1, unique=True))
def test_a_word_is_refused_where_it_is_no_choice(value: str, choices: list[str]) -> None:
    text = fields.problem({"choices": tuple(choices)}, value)
    assert (text == "") == (value in choices)
    for several in ((value,), [value]):  # values of another kind, such as pairs of servers
        assert fields.problem({"choices": tuple(choices)}, several) == ""


@given(st.text("ab1", max_size=4))
def test_a_word_is_refused_where_it_does_not_match(value: str) -> None:
    accepted = not value or (value[0] in "ab" and all(letter == "1" for letter in value[1:]))
    assert (fields.problem({"pattern": "[ab]1*"}, value) == "") == accepted
