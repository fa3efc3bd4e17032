"""Labs end once, whoever ends them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
from collections.abc import Iterator

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.control import holders
from tests.lab.lines import dcnlab
from tests.lab.stopping import process_of
from tests.ovs import poll

pytestmark = pytest.mark.lab

_SEIZE = 0x4206


def test_a_lab_that_two_threads_end_closes_each_descriptor_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closed twice, its number may be that of another lab, which would end then."""
    lab, close, closed = Lab("bcube:2,1", scheme="brp").start(), os.close, list[tuple[int, int]]()

    def closing(number: int) -> None:
        closed.append((number, os.fstat(number).st_ino))
        if len(closed) == 1:  # the other thread comes before the kernel has closed it
            other = threading.Thread(target=lab.stop)
            other.start()
            other.join()
        close(number)

    monkeypatch.setattr(os, "close", closing)
    lab.stop()
    assert len(closed) == len(set(closed)) >= 1


def test_the_name_of_a_lab_is_free_while_the_kernel_still_removes_what_it_had() -> None:
    with Lab("torus:2", "pow") as first, contextlib.ExitStack() as kept:
        name, guard, inside = first.config.name, first.guard_pid, holders.namespace(first.guard_pid)
        kept.enter_context(unremoved(process_of(name, "supervisor")))
        assert dcnlab("down", name).returncode == 0
        assert list(holders.inside(inside))
        with Lab("torus:2", "pow", name=name) as second:
            assert second.ping("h0", "h1").held
            kept.close()
            poll(lambda: holders.state_of(guard) in ("", "Z"), 60)
            assert dcnlab("ping", name, "h0", "h1").returncode == 0


@contextlib.contextmanager
def unremoved(pid: int) -> Iterator[None]:
    """Until the block ends the kernel cannot remove a process: it waits for the one that traces that."""
    trace = ctypes.CDLL(None, use_errno=True).ptrace
    assert trace(ctypes.c_long(_SEIZE), ctypes.c_long(pid), None, None) == 0, os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        while not os.WIFSIGNALED(os.waitpid(pid, 0)[1]):
            pass
