"""What is known of the path between two servers before anything is measured: the impairments of its links."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dcnlab.lab.options.link_shape import Shape, bits_per_second, in_units

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dcnlab.lab.instruments.measured_lab import MeasuredLab

#: An exchange that takes longer than all but this share of exchanges has failed.
_UNLIKELY = 0.001
#: Seconds of retransmissions at most: TCP doubles the time between two of them.
_LONGEST = 60.0
#: Bits that wait before a link with a rate at most, unless its queue is shorter: 1000 full frames.
_QUEUED = 1000 * 1514 * 8


@dataclass(frozen=True)
class KnownPath:
    """The round-trip time that links impose in seconds, the share of packets that they lose per direction, the
    lowest of their rates in bits per second, None without one, and the options that would take nodes of the
    path from user space to the kernel."""

    rtt: float = 0.0
    loss: float = 0.0
    rate: float | None = None
    faster: tuple[str, ...] = ()

    @classmethod
    def of(cls, shapes: Iterable[Shape], faster: tuple[str, ...] = ()) -> KnownPath:
        """From the impairments of the links on the path."""
        rtt, kept, rates = 0.0, 1.0, []
        for shape in shapes:
            rtt += 2 * (in_units(shape.delay) + in_units(shape.jitter))
            kept *= (1 - in_units(shape.loss)) * (1 - in_units(shape.corrupt))
            rates += [bits_per_second(shape.rate)] if shape.rate else []
        return cls(rtt, round(1 - kept, 6), min(rates, default=None), faster)

    @property
    def tries(self) -> int:
        """How often a request must be sent until an answer is almost certain, each request and answer lost or
        not by chance; 0 where nothing is lost, or all."""
        unanswered = 1 - (1 - self.loss) ** 2
        return math.ceil(math.log(_UNLIKELY) / math.log(unanswered)) if 0 < unanswered < 1 else 0

    @property
    def patience(self) -> float:
        """Seconds after which a request has failed that is sent again until it is answered, as TCP does."""
        again = min(2.0**self.tries - 1, _LONGEST)
        queued = min(_QUEUED / self.rate, _LONGEST) if self.rate else 0.0
        return 2 * self.rtt + queued + again


def between(lab: MeasuredLab, a: int, b: int, shapes: Mapping[int, Shape] | None = None) -> KnownPath:
    """The path that the scheme takes between two servers now, where links have these ``shapes``; nothing is
    known without a path."""
    from addressing.scheme import path

    nodes: Sequence[int] = path(lab.scheme, a, b, lab.links) or ()
    found = lab.impairments if shapes is None else shapes
    links = (lab.fabric.links_between(*hop)[0] for hop in itertools.pairwise(nodes))
    return KnownPath.of((found[link] for link in links if link in found), _faster(lab, nodes))


def _faster(lab: MeasuredLab, nodes: Sequence[int]) -> tuple[str, ...]:
    """The options that have the kernel forward where user space does now."""
    relays = lab.fabric.relaying and lab.config.fast_path == "off"
    switches = lab.config.switch_fast_path == "off" and any(not lab.fabric.is_server(node) for node in nodes)
    options = {"--fast-path on": relays, "--switch-fast-path auto": switches}
    return tuple(option for option, helps in options.items() if helps)
