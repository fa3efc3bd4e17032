"""Pings of all pairs where many are lost: each is waited for, but not one after the other."""

from __future__ import annotations

import time
from typing import Any

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.measurement.ping import Ping

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("labs")]

_PATIENCE = 3.0


def test_lost_requests_hold_up_no_others_and_are_counted_as_done() -> None:
    heard: list[dict[str, Any]] = []
    with Lab("bcube:4,1", "brp") as lab:
        begun = time.monotonic()
        assert lab.measure(Ping(timeout=_PATIENCE)).sent == 240
        answered = time.monotonic() - begun
        lab.ask("fail", kind="node", names=["h0"])
        begun = time.monotonic()
        pings = lab.measure(Ping(timeout=_PATIENCE), heard.append)
        took = time.monotonic() - begun
    assert sorted(pings.lost) == sorted(
        pair for n in range(1, 16) for pair in (("h0", f"h{n}"), (f"h{n}", "h0"))
    )
    assert heard[-1]["done"] == heard[-1]["of"] == pings.sent == 240
    # Four at a time, 30 lost requests would take 30 / 4 times as long as one, beside those answered.
    assert _PATIENCE < took < 15 * _PATIENCE / 4 + 3 * answered
