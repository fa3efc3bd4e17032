"""The memory and the open files that a lab needs are checked before its launch."""

from __future__ import annotations

import subprocess

import psutil
import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.emulation.capacity import files_needed
from tests.lab.terminal import DCNLAB
from topos import registry

pytestmark = pytest.mark.lab


def _limited(limit: str, *words: str) -> subprocess.CompletedProcess[str]:
    """`dcnlab up` where few files may be open."""
    command = ["bash", "-c", f'ulimit {limit} && exec "$@"', "bash", *DCNLAB, "up", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)


def test_too_few_files_are_one_line() -> None:
    done = _limited("-n 60", "bcube:2,1", "--scheme", "brp", "--test", "pingpairs")
    assert done.returncode == 2
    assert done.stderr.startswith("dcnlab: bcube:2,1 needs up to ")
    assert done.stderr.endswith("open files and 60 are allowed (ulimit -Hn)\n")


def test_a_low_soft_limit_is_raised() -> None:
    """32 links; with the low limit `ip` would stop at the 29th."""
    done = _limited("-Sn 60", "bcube:4,1", "--scheme", "brp", "--test", "pingpairs")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("spec", "scheme"), [("bcube:2,1", "brp"), ("fattree:4", "shortest")])
def test_no_program_has_more_open_files_than_estimated(spec: str, scheme: str) -> None:
    with Lab(spec, scheme):
        most = max(program.num_fds() for program in psutil.Process().children(recursive=True))
    assert 60 < most <= files_needed(registry.fabric(spec))
