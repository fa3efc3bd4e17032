"""The verdict on a result: whether the machine that emulates the network has spoiled it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

VALID = "valid"


class Timed(NamedTuple):
    """What of a result the machine may have spoiled: rates in Mb/s, delays in ms, of which ``tails`` are the
    longest, and the share of packets that a sender did not send in time."""

    rates: tuple[float, ...] = ()
    delays: tuple[float, ...] = ()
    tails: tuple[float, ...] = ()
    missed: float = 0.0


@dataclass(frozen=True)
class MachineVerdict:
    """``text`` is ``valid``, or ``machine-limited: `` and why; with the figures from which it follows.

    Rates above ``rate_bound_mbps`` and delays below ``delay_bound_ms`` mean nothing, for tails (99th
    percentiles, maxima) delays below ``tail_bound_ms``; there is no bound of rates where none was measured.
    ``waiting_percent`` is the share of the time in which the lab's processes needed a processor and had none;
    ``others_percent`` and ``stolen_percent`` are of all processors.  ``load_percent`` is how busy the
    ``busiest`` part of the lab was, waiting included.
    """

    valid: bool
    text: str
    rate_bound_mbps: float | None
    delay_bound_ms: float
    tail_bound_ms: float
    waiting_percent: float
    others_percent: float
    stolen_percent: float
    busiest: str
    load_percent: float
    late_p99_ms: float
    #: Bytes that waited on average before programs that forward.
    queued_bytes: float
    #: Packets that nobody read in time.
    dropped: int
    #: Packets that a sender did not send in time.
    missed_percent: float
    #: What would help, and how much.
    helps: list[str]

    def lines(self) -> Iterator[str]:
        """Say it in lines for people."""
        yield f"verdict: {self.text}"
        yield from (f"  would help: {one}" for one in self.helps)
