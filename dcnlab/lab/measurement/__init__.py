"""Measurements of a running lab: every file is one, found by its name.

What they are made with is in ``dcnlab.lab.instruments``.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from dcnlab.lab.instruments.measurement import Measurement
from topos.plugins import Registry


@cache
def known() -> Registry[Measurement[Any]]:
    """All measurements by name: this program's, those of installed packages, those of ``--custom`` files."""
    return Registry(sys.modules[__name__], Measurement, "measurement", "dcnlab.measurements")
