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


def test_a_kept_kernel_is_compiled_again_when_a_module_that_it_calls_changes(tmp_path: Path) -> None:
    """Also where that is inlined, and where another module lies between them."""
    (tmp_path / "inner.py").write_text("""
from addressing.jit import compiled, inlined

@inlined
def added(value):
    return value + 1

@compiled
def called(value):
    return value * 10
""")
    (tmp_path / "middle.py").write_text("""
import inner
from addressing.jit import compiled

@compiled
def through(value):
    return inner.called(value)
""")
    (tmp_path / "outer.py").write_text("""
from addressing.jit import compiled
from inner import added
from middle import through

@compiled
def outer(value):
    return added(value) + through(value)
""")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(tmp_path), *sys.path)),
        "NUMBA_CACHE_DIR": "",
    }
    code = "import outer; print(outer.outer(1), sum(outer.outer.stats.cache_hits.values()))"

    def ran() -> str:
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert [ran(), ran()] == ["12 0", "12 1"]
    inner = tmp_path / "inner.py"
    inner.write_text(inner.read_text().replace("value + 1", "value + 2"))
    assert [ran(), ran()] == ["13 0", "13 1"]
    inner.write_text(inner.read_text().replace("value * 10", "value * 20"))
    assert ran() == "23 0"
