"""Try what cannot be looked up: which offloads this machine's Open vSwitch passes TCP fastest with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lab.client import Lab
from lab.errors import LabError
from lab.settings import Settings

#: Two plain hosts, two switches, in a row.
NETWORK = "hypercube:1,hosts=1"
_SECONDS = 1.0


@dataclass(frozen=True)
class Trial:
    """A setting, what TCP made of it (Mb/s; 0 where it did not work), and what went wrong."""

    settings: Settings
    mbps: float
    trouble: str = ""


def probe(report: Callable[[str], None]) -> tuple[Trial, ...]:
    """Launch a small lab with each setting, the fastest one first."""
    trials = []
    for offloads in (True, False):
        report(f"offloads {'on' if offloads else 'off'}")
        trials.append(_try(Settings(offloads)))
    return tuple(sorted(trials, key=lambda trial: -trial.mbps))


def _try(settings: Settings) -> Trial:
    try:
        with Lab(NETWORK, "shortest", offloads=settings.offloads) as lab:
            return Trial(settings, float(lab.iperf("h0", "h1", _SECONDS)["mbps"]))
    except LabError as error:
        return Trial(settings, 0.0, str(error))
