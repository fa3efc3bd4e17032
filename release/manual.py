"""Man pages from the help of the commands: ``python -m release.manual build/man``.

man -M build/man dcnlab-fail
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

from release import commands
from release.commands import Command, Row


def write(folder: Path) -> int:
    """Write a page for the program and one for each command into ``man1`` of a folder; how many."""
    pages = folder / "man1"
    pages.mkdir(parents=True, exist_ok=True)
    whole, each = commands.program()
    for command in (whole, *each):
        name = f"dcnlab-{command.name}" if command.name else "dcnlab"
        (pages / f"{name}.1").write_text(page(command, each), encoding="utf-8")
    return 1 + len(each)


def page(command: Command, each: Iterable[Command] = ()) -> str:
    """The man page of a command; that of the program lists all of them."""
    return "\n".join(_lines(command, each)) + "\n"


def _lines(command: Command, each: Iterable[Command]) -> Iterator[str]:
    name = f"dcnlab-{command.name}" if command.name else "dcnlab"
    today = datetime.date.today().isoformat()
    yield f'.TH "{_roff(name.upper())}" "1" "{today}" "dcnlab {_roff(version("dcnlab"))}" "dcnlab"'
    yield ".ad l"  # long words in narrow columns
    yield from (".SH NAME", f"{_roff(name)} \\- {_roff(command.summary)}")
    yield from (".SH SYNOPSIS", f"\\fB{_roff(command.usage)}\\fR")
    yield ".SH DESCRIPTION"
    for paragraph in command.paragraphs:
        yield from (".PP", _roff(paragraph))
    yield from _list("ARGUMENTS", command.arguments)
    yield from _list("OPTIONS", command.options)
    if not command.name:
        yield from _list("COMMANDS", ((f"dcnlab-{one.name}(1)", one.summary) for one in each))
    if command.examples:
        yield from (".SH EXAMPLES", ".EX", *map(_roff, command.examples), ".EE")
    yield from (
        ".SH EXIT STATUS",
        "0: the result is as required; 1: it is not; 2: wrong usage, or a missing prerequisite.",
    )
    if command.name:
        yield from (".SH SEE ALSO", ".BR dcnlab (1)")


def _list(heading: str, rows: Iterable[Row]) -> Iterator[str]:
    listed = list(rows)
    if listed:
        yield f".SH {heading}"
    for words, meaning in listed:
        yield from (".TP", f"\\fB{_roff(words)}\\fR", _roff(meaning))


def _roff(text: str) -> str:
    """Text that roff takes as it is."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "build/man")
    print(f"{write(target)} man pages in {target}/man1; read them with `man -M {target} dcnlab`")
