"""A lab in a container that has the privileges of docs/container.md, and in ones that miss one.

The container's root file system is the machine's, covered by a layer of its own; `make container` does the same
in an image that it builds, also without root.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.capabilities import lacking
from tests.containers import Done, Engine, kernel_refuses

ROOT = Path(__file__).parents[3]
#: What the container sees is where it was: the interpreter, and this clone.
HERE = (f"--workdir={ROOT}", f"--env=PYTHONPATH={ROOT}", "--env=PATH=/usr/sbin:/usr/bin:/sbin:/bin")
UP = [
    sys.executable,
    "-P",
    "-m",
    "dcnlab.cli",
    *["up", "bcube:2,1", "--scheme", "brp", "--test", "pingall", "--json"],
]

pytestmark = [pytest.mark.lab, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """Podman with storage of its own, in memory: an overlay cannot lie upon another, which /tmp may be."""
    if shutil.which("podman") is None:
        lacking("not installed: podman")
    with tempfile.TemporaryDirectory(dir="/dev/shm", ignore_cleanup_errors=True) as name:
        made = Engine(("--root", f"{name}/storage", "--runroot", f"{name}/run"), ("--rootfs", "/:O"))
        try:
            made.way()
        except RuntimeError as error:
            if reason := kernel_refuses(Path(name)):
                pytest.skip(f"the kernel allows no containers: {reason}")
            lacking(f"the kernel allows containers, but podman starts none: {error}")
        yield made


def test_a_lab_runs_with_the_least_privileges(engine: Engine) -> None:
    done = engine.run(UP, options=HERE)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["received"] == 12


@pytest.mark.parametrize(
    ("withheld", "remedy"),
    [
        ("SYS_ADMIN", "give the container the capabilities SYS_ADMIN, NET_ADMIN and NET_RAW"),
        ("NET_ADMIN", "network interfaces are refused to root here: give the container"),
        ("NET_RAW", "packet sockets are refused to root here: give the container"),
        ("tun", "--device=/dev/net/tun"),
    ],
)
def test_one_that_is_missing_is_named_in_one_line(engine: Engine, withheld: str, remedy: str) -> None:
    done: Done = engine.run(UP, without=withheld, options=HERE)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert remedy in done.stderr
