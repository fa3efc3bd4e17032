"""What type checkers say of labs in Python: mypy reads this file (``make lint``), nothing runs it.

An ignored error that mypy does not find is an error.
"""

from __future__ import annotations

from typing import assert_type

from dcnlab import Lab


def right(lab: Lab) -> None:
    """Results and options have types."""
    Lab("bcube:4,1", scheme="brp", multipath=2, load_balance="flow")
    assert_type(lab.fail("h0", "s0").converged_ms, float)
    assert_type(lab.iperf("h0", "h1", seconds=2).mbps, float)
    assert_type(lab.info().controller.connected, int)
    assert_type(lab.capture("h0", "h0.pcap").stop().bytes, int)


def wrong(lab: Lab) -> None:
    """Wrong options, arguments and names are found."""
    Lab("bcube:4,1", scheme="brp", multipath="two")  # type: ignore[arg-type]
    Lab("bcube:4,1", scheme="brp", load_balance="random")  # type: ignore[arg-type]
    Lab("bcube:4,1", colour="blue")  # type: ignore[call-arg]
    lab.ping("h0", "h1", seconds="long")  # type: ignore[call-arg]
    lab.pign("h0", "h1")  # type: ignore[attr-defined]
