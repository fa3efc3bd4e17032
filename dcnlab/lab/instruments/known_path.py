"""What is known of the path between two servers before anything is measured: the impairments of its links."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dcnlab.lab.options.link_shape import Direction, Shape, bits_per_second, in_units

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dcnlab.lab.network.measured_lab import MeasuredLab

#: The options that have the kernel forward for relays and for switches.
RELAYS, SWITCHES = "--fast-path on", "--switch-fast-path auto"
#: An exchange that takes longer than all but this share of exchanges has failed.
_UNLIKELY = 0.001
#: Seconds of retransmissions at most: TCP doubles the time between two of them.
_LONGEST = 60.0
#: Bits that wait before a link with a rate at most, unless its queue is shorter: 1000 full frames.
_QUEUED = 1000 * 1514 * 8


@dataclass(frozen=True)
class KnownPath:
    """What links impose: the round-trip time in seconds, the share of packets that they lose, and the lowest
    rate in bits per second, None without one; the options that would take nodes of the path from user space to
    the kernel; the share of packets that links lose in the other direction, None where both are alike; and how
    often links delay a packet and its answer."""

    rtt: float = 0.0
    loss: float = 0.0
    rate: float | None = None
    faster: tuple[str, ...] = ()
    loss_back: float | None = None
    delays: int = 0

    @classmethod
    def of(cls, there: Iterable[Shape], back: Iterable[Shape], faster: tuple[str, ...] = ()) -> KnownPath:
        """Make one from the impairments of the links on the path, in both directions."""
        on_the_way, returning = list(there), list(back)
        rtt = sum(in_units(shape.delay) + in_units(shape.jitter) for shape in on_the_way + returning)
        rates = [bits_per_second(shape.rate) for shape in on_the_way if shape.rate]
        loss, loss_back = _lost(on_the_way), _lost(returning)
        unlike = None if loss_back == loss else loss_back
        delays = sum(bool(shape.delay) for shape in on_the_way + returning)
        return cls(rtt, loss, min(rates, default=None), faster, unlike, delays)

    @property
    def losses(self) -> str:
        """The shares of packets that links lose, in words; empty where they lose none."""
        if self.loss_back is None:
            return f"{self.loss:.1%} of the packets per direction" if self.loss else ""
        return f"{self.loss:.1%} of the packets there and {self.loss_back:.1%} back"

    @property
    def tries(self) -> int:
        """How often a request must be sent until an answer is almost certain, each request and answer lost or
        not by chance; 0 where nothing is lost, or all."""
        back = self.loss if self.loss_back is None else self.loss_back
        unanswered = 1 - (1 - self.loss) * (1 - back)
        return math.ceil(math.log(_UNLIKELY) / math.log(unanswered)) if 0 < unanswered < 1 else 0

    @property
    def patience(self) -> float:
        """Seconds after which a request has failed that is sent again until it is answered, as TCP does."""
        again = min(2.0**self.tries - 1, _LONGEST)
        queued = min(_QUEUED / self.rate, _LONGEST) if self.rate else 0.0
        return 2 * self.rtt + queued + again


def between(lab: MeasuredLab, a: int, b: int, shapes: Mapping[Direction, Shape] | None = None) -> KnownPath:
    """The path that the scheme takes between two servers now, where links have these ``shapes``; nothing is
    known without a path, or of hosts that were added (below zero)."""
    from addressing.scheme import path

    nodes: Sequence[int] = (path(lab.scheme, a, b, lab.links) or ()) if min(a, b) >= 0 else ()
    impairments = lab.impairments if shapes is None else shapes
    hops = [(lab.fabric.links_between(a, b)[0], a, b) for a, b in itertools.pairwise(nodes)]
    there = [impairments[link, a] for link, a, _ in hops if (link, a) in impairments]
    back = [impairments[link, b] for link, _, b in hops if (link, b) in impairments]
    return KnownPath.of(there, back, faster(lab, nodes))


def _lost(shapes: Sequence[Shape]) -> float:
    """The share of packets that links lose or damage one after the other."""
    return round(1 - math.prod((1 - in_units(one.loss)) * (1 - in_units(one.corrupt)) for one in shapes), 6)


def faster(lab: MeasuredLab, nodes: Sequence[int]) -> tuple[str, ...]:
    """The options that have the kernel forward where user space does now."""
    relays = lab.fabric.relaying and lab.config.fast_path == "off"
    switches = lab.config.switch_fast_path == "off" and any(not lab.fabric.is_server(node) for node in nodes)
    options = {RELAYS: relays, SWITCHES: switches}
    return tuple(option for option, helps in options.items() if helps)
