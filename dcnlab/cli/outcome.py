"""The outcome of a scenario, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dcnlab.cli.show import table

if TYPE_CHECKING:
    from dcnlab.lab.scenario.runner import ScenarioResult


def show(outcome: ScenarioResult) -> None:
    """Print the results, flows by size beside what is predicted, and the verdicts on what was expected."""
    from dcnlab.lab.measurement.traffic import bins_table

    table(("result", "found"), [(name, _words(result)) for name, result in outcome.results.items()])
    for name, flows in outcome.flows.items():
        predicted = (("predicted", flows.predicted),) if flows.predicted else ()
        bins = bins_table(flows.measured.bins, *predicted)
        print()
        table((name, *bins.columns[1:]), bins.rows)
        if flows.throughput is not None:
            print(flows.throughput.line(flows.measured.mbps))
    for line in outcome.warnings():
        print(f"note: {line}")
    if not outcome.verdicts:
        return
    print()
    table(
        ("expected", "found", ""),
        [
            (verdict.expectation, _value(verdict.value), "holds" if verdict.held else "DOES NOT HOLD")
            for verdict in outcome.verdicts
        ],
    )


def _words(result: dict[str, Any]) -> str:
    """The figures; of the verdict on them one word, since a note has the rest."""
    short = {"verdict": str(result["verdict"]).partition(":")[0]} if "verdict" in result else {}
    return ", ".join(f"{figure} {_value(value)}" for figure, value in {**result, **short}.items())


def _value(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return "-" if value is None else str(value)
