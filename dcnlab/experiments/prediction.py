"""What the evaluator predicts of flows that were measured in a lab."""

from __future__ import annotations

import logging
from dataclasses import replace

from dcnlab.lab.client import Lab
from dcnlab.lab.contract.lab import LabInfo
from dcnlab.lab.errors import LabError
from dcnlab.lab.measurement.traffic import Traffic, TrafficResult
from dcnlab.lab.options.config import resolve
from dcnlab.lab.scenario.runner import FlowsMeasured, ScenarioResult
from dcnlab.traffic.completion import SizeBin
from dcnlab.traffic.workload import draw
from topos import plugins
from topos.graph import LinkState
from topos.spec import SpecError

_log = logging.getLogger(__name__)


def predicted(lab: Lab, wanted: Traffic, measured: TrafficResult) -> list[SizeBin]:
    """The same flows offline, under the same scheme and failures: they share the links max-min fairly.

    Links have the rate that the measurement had, and every flow takes the median of its bases longer.
    """
    return _predicted(lab.info(), wanted, measured)


def with_predictions(outcome: ScenarioResult) -> ScenarioResult:
    """The outcome of a scenario with a prediction for each of its flows, as :func:`predicted`.

    Links are down as they were when the flows began; failures during the flows are not predicted.
    """
    flows = {name: replace(one, predicted=_bins(one)) for name, one in outcome.flows.items()}
    return replace(outcome, flows=flows)


def _bins(one: FlowsMeasured) -> tuple[SizeBin, ...]:
    """The prediction; none, with a line in the log, for what only a lab can do."""
    try:
        return tuple(_predicted(one.info, one.wanted, one.measured))
    except (SpecError, LabError) as error:
        _log.warning("no prediction of flows: %s", error)
        return ()


def _predicted(info: LabInfo, wanted: Traffic, measured: TrafficResult) -> list[SizeBin]:
    from dcnlab.evaluator.traffic.completion import predict  # the evaluator: only for flows

    plugins.load(info.custom)
    _, scheme = resolve(info.topology, info.scheme)
    rate = measured.rate_mbps * 1e6
    workload = draw(scheme.fabric, wanted.demand(measured.load, rate if measured.load else 1.0))
    down = LinkState(frozenset(info.down))
    return list(predict(scheme, workload, rate, wanted.seed, down, base=measured.base_ms / 1000))
