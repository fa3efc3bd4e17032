"""The throughput of flows of known sizes: by a scheme, and what any routing could carry."""

from __future__ import annotations

import numpy as np

from dcnlab.evaluator.optimum.beside import optimum_of
from dcnlab.traffic.completion import Throughput, wire_bits
from dcnlab.traffic.patterns import Traffic
from dcnlab.traffic.workload import Workload
from topos.arrays import Floats
from topos.fabric import Fabric
from topos.graph import ALL_UP, LinkState


def carried(
    fabric: Fabric, workload: Workload, seconds: Floats, rate: float, down: LinkState = ALL_UP
) -> Throughput | None:
    """The throughput of flows that take ``seconds`` each (NaN for one that does not arrive: it does not count),
    and of the optimum for all their bytes, on links of ``rate`` bits per second.

    None where no flow arrives.  Raises SpecError where the optimum is too large.
    """
    arrives = np.isfinite(seconds)
    if not arrives.any():
        return None
    payload = 8e-6 * float(workload.size[arrives].sum())
    sent = Traffic(
        "flows", workload.source[arrives], workload.destination[arrives], wire_bits(workload.size[arrives])
    )
    busiest = max(np.bincount(ends, sent.amounts).max() for ends in (sent.sources, sent.destinations))
    optimum = optimum_of(fabric, sent, down).optimum
    lower, upper = (payload * theta * rate / float(busiest) for theta in (optimum.lower, optimum.upper))
    last = float((workload.begin + seconds)[arrives].max())
    return Throughput(*(round(one, 3) for one in (payload / last, lower, upper)))
