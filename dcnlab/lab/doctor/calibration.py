"""`dcnlab doctor --calibrate`: measure TCP with and without offloads and keep the faster setting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dcnlab.lab.client import Lab
from dcnlab.lab.doctor.checks import Finding
from dcnlab.lab.errors import LabError
from dcnlab.lab.measurement.iperf import Iperf
from dcnlab.lab.settings import Settings, save

#: Two plain hosts and two switches in a row.
NETWORK = "hypercube:1,hosts=1"
_SECONDS = 1.0
#: The settings in words.
_WITH = {True: "with offloads", False: "without offloads"}


@dataclass(frozen=True)
class Trial:
    """A setting, TCP throughput with it (Mb/s; 0 if it failed), and the error."""

    settings: Settings
    mbps: float
    error: str = ""


def calibrate(report: Callable[[str], None]) -> tuple[Trial, ...]:
    """Launch a small lab with each setting; the fastest first."""
    trials = []
    for offloads in (True, False):
        report(f"offloads {'on' if offloads else 'off'}")
        trials.append(_try(Settings(offloads)))
    return tuple(sorted(trials, key=lambda trial: -trial.mbps))


def _try(settings: Settings) -> Trial:
    try:
        with Lab(NETWORK, "shortest", offloads=settings.offloads) as lab:
            return Trial(settings, lab.measure(Iperf("h0", "h1", _SECONDS)).mbps)
    except LabError as error:
        return Trial(settings, 0.0, str(error))


def calibrate_offloads(report: Callable[[str], None]) -> Finding:
    """Try the offload settings and save the fastest for later labs."""
    trials = calibrate(report)
    rates = ", ".join(f"{trial.mbps:,.0f} Mb/s {_WITH[trial.settings.offloads]}" for trial in trials)
    best = trials[0]
    if not best.mbps:
        return Finding("offloads", "missing", rates, f"TCP does not work: {best.error}")
    save(best.settings)
    return Finding("offloads", "ok", rates, f"labs run {_WITH[best.settings.offloads]} from now on")
