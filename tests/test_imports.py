"""What every lab waits for imports nothing that takes long: a launch is mostly Python's own start-up."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"scipy", "networkx", "numba", "matplotlib", "pymetis", "pandas", "scapy", "mininet", "pydantic"}
ASK = "import sys, {module}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"


@pytest.mark.parametrize(
    "module", ["lab.cli.app", "lab.session", "lab.operations", "hostagent.zygote", "controller.__main__"]
)
def test_a_process_of_a_lab_starts_light(module: str) -> None:
    words = [sys.executable, "-c", ASK.format(module=module)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert module.partition(".")[0] in done.stdout.split()
    assert HEAVY.isdisjoint(done.stdout.split())
