"""Runs the program: an error is one line and an exit code."""

from __future__ import annotations

import inspect
import io
import os
import sys
import warnings
from itertools import dropwhile, takewhile
from typing import Any, NoReturn

import typer

from dcnlab.cli import words
from dcnlab.cli.app import app
from dcnlab.cli.loading import load
from dcnlab.cli.show import StdoutState, harmless, print_json
from dcnlab.lab.errors import LabError

#: The base class of errors in the command line itself, of which typer exports only subclasses.
_ParseError: Any = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException")

#: The notes about files that were printed.
_noted: set[str] = set()


def main() -> NoReturn:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal may not have every character that we print
            stream.reconfigure(errors="replace")
    warnings.showwarning = _show_warning
    try:
        load(sys.argv[1:] or _completed())
        words.keep()
        sys.exit(app(prog_name=app.info.name, standalone_mode=False) or 0)
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(130)
    except _ParseError as error:
        if not error.format_message():  # there was no command: typer has shown the help
            sys.exit(2)
        _fail(error.format_message().replace("Value error, ", ""), 2)  # the prefix is pydantic's
    except LabError as error:
        _fail(str(error), error.exit_code)
    except BrokenPipeError:  # nobody reads the output
        _discard_output()
        sys.exit(1)
    except OSError as error:  # such as a full disk, or a folder that was removed
        _fail(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error), 1)
    except Exception as error:
        _fail(*_describe(error))


def _completed() -> list[str]:
    """The words of the command line that a shell asks to complete, as far as they name a command."""
    typed = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    argv = typed.split()[1:] if "_DCNLAB_COMPLETE" in os.environ else []
    return argv if len(argv) > 1 else []


def _show_warning(message: Warning | str, category: type[Warning], *place: Any, **_: Any) -> None:
    """Print a note about a file once, as one line; other warnings as Python does."""
    if category.__name__ != "GraphNote":
        sys.stderr.write(warnings.formatwarning(message, category, *place[:2]))
    elif str(message) not in _noted:
        _noted.add(str(message))
        print(harmless(f"note: {message}"), file=sys.stderr)


def _discard_output() -> None:
    """Let the rest of the output go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _describe(error: Exception) -> tuple[str, int]:
    """The line and the exit code for an error that is none of the command line, the lab or the system."""
    from addressing.fields.ipv4 import AddressError
    from topos import plugins
    from topos.spec import SpecError

    # A wrong file of a topology or scheme, or labels that no packet holds: any command may find it.
    if isinstance(error, SpecError | AddressError):
        return str(error), 2
    if text := plugins.custom_error(error):
        return text, 2
    return f"{type(error).__name__}: {error} (an error in dcnlab itself; {_keep_traceback()})", 1


def _keep_traceback() -> str:
    """Write the traceback of the current exception to a file; a phrase that says where it is."""
    from dcnlab.lab.control import runtime

    try:
        file = runtime.directory() / "traceback.txt"
        import traceback  # after an error in the program itself

        file.write_text(traceback.format_exc())
    except (OSError, LabError):
        return "`dcnlab -v` shows the traceback"
    return f"the traceback is in {file}"


def _fail(text: str, code: int) -> NoReturn:
    """End with one line on standard error, and with ``--json`` one value on standard output as well."""
    if "logging" in sys.modules:  # else nobody would see it
        sys.modules["logging"].getLogger(__name__).debug("exit %d", code, exc_info=True)
    line = harmless(" ".join(text.split()))
    try:
        sys.stdout.flush()  # the error comes last where both go to one place
    except OSError:  # nobody reads it
        _discard_output()
    print(f"dcnlab: {line}", file=sys.stderr)
    if _wants_json(sys.argv[1:]) and not StdoutState.json:
        try:
            print_json({"error": line, "exit": code})
            sys.stdout.flush()
        except OSError:  # nobody reads it
            _discard_output()
    sys.exit(code)


def _wants_json(line: list[str]) -> bool:
    """Whether a command that has the option is given ``--json``.

    What follows ``exec LAB NODE`` belongs to the user's program.
    """
    own = line[: line.index("--")] if "--" in line else line
    own = list(dropwhile(lambda word: word.startswith("-"), own))  # the program's own options
    info = next((info for info in app.registered_commands if own and own[0] == info.name), None)
    if info is None or info.callback is None:
        return False
    if not (info.context_settings or {}).get("allow_interspersed_args", True):
        own = own[:1] + list(takewhile(lambda word: word.startswith("-"), own[1:]))
    return "--json" in own and "json" in inspect.signature(info.callback).parameters
