"""What the evaluator predicts of flows that were measured in a lab."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import NamedTuple

from dcnlab.lab.client import Lab
from dcnlab.lab.contract.lab import LabInfo
from dcnlab.lab.errors import LabError
from dcnlab.lab.measurement.traffic import Traffic, TrafficResult
from dcnlab.lab.options.config import resolve
from dcnlab.lab.scenario.runner import FlowsMeasured, ScenarioResult
from dcnlab.traffic.completion import SizeBin, Throughput, ideal, summarise
from dcnlab.traffic.workload import draw
from topos import plugins
from topos.graph import LinkState
from topos.spec import SpecError

_log = logging.getLogger(__name__)


class Prediction(NamedTuple):
    """Flows offline: their times by size, and their throughput beside the optimum, if any of them arrives."""

    bins: tuple[SizeBin, ...]
    throughput: Throughput | None


def predicted(lab: Lab, wanted: Traffic, measured: TrafficResult) -> Prediction:
    """The same flows offline, under the same scheme and failures: they share the links max-min fairly.

    Links have the rate that the measurement had, and every flow takes the median of its bases longer.
    """
    return _predicted(lab.info(), wanted, measured)


def with_predictions(outcome: ScenarioResult) -> ScenarioResult:
    """The outcome of a scenario with a prediction for each of its flows, as :func:`predicted`.

    Links are down as they were when the flows began; failures during the flows are not predicted.
    """
    return replace(outcome, flows={name: _with_prediction(one) for name, one in outcome.flows.items()})


def _with_prediction(one: FlowsMeasured) -> FlowsMeasured:
    """With the prediction; without one, and with a line in the log, for what only a lab can do."""
    try:
        prediction = _predicted(one.info, one.wanted, one.measured)
    except (SpecError, LabError) as error:
        _log.warning("no prediction of flows: %s", error)
        return one
    return replace(one, predicted=prediction.bins, throughput=prediction.throughput)


def _predicted(info: LabInfo, wanted: Traffic, measured: TrafficResult) -> Prediction:
    from dcnlab.evaluator.optimum.carried import carried  # the evaluator: only for flows
    from dcnlab.evaluator.traffic.completion import completion_times

    plugins.load(info.custom)
    _, scheme = resolve(info.topology, info.scheme)
    rate = measured.rate_mbps * 1e6
    workload = draw(scheme.fabric, wanted.demand(measured.load, rate if measured.load else 1.0))
    down = LinkState(frozenset(info.down))
    base = measured.base_ms / 1000
    seconds = completion_times(scheme, workload, rate, wanted.seed, down).seconds + base
    bins = summarise(workload.size, seconds, ideal(workload.size, rate, base))
    return Prediction(bins, carried(scheme.fabric, workload, seconds, rate, down))
