"""Which commands the program imports: the one that the command line names, or all of them.

A command is a file of ``dcnlab/cli/commands``, found by its name, or a measurement class.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from itertools import takewhile

from dcnlab.cli import commands
from dcnlab.cli.app import app, sort_commands

#: Options of the program after which a command follows.
_BEFORE_COMMANDS = {"-v", "--verbose"}


def load(words: list[str]) -> None:
    """Import what these words of the command line need.

    That is one command, unless they name none or ask for the program's help, or a shell completes the name of
    a command.
    """
    before = list(takewhile(lambda word: word.startswith("-"), words))
    name = words[len(before)] if len(before) < len(words) else ""
    if _is_registered(name):
        return
    if name and _BEFORE_COMMANDS.issuperset(before):
        _load_command(name)
    if not _is_registered(name):
        load_all()
    if not _is_registered(name):  # it may be a measurement from elsewhere
        from dcnlab.cli import measurement_commands

        measurement_commands.add_others(words)
        sort_commands()


@cache
def load_all() -> None:
    """Import every command of dcnlab's own."""
    from dcnlab.cli import measurement_commands

    for name in _files():
        _load_command(name)
    measurement_commands.add_builtin()
    sort_commands()


def _load_command(name: str) -> None:
    """Import the file of a command, or make the command of a measurement; nothing for other names."""
    if name in _files():
        importlib.import_module(f"{commands.__name__}.{_files()[name]}")
        return
    from dcnlab.cli import measurement_commands

    measurement_commands.add_builtin(name)


@cache
def _files() -> dict[str, str]:
    """The commands that have a file, with the name of its module."""
    return {info.name.replace("_", "-"): info.name for info in pkgutil.iter_modules(commands.__path__)}


def _is_registered(name: str) -> bool:
    return any(info.name == name for info in app.registered_commands)
