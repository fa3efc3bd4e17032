"""The program itself: commands collected, errors turned into one line and an exit code."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path
from typing import Any

import typer

from lab.errors import LabError

#: The base of the errors that a command line itself can have (typer exports its children only).
_ParseError: Any = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException")

app = typer.Typer(
    name="dcnlab",
    help="Run data-centre networks whose servers relay packets: real hosts, real OpenFlow switches.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def main() -> None:
    """Run the command line; never returns."""
    for info in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if not info.name.startswith("_"):
            importlib.import_module(f"lab.cli.{info.name}")  # adds its commands

    try:
        sys.exit(app(standalone_mode=False) or 0)
    except typer.Abort:
        sys.exit(130)
    except _ParseError as error:
        print(f"dcnlab: {error.format_message()}", file=sys.stderr)
        sys.exit(2)
    except LabError as error:
        print(f"dcnlab: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
