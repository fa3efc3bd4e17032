"""``dcnlab verify``: proof that no packet loops, is lost or arrives elsewhere."""

from __future__ import annotations

import contextlib
import json as codec
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcnlab.cli.app import command
from dcnlab.cli.from_classes import measurements as measurement_commands
from dcnlab.cli.parameters.arguments import LabOrTopology
from dcnlab.cli.parameters.options import Seed
from dcnlab.cli.parameters.pairs import say_pairs
from dcnlab.cli.show import JsonFlag, print_json, table, working
from dcnlab.lab import naming
from dcnlab.lab.client import Lab
from dcnlab.lab.control.rpc import Absent, Disconnected
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.measurement.verify import Verify
from dcnlab.lab.options.config import resolve
from dcnlab.verifier.sweep import Question
from topos.graph import LinkState
from topos.spec import SpecError

if TYPE_CHECKING:
    from dcnlab.lab.instruments.proof import FoundViolation
    from dcnlab.verifier.checking import Report, Violation
    from dcnlab.verifier.sweep import Outcome
    from dcnlab.verifier.updates import UpdateReport
    from topos.fabric import Fabric

#: Seconds between two checks of --follow.
_PAUSE = 1.0
#: The orders of an update of which nothing is asked but that each node changes.
_ANYHOW = "any", "any, restored"
#: Violations of one failure that are shown.
_SHOWN = 5


@command(
    "dcnlab verify bcube:4,1 --scheme brp",
    "dcnlab verify torus:4x4 --scheme dor --failures links --unknown",
    "dcnlab verify torus:4x4 --scheme dor --update h0-h4",
    "dcnlab verify LAB",
    "dcnlab verify LAB --any-packet --json",
    "dcnlab verify LAB --follow",
    "dcnlab verify FOLDER --tables",
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
    update: Annotated[
        str,
        typer.Option(
            metavar="A-B",
            help="While tables change after that link fails: can packets loop or vanish in some order?",
        ),
    ] = "",
    follow: Annotated[
        bool,
        typer.Option("--follow", "-f", help="Check a lab every second: print what comes and what goes."),
    ] = False,
    tables: Annotated[
        bool,
        typer.Option("--tables", help="LAB is a folder: dumps of ovs-ofctl with links, or Hassel's tables."),
    ] = False,
    seed: Seed = 1,
    json: JsonFlag = False,
) -> None:
    """Prove that no packet loops, is lost, or arrives at a wrong host, from tables and the agents' rule.

    In a lab the tables are what is installed, by any controller; with --scheme they are what a scheme states.
    It is a proof over all packets and all choices among several next hops.  Exit 1 if something is violated.
    """
    if tables:
        if scheme or follow or (failures, unknown, update) != ("none", False, ""):
            raise UsageError("--tables is for files: leave out all other options but --json")
        _files(where, json)
        return
    if not scheme:
        if ":" in where:  # no lab has such a name
            raise UsageError(f"there is no lab named {where}; for a topology, add --scheme")
        if (failures, unknown, update) != ("none", False, ""):
            raise UsageError("--failures, --unknown and --update are for a topology: add --scheme")
        if follow:
            _follow(Lab.attach(where), Verify(any_packet, follow=True), json)
            return
        raise measurement_commands.run(where, Verify(any_packet), json)
    if follow:
        raise UsageError("--follow is for a running lab: leave out --scheme")
    if update:
        _update(where, scheme, update, json)
        return
    question = Question(failures, unknown, any_packet, seed)
    _offline(where, scheme, question, json)


def _offline(topology: str, scheme: str, question: Question, json: bool) -> None:
    from dcnlab.verifier.atoms import TooMany
    from dcnlab.verifier.sweep import sweep

    try:
        say_pairs([topology], "a smaller network of the family has the same rule")
        _, bound = resolve(topology, scheme)
        with working("verifying") as progress:
            outcomes = list(sweep(bound, question, scheme, progress))
    except TooMany as error:
        raise UsageError(f"--any-packet: {error}") from error
    except SpecError as error:
        raise UsageError(str(error)) from error
    held = all(outcome.held for outcome in outcomes)
    if json:
        failures = [outcome.as_dict() for outcome in outcomes]
        print_json({"topology": topology, "scheme": scheme, "held": held, "failures": failures})
    else:
        _show(outcomes)
    if not held:
        raise typer.Exit(1)


def _files(folder: str, json: bool) -> None:
    """Tables in files, of any network."""
    from dcnlab.verifier import files
    from dcnlab.verifier.atoms import TooMany
    from dcnlab.verifier.transfers import Unreadable

    try:
        with working("verifying"):
            reports = files.check(files.read(Path(folder)))
    except (Unreadable, TooMany) as error:
        raise UsageError(str(error)) from error
    held = all(report.held for report in reports)
    if json:
        print_json({"tables": folder, "held": held, "reports": [report.as_dict() for report in reports]})
    else:
        rows = [(f"{one.checked:,}", f"{one.states:,}", _verdict(one)) for one in reports]
        table(("packets", "states", "result"), rows)
        for report in reports:
            show_violations(report.violations)
    if not held:
        raise typer.Exit(1)


def _follow(lab: Lab, wanted: Verify, json: bool) -> None:
    """Print each violation that comes or goes, until the lab ends; with --json one object a line."""
    known: dict[tuple[str, ...], FoundViolation] = {}
    with contextlib.suppress(Disconnected, Absent, KeyboardInterrupt):
        while True:
            if (violations := _violations(lab, wanted)) is not None:
                for key, one in violations.items():
                    if key not in known:
                        _say("comes", one, json)
                for key, one in known.items():
                    if key not in violations:
                        _say("goes", one, json)
                known = violations
            time.sleep(_PAUSE)


def _violations(lab: Lab, wanted: Verify) -> dict[tuple[str, ...], FoundViolation] | None:
    """What is violated now; None, with a line, where a switch was away or tables changed all the time."""
    try:
        return {_identity(one): one for one in lab.measure(wanted).found}
    except (Disconnected, Absent, UsageError):
        raise
    except LabError as error:
        print(f"dcnlab: {error}; trying again", file=sys.stderr, flush=True)
        return None


def _identity(one: FoundViolation) -> tuple[str, ...]:
    """What tells a violation from others: not the packet that shows it, which may be another one next time."""
    return one.kind, one.reason, *one.path[-1:], *one.entries[-1:]


def _say(what: str, one: FoundViolation, json: bool) -> None:
    if json:
        print(codec.dumps({"event": what, "at": time.time(), **asdict(one)}), flush=True)
        return
    clock = time.strftime("%H:%M:%S")
    pairs = f"{len(one.pairs)} pair{'s' * (len(one.pairs) != 1)}"
    where = f"{one.kind} by {' '.join(one.path)}: {one.reason} ({pairs})"
    print(f"{clock} {what:6} {where}", flush=True)


def _update(topology: str, scheme: str, link: str, json: bool) -> None:
    """What packets can meet while tables change after a link has failed, and after it is restored."""
    from dcnlab.verifier.updates import Update

    fabric, bound = resolve(topology, scheme)
    links = LinkState(frozenset(_link(fabric, link)))
    orders: dict[str, list[UpdateReport]] = {}
    with working("verifying"):
        for update, order, which in (
            (Update(bound, links), "farthest first", ""),
            (Update(bound, links, restored=True), "nearest first", ", restored"),
        ):
            orders[f"any{which}"] = [update.check()]
            orders[order] = [*update.by_distance()]
            if (phased := update.in_phases()) is not None:
                orders[f"in phases{which}"] = [phased]
    held = not any(
        one.looping or one.vanishing or one.misdelivered for which in _ANYHOW for one in orders[which]
    )
    if json:
        answer: dict[str, Any] = {}
        for name, reports in orders.items():
            dicts = [one.as_dict() for one in reports]
            answer[name.replace(", ", "_").replace(" ", "_")] = dicts if "first" in name else dicts[0]
        print_json({"topology": topology, "scheme": scheme, "update": link, "held": held, "orders": answer})
    else:
        _show_update(orders)
    if not held:
        raise typer.Exit(1)


def _show_update(orders: Mapping[str, Sequence[UpdateReport]]) -> None:
    """Print the pairs that can meet a loop or vanish in each order, one report a turn; and one loop."""
    (whole,) = orders["any"]
    rows = []
    for name, turns in orders.items():
        counts = [(one.looping, one.vanishing, one.misdelivered, one.undecided) for one in turns]
        most = map(max, zip(*counts, strict=True)) if counts else (0, 0, 0, 0)
        rows.append((name, whole.pairs, len(whole.changed), *most))
    table(("order", "pairs", "nodes that change", "can loop", "can vanish", "wrong host", "undecided"), rows)
    example = next((one.example for turns in orders.values() for one in turns if one.example), None)
    if example is not None:
        print(f"\nloop: a packet from {example.pair[0]} to {example.pair[1]}: {' '.join(example.circle)}")
        print(f"  order    {example.order}")


def _link(fabric: Fabric, text: str) -> tuple[int, ...]:
    """The links that A-B names; names of nodes may contain a dash."""
    parts = text.split("-")
    for place in range(1, len(parts)):
        with contextlib.suppress(UsageError):
            return naming.links(fabric, "link", ("-".join(parts[:place]), "-".join(parts[place:])))
    raise UsageError(f"--update: there is no link {text}: name it by its two nodes, such as h0-s4")


def _show(outcomes: list[Outcome]) -> None:
    """Print a line for each failure, then the violations."""
    rows = [
        (
            one.failure.words, name.replace("_", " "), _checked(name, report), report.states, report.cut,
            one.entries, _verdict(report),
        )
        for one in outcomes
        for name, report in one.reports.items()
    ]  # fmt: skip
    table(("failure", "checked", "packets", "states", "pairs cut", "entries changed", "result"), rows)
    for one in outcomes:
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
