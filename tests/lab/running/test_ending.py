"""Labs end once, whoever ends them."""

from __future__ import annotations

import os
import threading

import pytest

from dcnlab.lab.client import Lab

pytestmark = pytest.mark.lab


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
