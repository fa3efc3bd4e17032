"""The constants of verdicts follow from a record of runs beside busy loops."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.fidelity import SATURATIONS, TOLERANCES, Run, derive

#: A figure that is off by more than 5 % of 100, or is not.
figures = st.sampled_from([100.0, 103.0, 120.0, 60.0])


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """One of a delay to which the machine adds something, or one of a rate on a machine that is busy."""
    is_rate, figure = draw(st.booleans()), draw(figures)
    delays = () if is_rate else (figure,)
    added, load = draw(st.floats(0, 50)), draw(st.floats(0, 1))
    name = "rate" if is_rate else "ping"
    return Run(name, 0, figure, 100.0, added, added, delays, (), load, is_rate, draw(st.booleans()))


def unsound(run: Run, tolerance: float, saturated: float) -> bool:
    """A figure that is off, although the verdict with these constants is `valid`, written out once more."""
    if 95 <= run.figure <= 105 or run.otherwise:
        return False
    if run.is_rate:
        return run.load < saturated
    return run.figure >= run.added / tolerance


def sound_enough(some: list[Run], tolerance: float, saturated: float) -> bool:
    return sum(unsound(run, tolerance, saturated) for run in some) <= 0.05 * len(some)


@given(st.lists(runs(), min_size=1, max_size=60))
def test_the_constants_are_the_greatest_with_which_runs_are_sound(some: list[Run]) -> None:
    tolerance, saturated = derive(some)
    delays = [run for run in some if not run.is_rate]
    rates = [run for run in some if run.is_rate]
    enough = [value for value in TOLERANCES if sound_enough(delays, value, 1.0)]
    assert tolerance == max(enough, default=TOLERANCES[0])
    enough = [value for value in SATURATIONS if sound_enough(rates, tolerance, value)]
    assert saturated == max(enough, default=SATURATIONS[0])


def test_a_record_of_an_idle_machine_asks_for_nothing() -> None:
    right = Run("ping", 0, 100.0, 100.0, 1.0, 1.0, (100.0,), (), 0.1, False, False)
    assert derive([right] * 20) == (TOLERANCES[-1], SATURATIONS[-1])
