"""Run the cases, and print how many of each kind are right on each data path."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.conformance import actions, groups, matching, pipeline
from benchmarks.conformance.case import Case
from benchmarks.conformance.running import peer, run, traced
from hostagent.options import FastPathMode

PATHS: dict[str, FastPathMode] = {"Open vSwitch": "off", "switch fast path": "on"}


@dataclass
class Outcome:
    """What is wrong with a case on each path (empty: nothing), what the trace says, packets by the kernel."""

    kind: str
    name: str
    wrong: dict[str, str]
    traced: bool | None = None
    by_kernel: int = 0


def every() -> list[Case]:
    """All cases, in the order of the specification's chapters."""
    parts = (matching.cases(), actions.cases(), pipeline.cases(), groups.cases())
    return [case for part in parts for case in part]


def outcomes(cases: list[Case], *, jobs: int = 1, report: Callable[[], None] = lambda: None) -> list[Outcome]:
    """Every case on each path, in so many labs at once for each; ``report`` is called after each."""
    pairs = [(case, Outcome(case.kind, case.name, {})) for case in cases]
    shares = [(path, pairs[number::jobs]) for path in PATHS for number in range(jobs)]
    with ThreadPoolExecutor(len(shares)) as pool:
        for waiting in [pool.submit(_run_on, path, some, report) for path, some in shares]:
            waiting.result()
    return [outcome for _, outcome in pairs]


def _run_on(path: str, pairs: Sequence[tuple[Case, Outcome]], report: Callable[[], None]) -> None:
    """Cases on one path, in one lab."""
    with peer(PATHS[path]) as one:
        for case, outcome in pairs:
            outcome.wrong[path] = run(one, case)
            if PATHS[path] == "on":
                outcome.by_kernel = one.ask(by_kernel=True)
            elif not outcome.wrong[path]:
                outcome.traced = traced(one, case)
            report()


def show(outcomes: list[Outcome], *, wrong: bool) -> None:
    """Print the table, and the cases that are wrong."""
    table = Table(
        "cases of", "number", *(f"right: {path}" for path in PATHS), "forwarded by the kernel", "trace agrees"
    )
    kinds = dict.fromkeys(one.kind for one in outcomes)
    for kind in [*kinds, "all"]:
        some = [one for one in outcomes if kind in (one.kind, "all")]
        told = [one.traced for one in some if one.traced is not None]
        right = (str(sum(not one.wrong[path] for one in some)) for path in PATHS)
        carried = sum(one.by_kernel > 0 for one in some)
        table.add_row(kind, str(len(some)), *right, str(carried), f"{sum(told)} of {len(told)}")
    print_table = Console(width=112)
    print_table.print(table)
    differing = [one for one in outcomes if len({bool(text) for text in one.wrong.values()}) > 1]
    print_table.print(
        f"right on one path only: {', '.join(f'{one.kind}/{one.name}' for one in differing) or 'none'}"
    )
    by_reason: dict[str, list[str]] = {}
    for one in outcomes:
        if text := next(filter(None, one.wrong.values()), ""):
            by_reason.setdefault(text.split(":")[0] if not wrong else text, []).append(f"{one.kind}/{one.name}")
    for reason, names in by_reason.items():
        shown = names if wrong else names[:3]
        print_table.print(
            f"wrong, {reason}: {len(names)}: {', '.join(shown)}{' ...' * (len(shown) < len(names))}"
        )


def main() -> int:
    """Run and print; 1 where a case is right on one path only."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks conformance")
    parser.add_argument("--only", default="", help="cases whose title contains this, such as match/VLAN")
    parser.add_argument("--wrong", action="store_true", help="name every case that is wrong, with the reason")
    parser.add_argument("--jobs", type=int, default=3, help="labs at once for each data path")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    cases = [case for case in every() if options.only in case.title]
    if not cases:
        parser.error(f"no case's title contains {options.only!r}")
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("cases", total=len(cases) * len(PATHS))
        results = outcomes(cases, jobs=options.jobs, report=lambda: progress.advance(task))
    if options.json:
        print(json.dumps([asdict(one) for one in results]))
    else:
        show(results, wrong=options.wrong)
    return int(any(len({bool(text) for text in one.wrong.values()}) > 1 for one in results))


if __name__ == "__main__":
    sys.exit(main())
