"""What the evaluator predicts of flows that were measured in a lab."""

from __future__ import annotations

from dcnlab.evaluator.traffic.completion import predict
from dcnlab.lab.client import Lab
from dcnlab.lab.config import resolve
from dcnlab.lab.measurement.traffic import Traffic, TrafficResult
from dcnlab.traffic.completion import SizeBin
from dcnlab.traffic.workload import draw
from topos import plugins
from topos.graph import LinkState


def predicted(lab: Lab, wanted: Traffic, measured: TrafficResult) -> list[SizeBin]:
    """The same flows offline, under the same scheme and failures: they share the links max-min fairly.

    Links have the rate that the measurement had, and every flow takes the median of its bases longer.
    """
    info = lab.info()
    plugins.load(info["custom"])
    _, scheme = resolve(info["topology"], info["scheme"])
    rate = measured.rate_mbps * 1e6
    workload = draw(scheme.fabric, wanted.demand(measured.load, rate if measured.load else 1.0))
    down = LinkState(frozenset(info["down"]))
    return list(predict(scheme, workload, rate, wanted.seed, down, base=measured.base_ms / 1000))
