"""The command line as data: for man pages and for the site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import typer.main
from rich.text import Text

from dcnlab.cli import app, loading

#: Words and their meaning, as the help shows them.
Row = tuple[str, str]


@dataclass(frozen=True)
class Command:
    """A command: its name (empty: the program), the heading in `dcnlab --help`, and what its help says."""

    name: str
    heading: str
    usage: str
    paragraphs: tuple[str, ...]
    arguments: tuple[Row, ...]
    options: tuple[Row, ...]
    examples: tuple[str, ...]

    @property
    def summary(self) -> str:
        """The first sentence, without the full stop."""
        return self.paragraphs[0].rstrip(".")


def program() -> tuple[Command, tuple[Command, ...]]:
    """The program, and all of its commands in the order of `dcnlab --help`."""
    loading.load_all()
    group: Any = typer.main.get_command(app.app)
    names = group.list_commands(None)
    return _command("", group), tuple(_command(name, group.commands[name]) for name in names)


def _command(name: str, command: Any) -> Command:
    called = f"dcnlab {name}".strip()
    context = command.context_class(command, info_name=called)
    rows: dict[str, list[Row]] = {"argument": [], "option": []}
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None:
            rows[parameter.param_type_name].append((_plain(record[0]), _plain(record[1])))
    text = _plain(command.help or "")
    return Command(
        name,
        getattr(command, "rich_help_panel", None) or "",
        " ".join((called, *command.collect_usage_pieces(context))),
        tuple(" ".join(part.split()) for part in text.split("\n\n") if part.strip()),
        tuple(rows["argument"]),
        tuple(rows["option"]),
        app.EXAMPLES.get(name, ()),
    )


def _plain(text: str) -> str:
    """A help text without the marks of rich."""
    return Text.from_markup(text.replace("[default", r"\[default").replace("[required", r"\[required")).plain
