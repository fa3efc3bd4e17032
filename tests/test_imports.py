"""What every lab waits for imports nothing that takes long: a launch is mostly Python's own start-up."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"scipy", "networkx", "numba", "matplotlib", "pymetis", "pandas", "scapy", "mininet", "pydantic"}
ASK = "import sys, {module}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"


@pytest.mark.parametrize(
    "module",
    [
        "dcnlab.cli.program",
        "dcnlab.lab.running.lab",
        "dcnlab.lab.session.operations",
        "hostagent.runtime.supervisor",
        "controller.__main__",
    ],
)
def test_a_process_of_a_lab_starts_light(module: str) -> None:
    found = imported(module)
    assert module.partition(".")[0] in found
    assert HEAVY.isdisjoint(found)


def test_agents_import_no_threading() -> None:
    """What it does in every forked child makes an agent a third larger (`python -m benchmarks agents`)."""
    assert "threading" not in imported("hostagent.runtime.supervisor")


def imported(module: str) -> list[str]:
    """The packages that a process has imported once it has imported this module."""
    words = [sys.executable, "-c", ASK.format(module=module)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
