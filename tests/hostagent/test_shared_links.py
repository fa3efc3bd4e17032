"""The link state that all agents share in memory."""

from __future__ import annotations

import os

from hypothesis import given
from hypothesis import strategies as st

from hostagent.runtime.shared_links import SharedLinkState
from topos.graph import LinkState

LINKS = 40


def test_nothing_is_down_at_first() -> None:
    assert SharedLinkState(0).read() == (0, LinkState(), frozenset())


some = st.frozensets(st.integers(0, LINKS - 1))


@given(st.lists(st.tuples(some, some), min_size=1))
def test_the_last_state_is_read_and_each_has_its_epoch(
    states: list[tuple[frozenset[int], frozenset[int]]],
) -> None:
    shared = SharedLinkState(LINKS, LINKS)
    for number, (down, waiting) in enumerate(states, 1):
        shared.write(LinkState(down), waiting)
        assert shared.read() == (number, LinkState(down), waiting)
        assert shared.epoch == number


def test_unknown_links_are_left_out() -> None:
    shared = SharedLinkState(2)
    shared.write(LinkState(frozenset({1, 2, 60_000})))
    assert shared.read() == (1, LinkState(frozenset({1})), frozenset())


def test_a_reader_beside_the_writer_never_sees_a_mixture() -> None:
    """Every state has the links 0 to n - 1, so a mixture of two would be found."""
    shared, rounds = SharedLinkState(LINKS), 5000
    if not (writer := os.fork()):
        for number in range(rounds):
            shared.write(LinkState(frozenset(range(number % LINKS))))
        os._exit(0)
    last = -1
    while last < rounds:
        epoch, state, _ = shared.read()
        assert epoch >= last
        assert state.down == frozenset(range((epoch - 1) % LINKS) if epoch else ())
        last = epoch
    os.waitpid(writer, 0)
