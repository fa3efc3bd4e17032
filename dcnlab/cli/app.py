"""The program and its commands: ``@command`` adds one, with its heading and examples in the help."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from dcnlab.cli import summaries
from dcnlab.cli.parameters.custom import takes_custom, with_custom

F = TypeVar("F", bound=Callable[..., Any])


class Commands(TyperGroup):
    """The commands that are imported; where all are listed, the others are there with their summaries."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, in the order of :data:`PANELS`."""
        self._add_others()
        return super().list_commands(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command of these words; the error for an unknown one names the nearest of all."""
        if args[0] not in self.commands:
            self._add_others()
        return super().resolve_command(ctx, args)

    def _add_others(self) -> None:
        others = {
            name: TyperCommand(
                name=name, help=text, rich_help_panel=_heading(name, MEASURING), rich_markup_mode="rich"
            )
            for name, text in summaries.commands().items()
        }
        every = {**others, **self.commands}
        self.commands = dict(sorted(every.items(), key=lambda item: _position(*item)))


app = typer.Typer(
    name="dcnlab",
    cls=Commands,
    help="Run data-centre networks whose servers relay packets: real hosts, real OpenFlow switches.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

#: The heading of measurements.
MEASURING = "Measuring in a lab"

#: The headings of `dcnlab --help`, and the order of commands below each.
PANELS = {
    "The first day": ("doctor", "up", "fail", "view", "down"),
    "Labs": (
        "ps", "info", "exec", "restore", "heal", "impair", "restart", "kill", "pause",
        "logs", "run", "check", "chaos", "schema",
        "events", "explain", "flows", "capture", "top", "replay", "api", "metrics", "services",
        "aacm",
        "reconfigure", "dissector", "attach", "detach", "add", "remove",
    ),
    # After those made from measurement classes.
    MEASURING: ("traffic", "overload", "replicate", "kv"),
    "Networks, offline": (
        "list", "topology", "draw", "path", "tables", "paths", "complete-graph", "label", "automaton", "size",
        "cost", "borel-search",
    ),
    "Measuring, offline": ("evaluate", "compare", "throughput", "sweep", "deadlock", "verify", "reproduce"),
    "Course": ("course", "grade"),
    "This machine": ("plan", "machines", "demo", "mn-file"),
}  # fmt: skip

#: The command lines below each command's help; LAB stands for the name of a lab.  A test parses all of them.
EXAMPLES: dict[str, tuple[str, ...]] = {}


def command(
    *examples: str,
    name: str = "",
    panel: str = "",
    custom: bool = False,
    **settings: Any,
) -> Callable[[F], F]:
    """Add a function as a command.

    ``examples`` stand below its help.  Its name is the function's with ``-`` for ``_`` unless given.
    ``panel`` is its heading if :data:`PANELS` does not list it.  ``custom`` adds the option ``--custom``,
    which commands with an argument for a topology or a scheme always have.
    """

    def add(function: F) -> F:
        called = name or function.__name__.replace("_", "-")
        heading = panel or _heading(called, "Other")
        run = with_custom(function) if custom or takes_custom(function) else function
        EXAMPLES[called] = examples
        below = "\n\n".join(("Examples:", *(f"[bold]{line}[/bold]" for line in examples)))
        app.command(called, rich_help_panel=heading, epilog=below, **settings)(run)
        return function

    return add


def _heading(name: str, otherwise: str) -> str:
    return next((heading for heading, names in PANELS.items() if name in names), otherwise)


def _position(name: str, command: Any) -> tuple[int, int]:
    """The heading's place, and the command's below it: first those that :data:`PANELS` does not list."""
    headings = list(PANELS)
    names = PANELS.get(command.rich_help_panel, ())
    place = headings.index(command.rich_help_panel) if command.rich_help_panel in headings else len(headings)
    return place, names.index(name) if name in names else -1


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
