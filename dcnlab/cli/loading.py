"""Which commands the program imports: the one that the command line names.

A command is a file of ``dcnlab/cli/commands``, found by its name, or made from the class of an operation or a
measurement.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from dcnlab.cli import commands
from dcnlab.cli.app import app


def load(argv: list[str]) -> None:
    """Import the command that these words of the command line name.

    Where they name none of dcnlab's own, import those from elsewhere, which may be meant or are to be listed.
    """
    name = next((word for word in argv if not word.startswith("-")), "")
    if _is_registered(name):
        return
    if name:
        _load_command(name)
    if _is_registered(name):
        return
    from topos import plugins

    if name or plugins.installed("dcnlab.measurements", "dcnlab.operations"):
        from dcnlab.cli.from_classes import measurements as measurement_commands
        from dcnlab.cli.from_classes import operations as operation_commands

        measurement_commands.add_others(argv)
        operation_commands.add_others()


@cache
def load_all() -> None:
    """Import every command of dcnlab's own."""
    from dcnlab.cli.from_classes import measurements as measurement_commands
    from dcnlab.lab import operations

    for name in (*files(), *operations.known().builtin()):
        _load_command(name)
    measurement_commands.add_builtin()


def _load_command(name: str) -> None:
    """Import the file of a command, or make that of an operation or a measurement; nothing for other names."""
    if name in files():
        importlib.import_module(f"{commands.__name__}.{files()[name]}")
        return
    from dcnlab.lab import operations

    if operations.known().is_builtin(name):
        from dcnlab.cli.from_classes import operations as operation_commands

        operation_commands.add_builtin(name)
        return
    from dcnlab.cli.from_classes import measurements as measurement_commands

    measurement_commands.add_builtin(name)


@cache
def files() -> dict[str, str]:
    """The commands that have a file, with the name of its module."""
    return {info.name.replace("_", "-"): info.name for info in pkgutil.iter_modules(commands.__path__)}


def _is_registered(name: str) -> bool:
    return any(info.name == name for info in app.registered_commands)
