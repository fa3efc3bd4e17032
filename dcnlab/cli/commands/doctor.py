"""``dcnlab doctor``: check this machine."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated, NoReturn

import typer

from dcnlab.cli.app import command
from dcnlab.cli.launching import stages
from dcnlab.cli.show import JsonFlag, print_json, table


@command("dcnlab doctor", "dcnlab doctor LAB", "dcnlab doctor --install", "dcnlab doctor --calibrate")
def doctor(
    lab: Annotated[str, typer.Argument(metavar="[LAB]", help="A lab to check, in place of the machine.")] = "",
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Try TCP with and without offloads; later labs use the faster."),
    ] = False,
    install: Annotated[
        bool,
        typer.Option("--install", help="Install missing packages: ask, then apt; else print the command."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --install: do not ask.")] = False,
    json: JsonFlag = False,
) -> None:
    """Check this machine and explain what is missing, or which process of a lab is not well; exit 1 then."""
    if lab:
        _lab(lab, json)
    from dcnlab.lab.doctor.calibration import calibrate_offloads
    from dcnlab.lab.doctor.checks import examine, examine_labs

    if install:
        _install(yes)
    results = examine()
    if calibrate and not any(finding.state == "missing" for finding in results):
        with stages(quiet=json) as stage:
            results.append(calibrate_offloads(stage))
    results += examine_labs()
    if json:
        print_json([asdict(finding) for finding in results])
    else:
        table(("state", "what", "found", "means"), [(f.state, f.what, f.found, f.means) for f in results])
    raise typer.Exit(1 if any(finding.state == "missing" for finding in results) else 0)


def _lab(name: str, json: bool) -> NoReturn:
    """Say what of a lab is not well."""
    from dcnlab.lab.doctor.lab import examine_lab

    findings = examine_lab(name)
    if json:
        print_json({"lab": name, "problems": findings})
    else:
        print(
            "\n".join(findings)
            or f"{name}: all processes are well, and all links and hosts are as the lab made them"
        )
    raise typer.Exit(1 if findings else 0)


def _install(yes: bool) -> None:
    """Install what is missing, after a question on the terminal; or print how."""
    from dcnlab.lab.doctor import installing

    missing = installing.missing()
    if not missing:
        print("no package is missing", file=sys.stderr)
        return
    plan = installing.plan(missing)
    for note in plan.notes:
        print(note, file=sys.stderr)
    if not plan.command:
        return
    line = " ".join(plan.command)
    ask = sys.stdin.isatty() and not yes
    if plan.automatic and (yes or (ask and typer.confirm(f"Run `{line}`?", default=True, err=True))):
        plan.run()
    else:
        print(f"to install what is missing: {line}", file=sys.stderr)
