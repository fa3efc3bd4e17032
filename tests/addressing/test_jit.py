"""Who compiles kernels can be told of it."""

from __future__ import annotations

import numba

from addressing.jit import compilations


@numba.njit
def _doubled(value: int) -> int:
    return 2 * value


def test_compilations_are_heard_of_once_per_type() -> None:
    heard: list[str] = []
    with compilations(heard.append):
        assert _doubled(4) == 8
        assert heard == ["_doubled", ""]
        assert _doubled(5) == 10
        assert heard == ["_doubled", ""]
        assert _doubled(2.5) == 5.0
    assert heard == ["_doubled", ""] * 2
    assert _doubled(1j) == 2j
    assert len(heard) == 4
