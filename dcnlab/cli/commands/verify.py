"""``dcnlab verify``: proof that no packet loops, is lost or arrives elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from dcnlab.cli import measurement_commands
from dcnlab.cli.app import command
from dcnlab.cli.arguments import LabOrTopology
from dcnlab.cli.options import Seed
from dcnlab.cli.show import JsonFlag, print_json, table, working
from dcnlab.lab.errors import UsageError
from dcnlab.lab.measurement.verify import Verify
from dcnlab.lab.options.config import resolve
from dcnlab.verifier.sweep import Question
from topos.spec import SpecError

if TYPE_CHECKING:
    from dcnlab.verifier.checking import Report, Violation
    from dcnlab.verifier.sweep import Outcome

#: Violations of one failure that are shown.
_SHOWN = 5


@command(
    "dcnlab verify bcube:4,1 --scheme brp",
    "dcnlab verify torus:4x4 --scheme dor --failures links --unknown",
    "dcnlab verify LAB",
    "dcnlab verify LAB --any-packet --json",
)
def verify(
    where: LabOrTopology,
    scheme: Annotated[str, typer.Option(help="The routing scheme (for a topology).")] = "",
    failures: Annotated[
        str,
        typer.Option(
            help="After which failures: none, links (each one), nodes (each one), pairs:50 (of links)."
        ),
    ] = "none",
    unknown: Annotated[
        bool, typer.Option("--unknown", help="Also while only the ends of a failed link know of it.")
    ] = False,
    any_packet: Annotated[
        bool,
        typer.Option("--any-packet", help="Also all other packets that servers could send: none may loop."),
    ] = False,
    seed: Seed = 1,
    json: JsonFlag = False,
) -> None:
    """Prove that no packet loops, is lost, or arrives at a wrong host, from tables and the agents' rule.

    In a lab the tables are what is installed, by any controller; with --scheme they are what a scheme states.
    It is a proof over all packets and all choices among several next hops.  Exit 1 if something is violated.
    """
    if not scheme:
        if (failures, unknown) != ("none", False):
            raise UsageError("--failures and --unknown are for a topology: add --scheme, or leave them out")
        raise measurement_commands.run(where, Verify(any_packet), json)
    question = Question(failures, unknown, any_packet, seed)
    _offline(where, scheme, question, json)


def _offline(topology: str, scheme: str, question: Question, json: bool) -> None:
    from dcnlab.verifier.atoms import TooMany
    from dcnlab.verifier.sweep import sweep

    _, bound = resolve(topology, scheme)
    try:
        with working("verifying") as progress:
            found = list(sweep(bound, question, scheme, progress))
    except (SpecError, TooMany) as error:
        raise UsageError(str(error)) from error
    held = all(outcome.held for outcome in found)
    if json:
        outcomes = [outcome.as_dict() for outcome in found]
        print_json({"topology": topology, "scheme": scheme, "held": held, "failures": outcomes})
    else:
        _show(found)
    if not held:
        raise typer.Exit(1)


def _show(found: list[Outcome]) -> None:
    """Print a line for each failure, then the violations."""
    rows = [
        (
            one.failure.words, name.replace("_", " "), _checked(name, report), report.states, report.cut,
            one.entries, _verdict(report),
        )
        for one in found
        for name, report in one.reports.items()
    ]  # fmt: skip
    table(("failure", "checked", "packets", "states", "pairs cut", "entries changed", "result"), rows)
    for one in found:
        for name, report in one.reports.items():
            heading = f"{one.failure.words}, {name.replace('_', ' ')}" if one.failure.links else ""
            show_violations(report.violations, heading)


def _checked(name: str, report: Report) -> str:
    return f"{report.checked:,} " + ("starts" if name == "any_packet" else "pairs")


def _verdict(report: Report) -> str:
    counts = ", ".join(f"{kind.value} {count:,}" for kind, count in report.concerned.items())
    return (counts or "holds") + (f", not analysed {report.unanalysed:,}" if report.unanalysed else "")


def show_violations(violations: Iterable[Violation], heading: str = "") -> None:
    """Print violations: the packet, its path with entries, and a command that shows it."""
    every = list(violations)
    for one in every[:_SHOWN]:
        print(f"\n{heading + ': ' if heading else ''}{one.kind.value}: {one.reason}")
        print(f"  packet   {one.packet}")
        print(f"  path     {' '.join(one.path)}")
        for node, entry in dict.fromkeys(zip(one.path, one.entries, strict=True)):
            print(f"  {node:8} {entry}")
        if one.pairs:
            some = ", ".join(f"{a} -> {b}" for a, b in one.pairs[:3])
            print(f"  pairs    {len(one.pairs):,}: {some}{', ...' if len(one.pairs) > 3 else ''}")
        if one.command:
            print(f"  see it   {one.command}")
    if len(every) > _SHOWN:
        print(f"\n{heading + ': ' if heading else ''}{len(every) - _SHOWN} more; --json shows all")
