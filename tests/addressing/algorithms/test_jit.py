"""Callers are notified when kernels are compiled; threads of kernels sleep while they wait."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from addressing.jit import compilations
from tests import kernels
from tests.capabilities import lacking


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


@pytest.mark.parametrize(("given", "used"), [({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE")])
def test_threads_sleep_while_they_wait_unless_the_user_says_else(given: dict[str, str], used: str) -> None:
    others = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    code = "import addressing.jit, numba.np.ufunc.omppool, os; print(os.environ.get('OMP_WAIT_POLICY'))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=others | given | {"OMP_DISPLAY_ENV": "true"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "libgomp.so" in done.stderr:
        lacking("not installed: libgomp1; numba then has other threads")
    assert done.returncode == 0, done.stderr
    assert f"OMP_WAIT_POLICY = '{used}'" in done.stderr
    assert done.stdout.strip() == str(given.get("OMP_WAIT_POLICY"))


def test_kept_kernels_are_lent_with_the_stamps_of_the_clone(tmp_path: Path) -> None:
    stamps = ("of the kept", "of the clone")
    kept, lent = (kernels._index(str(tmp_path), name, name) for name in stamps)
    kept.save("int64", b"compiled")
    kept.save("float64", b"compiled as well")
    lent.save("float64", b"compiled here")
    kernels._copy(kept, lent)
    assert (lent.load("int64"), lent.load("float64")) == (b"compiled", b"compiled here")
    assert kernels._index(str(tmp_path), stamps[1], "of another text").load("int64") is None


def test_all_modules_with_kernels_are_known() -> None:
    names = {str(source.relative_to(kernels.ROOT)) for source in kernels.sources()}
    assert {"addressing/jit.py", "dcnlab/evaluator/graph/sweeps.py"} <= names
