"""What an agent that was stopped does with the packets that have waited for it."""

from __future__ import annotations

import pytest

from hostagent.runtime import progress


@pytest.mark.parametrize(
    ("stopped", "continued", "now", "dropped"),
    [
        (10_000, 0, 10_900, False),  # it has not waited long
        (10_000, 0, 11_100, True),  # it went on before the supervisor noted it
        (10_000, 11_500, 11_600, True),
        (10_000, 10_900, 11_200, False),
        (10_000, 9_000, 11_200, True),  # it went on from an earlier stop
        (10_000, 20_000, 90_000, False),  # what waited was handled long ago: this is new
    ],
)
def test_only_what_waited_long_is_dropped(stopped: int, continued: int, now: int, dropped: bool) -> None:
    (cell,) = progress.cells(1)
    cell[progress.STOPPED], cell[progress.CONTINUED] = stopped, continued
    assert progress.discards(cell, now) is dropped
    assert not cell[progress.STOPPED]
