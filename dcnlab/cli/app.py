"""The program and its commands: ``@command`` adds one, with its heading and examples in the help."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer

from dcnlab.cli.custom import takes_custom, with_custom

F = TypeVar("F", bound=Callable[..., Any])

app = typer.Typer(
    name="dcnlab",
    help="Run data-centre networks whose servers relay packets: real hosts, real OpenFlow switches.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

#: The headings of `dcnlab --help`, and the order of commands below each.
PANELS = {
    "Labs": (
        "up", "ps", "info", "exec", "fail", "restore", "heal", "impair", "restart", "kill", "pause", "down",
        "logs", "run", "check", "chaos", "schema",
        "events", "explain", "flows", "capture", "view", "top", "replay", "api", "metrics", "services",
        "aacm",
        "reconfigure", "dissector", "attach", "detach",
    ),
    # After those made from measurement classes.
    "Measuring in a lab": ("traffic", "overload", "replicate", "kv"),
    "Networks, offline": (
        "list", "topology", "draw", "path", "tables", "paths", "complete-graph", "label", "automaton", "cost",
        "borel-search",
    ),
    "Measuring, offline": ("evaluate", "compare", "throughput", "sweep", "deadlock", "verify", "reproduce"),
    "Course": ("course", "grade"),
    "This machine": ("doctor", "plan", "machines", "demo", "mn-file"),
}  # fmt: skip

#: The command lines below each command's help; LAB stands for the name of a lab.  A test parses all of them.
EXAMPLES: dict[str, tuple[str, ...]] = {}

#: The commands whose plain command lines :mod:`dcnlab.cli.quick` reads: they ask a
#: running lab, or print what is known.
QUICK: set[str] = set()


def command(
    *examples: str,
    name: str = "",
    panel: str = "",
    custom: bool = False,
    quick: bool = False,
    **settings: Any,
) -> Callable[[F], F]:
    """Add a function as a command.

    ``examples`` stand below its help.  Its name is the function's with ``-`` for ``_`` unless given.
    ``panel`` is its heading if :data:`PANELS` does not list it.  ``custom`` adds the option ``--custom``,
    which commands with an argument for a topology or a scheme always have.  ``quick`` adds it to :data:`QUICK`.
    """

    def add(function: F) -> F:
        called = name or function.__name__.replace("_", "-")
        heading = panel or next((title for title, names in PANELS.items() if called in names), "Other")
        run = with_custom(function) if custom or takes_custom(function) else function
        EXAMPLES[called] = examples
        if quick:
            QUICK.add(called)
        below = "\n\n".join(("Examples:", *(f"[bold]{line}[/bold]" for line in examples)))
        app.command(called, rich_help_panel=heading, epilog=below, **settings)(run)
        return function

    return add


def sort_commands() -> None:
    """Bring the commands into the order of :data:`PANELS`; those that it does not list come first."""
    headings = list(PANELS)

    def position(info: Any) -> tuple[int, int]:
        names = PANELS.get(info.rich_help_panel, ())
        heading = headings.index(info.rich_help_panel) if info.rich_help_panel in PANELS else len(headings)
        return heading, names.index(info.name) if info.name in names else -1

    app.registered_commands.sort(key=position)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"dcnlab {version('dcnlab')}")
        raise typer.Exit


def _log_everything(wanted: bool) -> None:
    if wanted:
        from dcnlab.lab import log

        os.environ[log.LEVEL] = "DEBUG"  # the processes of a lab inherit it
        log.set_up("dcnlab", sys.stderr)


@app.callback()
def program(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version.")
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            "-v",
            is_eager=True,
            callback=_log_everything,
            help="Log every step and the tracebacks of errors: here, and in the logs of new labs.",
        ),
    ] = False,
) -> None:
    """Run data-centre networks whose servers relay packets: real hosts, real OpenFlow switches."""
