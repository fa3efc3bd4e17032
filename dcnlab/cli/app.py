"""The program: it collects the commands, and turns an error into one line and an exit code."""

from __future__ import annotations

import importlib
import inspect
import io
import logging
import os
import pkgutil
import sys
import traceback
from functools import cache
from itertools import dropwhile
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from dcnlab.cli import examples
from dcnlab.cli.custom import takes_custom, with_custom
from dcnlab.cli.show import StdoutState, print_json
from dcnlab.lab import log
from dcnlab.lab.errors import LabError
from topos import plugins
from topos.spec import SpecError

#: The base class of errors in the command line itself, of which typer exports only subclasses.
_ParseError: Any = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException")

_log = logging.getLogger(__name__)

app = typer.Typer(
    name="dcnlab",
    help="Run data-centre networks whose servers relay packets: real hosts, real OpenFlow switches.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

#: The headings of `dcnlab --help`, and the modules whose commands stand below each, in this order.
_PANELS = {
    "Labs": ("running", "logs", "scenarios", "inspection", "autoconfiguration"),
    "Measuring in a lab": ("measurements", "congestion", "replication", "keys"),
    "Networks, offline": ("topologies", "multipath", "labels", "automaton", "costs", "borel_search"),
    "Measuring, offline": ("evaluation", "rates", "sweeping", "reproduction"),
    "This machine": ("machine",),
}


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"dcnlab {version('dcnlab')}")
        raise typer.Exit


def _log_everything(wanted: bool) -> None:
    if wanted:
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


def main() -> NoReturn:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal may not have all characters that we print
            stream.reconfigure(errors="replace")
    try:
        _import_commands()
        sys.exit(app(standalone_mode=False) or 0)
    except typer.Abort:
        sys.exit(130)
    except _ParseError as error:
        if not error.format_message():  # there was no command: typer has shown the help
            sys.exit(2)
        _fail(error.format_message().replace("Value error, ", ""), 2)  # the prefix is pydantic's
    except LabError as error:
        _fail(str(error), error.exit_code)
    except SpecError as error:  # a wrong file of a topology or scheme, which any command may find
        _fail(str(error), 2)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:  # such as a full disk, or a folder that was removed
        _fail(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error), 1)
    except Exception as error:
        if text := plugins.custom_error(error):
            _fail(text, 2)
        _fail(f"{type(error).__name__}: {error} (an error in dcnlab itself; {_keep_traceback()})", 1)


def _keep_traceback() -> str:
    """Write the traceback of the current exception to a file; a phrase that says where it is."""
    from dcnlab.lab import runtime

    try:
        file = runtime.directory() / "traceback.txt"
        file.write_text(traceback.format_exc())
    except (OSError, LabError):
        return "`dcnlab -v` shows the traceback"
    return f"the traceback is in {file}"


def _fail(text: str, code: int) -> NoReturn:
    """End with one line on standard error, and with ``--json`` one value on standard output as well."""
    _log.debug("exit %d", code, exc_info=True)
    line = " ".join(text.split())
    print(f"dcnlab: {line}", file=sys.stderr)
    if _wants_json(sys.argv[1:]) and not StdoutState.json:
        try:
            print_json({"error": line, "exit": code})
            sys.stdout.flush()
        except OSError:  # nobody reads it, so the rest of the output may go nowhere
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _wants_json(words: list[str]) -> bool:
    """Whether a command that has the option is given ``--json``; after ``exec LAB NODE`` it belongs to the
    user's program."""
    own = words[: words.index("--")] if "--" in words else words
    own = list(dropwhile(lambda word: word.startswith("-"), own))  # the program's own options
    return "--json" in own and any(
        own[0] == _name(command) and "json" in inspect.signature(command.callback).parameters
        for command in app.registered_commands
        if command.callback is not None
    )


def _name(command: Any) -> str:
    """The name of a command: its own, or that of its function."""
    return str(command.name or command.callback.__name__.replace("_", "-"))


def _is_command(words: list[str]) -> bool:
    """Whether the first word is a command of this program."""
    return words[:1] in [[_name(command)] for command in app.registered_commands]


@cache
def _import_commands() -> None:
    """Import the modules that define the commands, and sort the commands by heading."""
    for info in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if not info.name.startswith("_"):
            importlib.import_module(f"dcnlab.cli.{info.name}")
    if not _is_command(sys.argv[1:]):  # it may be a measurement from elsewhere
        sys.modules["dcnlab.cli.measurements"].add_others(sys.argv[1:])
    order = [(panel, module) for panel, modules in _PANELS.items() for module in modules]
    positions = {module: position for position, (_, module) in enumerate(order)}

    def position(command: Any) -> int:
        return positions.get(command.callback.__module__.rpartition(".")[2], len(order))

    app.registered_commands.sort(key=position)
    for command in app.registered_commands:
        assert command.callback is not None
        if takes_custom(command.callback):
            command.callback = with_custom(command.callback)
        command.rich_help_panel = (*order, ("Other", ""))[position(command)][0]
        command.epilog = examples.epilog(_name(command))
