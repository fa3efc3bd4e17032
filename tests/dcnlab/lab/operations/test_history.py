"""What several machines have read of their links, each by its own clock, is one history."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dcnlab.lab.contract.network import LinkCounts, LinkReadings
from dcnlab.lab.operations.history import merged

AGES = st.lists(st.integers(0, 900), min_size=1, max_size=20, unique=True).map(lambda ages: sorted(ages)[::-1])


def carried(age: int, link: int) -> list[int]:
    """What a link has carried so many seconds ago, in both directions."""
    return [(link + 1) * (1000 - age), 1000 - age]


def read(clock: float, ages: list[int], own: set[int], down: list[int]) -> LinkReadings:
    """Of three links, those that a machine does not have have carried nothing there."""
    links = [[carried(age, link) if link in own else [0, 0] for link in range(3)] for age in ages]
    return LinkReadings(
        clock, [LinkCounts(clock - age, down, one) for age, one in zip(ages, links, strict=True)]
    )


@given(AGES, st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_links_of_all_machines_are_in_each_reading_whatever_their_clocks_say(
    ages: list[int], one: float, other: float
) -> None:
    both = merged([read(one, ages, {0, 1}, [2]), read(other, ages, {1, 2}, [2])], 5000.0)
    assert [round(5000.0 - each.at) for each in both.readings] == ages
    for age, each in zip(ages, both.readings, strict=True):
        assert each.down == [2]
        near = [carried(about, 2) for about in ages]
        assert (each.links[:2], each.links[2] in near) == ([carried(age, 0), carried(age, 1)], True)


@given(AGES, AGES)
def test_counters_never_fall_and_none_is_of_a_later_time(mine: list[int], others: list[int]) -> None:
    both = merged([read(0.0, mine, {0}, []), read(77.0, others, {1, 2}, [])], 1000.0)
    assert len(both.readings) == max(len(mine), len(others))
    for before, after in zip(both.readings, both.readings[1:], strict=False):
        assert all(
            a <= b for x, y in zip(before.links, after.links, strict=True) for a, b in zip(x, y, strict=True)
        )
    first = 1000.0 - min(max(mine), max(others))
    for each in both.readings:
        if each.at >= first:
            assert all(direction <= each.at for _, direction in each.links)
