"""What all labs of a test run share: room in the kernel's table of neighbours, a folder for their sockets."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab import forked
from tests.lab.cluster import Cluster, Machines, cluster, servers

LIMIT = Path("/proc/sys/net/ipv4/neigh/default/gc_thresh3")
ROOM = 16_384


@pytest.fixture(scope="session", autouse=True)
def room_for_neighbours() -> Iterator[None]:
    """The table is one for all namespaces, those that are still being removed included: labs of many plain
    hosts, one after the other, need more room in it than 1024.

    As `dcnlab doctor` advises; put back afterwards, unless another worker may still need it.
    """
    before = int(LIMIT.read_text())
    raised = before < ROOM and os.geteuid() == 0
    if raised:
        LIMIT.write_text(str(ROOM))
    yield
    if raised and "PYTEST_XDIST_WORKER" not in os.environ:
        LIMIT.write_text(str(before))


@pytest.fixture(scope="session", autouse=True)
def own_labs() -> Iterator[None]:
    """A worker sees no labs but its own: not the user's, and not those of the worker beside it."""
    with tempfile.TemporaryDirectory(prefix="dcnlab-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)
        yield


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of programs that do not import everything again for each command."""
    with forked.programs(tmp_path_factory.mktemp("programs")) as folder:
        yield folder


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three machines, which are namespaces, with a scheduler and workers."""
    with cluster(3, tmp_path_factory.mktemp("cluster")) as machines:
        yield machines


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Three machines, which are namespaces, with a server each at a Unix socket."""
    with servers(3, tmp_path_factory.mktemp("servers")) as machines:
        yield machines
