"""The kernel's table of neighbours is one for all namespaces, those that are still being removed
included: labs of many plain hosts, one after the other, need more room in it than 1024."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

LIMIT = Path("/proc/sys/net/ipv4/neigh/default/gc_thresh3")
ROOM = 16_384


@pytest.fixture(scope="session", autouse=True)
def room_for_neighbours() -> Iterator[None]:
    """As `dcnlab doctor` advises; put back afterwards, unless another worker may still need it."""
    before = int(LIMIT.read_text())
    raised = before < ROOM and os.geteuid() == 0
    if raised:
        LIMIT.write_text(str(ROOM))
    yield
    if raised and "PYTEST_XDIST_WORKER" not in os.environ:
        LIMIT.write_text(str(before))
