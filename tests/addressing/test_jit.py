"""Callers are notified when kernels are compiled."""

from __future__ import annotations

import numba

from addressing.jit import compilations


@numba.njit
def _doubled(value: int) -> int:
    return 2 * value


def test_compilations_are_reported_once_per_type() -> None:
    names: list[str] = []
    with compilations(names.append):
        assert _doubled(4) == 8
        assert names == ["_doubled", ""]
        assert _doubled(5) == 10
        assert names == ["_doubled", ""]
        assert _doubled(2.5) == 5.0
    assert names == ["_doubled", ""] * 2
    assert _doubled(1j) == 2j
    assert len(names) == 4
