"""Several rounds of flows are counted as one."""

from __future__ import annotations

import numpy as np

from dcnlab.lab.instruments.flows.run import Run, joined


def test_rounds_are_one_run() -> None:
    one = Run(np.array([0.1, np.nan]), {"timeout": 1}, 0.01, 0.5, np.array([True, True]))
    other = Run(np.array([0.3, 0.2]), {"timeout": 1, "reset": 2}, 0.02, 0.75, np.array([True, False]))
    run = joined([one, other])
    np.testing.assert_array_equal(run.seconds, [0.1, np.nan, 0.3, 0.2])
    assert run.decided.tolist() == [True, True, True, False]
    assert (run.errors, run.late, run.duration) == ({"timeout": 2, "reset": 2}, 0.02, 1.25)
