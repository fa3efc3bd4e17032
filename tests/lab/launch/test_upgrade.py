"""A lab whose program was replaced says so, and never mixes two versions."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcnlab.lab.control import upgrade

ROOT = Path(upgrade.__file__).parents[3]
#: What uses parts of the program that a launch does not need, or processes that are started again.
COMMANDS = (
    "ps", "explain LAB h0 h3", "trace LAB h0 h3", "counters LAB", "impair LAB h0 s0 --loss 1%",
    "kill LAB h1", "restart LAB controller", "kill LAB controller", "restart LAB agents",
    "invariants LAB --within 5", "ping LAB", "ps --json", "ps",
)  # fmt: skip
LAB = f"older-{os.getpid()}"
#: Seconds that none of them takes on an idle machine.
PATIENCE = 120


def test_a_newer_file_of_any_package_counts(tmp_path: Path) -> None:
    file = tmp_path / "topos" / "deep" / "new.py"
    file.parent.mkdir(parents=True)
    file.touch()
    begun = time.time()
    os.utime(file, (begun - 10, begun - 10))
    assert not upgrade.all_replaced(tmp_path, begun)
    os.utime(file, (begun + 10, begun + 10))
    assert upgrade.all_replaced(tmp_path, begun)


def put(packages: Path, folder: Path) -> None:
    """Install these packages in a folder, in place of others."""
    for package in upgrade._PACKAGES:
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(folder / package)
        shutil.copytree(packages / package, folder / package, copy_function=shutil.copy)


def run(folder: Path, words: str) -> str:
    """The output of a command of the program in a folder, which ends and shows no traceback."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "dcnlab.cli", *words.replace("LAB", LAB).split()],
        cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert "Traceback" not in done.stdout + done.stderr, (words, done.stdout, done.stderr)
    return done.stdout + done.stderr


@contextlib.contextmanager
def launched(folder: Path) -> Iterator[None]:
    run(folder, "up bcube:2,1 --scheme brp -d --name LAB")
    try:
        yield
    finally:
        assert "ended" in run(folder, "down LAB")


@pytest.mark.lab
def test_a_lab_whose_program_was_replaced_imports_nothing_of_the_new_one(tmp_path: Path) -> None:
    put(ROOT, tmp_path)
    with launched(tmp_path):
        shown = run(tmp_path, "ps")
        assert upgrade.NOTE not in shown
        assert upgrade.version().split()[0].partition("+")[0] in shown
        for file in ("measurement/trace.py", "inspection/explain.py", "running/local_machine.py"):
            with (tmp_path / "dcnlab/lab" / file).open("a") as text:
                text.write("NEWER = True\n")
        assert f"{LAB}: {upgrade.NOTE} (version " in run(tmp_path, "ps")
        for words in ("trace LAB h0 h1", "restart LAB controller", "restart LAB agents"):
            assert upgrade.NOTE in run(tmp_path, words).splitlines()[-1]
        assert "4/4" in run(tmp_path, "ping LAB h0 h3") or "1/1" in run(tmp_path, "ping LAB h0 h3")


@pytest.mark.lab
@pytest.mark.parametrize("back", [1, 100])
def test_a_lab_of_an_earlier_commit_answers_or_says_that_it_is_older(back: int, tmp_path: Path) -> None:
    archive = subprocess.run(
        ["git", "-C", str(ROOT), "archive", f"HEAD~{back}", *upgrade._PACKAGES],
        capture_output=True, check=False,
    )  # fmt: skip
    if archive.returncode:
        pytest.skip("this is no clone with that much history")
    earlier, used = tmp_path / "earlier", tmp_path / "used"
    earlier.mkdir()
    used.mkdir()
    subprocess.run(["tar", "-x", "-C", str(earlier)], input=archive.stdout, check=True)
    put(earlier, used)
    with launched(used):
        put(ROOT, used)
        for words in COMMANDS:
            output = run(used, words)
            told = upgrade.NOTE in output or "was replaced" in output
            unexpected = [kind for kind in ("Attribute", "Import", "Key", "Type") if f"{kind}Error" in output]
            assert told or not unexpected, (words, output)
