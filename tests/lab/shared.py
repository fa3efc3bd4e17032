"""A lab that many tests share: one for all of a run, as the pytest plugin gives it to users.

    @pytest.mark.lab
    @on_shared_lab
    def test_something(lab: Lab) -> None: ...

A test may fail links, impair them and run programs that end with it: the plugin undoes that, and replaces a lab
that is not as it was.  The journal and the keys in its stores are common to all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

#: The fixture `lab` is then that lab; the tests run on one worker, one after the other.
SHARED = (
    pytest.mark.dcnlab("bcube:2,1", scheme="brp", scope="session"),
    pytest.mark.xdist_group("shared lab"),
)


def on_shared_lab(test: Callable[..., Any]) -> Callable[..., Any]:
    """Give a test that lab as its fixture `lab`."""
    for mark in SHARED:
        test = mark(test)
    return test
