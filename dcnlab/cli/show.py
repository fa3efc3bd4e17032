"""Output of results: JSON for scripts, tables for people."""

from __future__ import annotations

import functools
import json
import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

#: More columns than any table has.
_WIDEST = 1 << 16
#: The width of tables where standard output is no terminal.
_PIPE_WIDTH = 200
#: Seconds between two lines about progress.
_LINES_S = 5.0
#: Seconds of processor time between two of them where most work takes less.
_SILENT_S = 20.0
#: Control characters, and those that turn the direction of writing, as they are shown.
_CONTROLS = {
    number: ascii(chr(number))[1:-1]
    for number in (*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    if chr(number) not in "\t\n"
}
_RUN = re.compile(r"([0.])\1{6,}")
JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON value instead of text.")]


class StdoutState:
    """Whether the command has printed its JSON value."""

    json = False


def print_json(value: Any) -> None:
    """Print one JSON value; infinity and NaN become null."""
    StdoutState.json = True
    print(json.dumps(_plain(value), indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def brief(text: str) -> str:
    """A text with long runs of one digit shortened, as labels and patterns have them."""
    return _RUN.sub(r"\1…", text)


def harmless(text: str) -> str:
    """A text as a terminal may have it: control characters are shown, and do nothing."""
    return text.translate(_CONTROLS)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> None:
    """Print a table: on a terminal as wide as that, elsewhere at most 200 columns wide."""
    cells = [tuple(harmless(str(cell)) for cell in row) for row in rows]
    if title or sys.stdout.isatty() or not _print_plain(columns, cells):
        _print_folded(columns, cells, title)


def _pipe_width() -> int:
    """The width of tables for a file or another program: the variable COLUMNS, else a wide one."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and int(columns) > 0 else _PIPE_WIDTH


def fits(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> bool:
    """Whether :func:`table` would fold no cell."""
    import shutil

    widths = [max(map(len, map(str, column))) for column in zip(columns, *rows, strict=True)]
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _pipe_width()
    return sum(widths) + len(widths) - 1 <= width


def _print_plain(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Print a table without rich, which takes longer to import than most commands run.

    False, with nothing printed, where rich must fold it or measure its characters.
    """
    lines = [columns, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    plain = all(cell.isascii() and cell.isprintable() for line in lines for cell in line)
    if not plain or sum(widths) + 2 * (len(widths) - 1) > _pipe_width():
        return False
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)))
    return True


def _print_folded(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str) -> None:
    """Print a table with rich: cells that are too wide are folded."""
    from rich.console import Console
    from rich.table import Column, Table

    console = Console(width=None if sys.stdout.isatty() else _pipe_width())
    words = [max(map(len, name.split()), default=0) for name in columns]
    # Headings are broken inside a word only where the terminal is too narrow for their words.
    whole = sum(words) + len(words) - 1 <= console.width
    headed = (
        Column(name, overflow="fold", min_width=longest if whole else None)
        for name, longest in zip(columns, words, strict=True)
    )
    shown = Table(*headed, title=title or None, title_justify="left", box=None, pad_edge=False)
    for row in rows:
        shown.add_row(*row)
    wide = console.options.update(max_width=_WIDEST)
    shown.collapse_padding = console.measure(shown, options=wide).maximum > console.width
    console.print(shown)


class Bar:
    """A progress bar: called with the work done, the total, and the name of what comes next."""

    def __init__(self, update: Callable[..., None]) -> None:
        self._update = update
        self._words = "evaluating"

    def __call__(self, done: int, total: int, what: object) -> None:
        """Advance the bar."""
        self._words = what if isinstance(what, str) else "evaluating"
        self._update(completed=done, total=total, description=self._words)

    def compiling(self, kernel: str) -> None:
        """Show that a numba kernel is being compiled, here or by a worker; an empty name: it is done."""
        self._update(description=_compiling(self._words, kernel))


def _compiling(text: str, kernel: str) -> str:
    """The description, with the kernel that is being compiled."""
    return f"{text}: compiling {kernel.strip('_')}, once on this machine" if kernel else text


class _Lines:
    """Progress as lines for a log, each some seconds after the last, with a forecast."""

    def __init__(self) -> None:
        self._begun = self._last = time.monotonic()

    def __call__(self, completed: int = 0, total: int = 0, description: str = "") -> None:
        now = time.monotonic()
        if now < self._last + _LINES_S or completed >= total:
            return
        self._last, spent = now, now - self._begun
        left = f", about {spent * (total - completed) / completed:.0f} s left" if completed else ""
        print(
            f"{description}: {completed:,} of {total:,} after {spent:.0f} s{left}", file=sys.stderr, flush=True
        )


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Bar]:
    """A progress bar with a forecast on standard error, removed at the end; where that is no terminal, a line
    now and then."""
    if quiet or not sys.stderr.isatty():  # rich would end the bar with an empty line
        yield Bar((lambda **_: None) if quiet else _Lines())
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("left:"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        yield Bar(functools.partial(shown.update, shown.add_task("evaluating", total=None)))


def _said_once(text: str) -> Callable[[str], None]:
    """What says that kernels are compiled: one line on standard error, at the first."""
    said = False

    def say(kernel: str) -> None:
        nonlocal said
        if kernel and not said:
            said = True
            print(f"{text}: compiling, once on this machine", file=sys.stderr, flush=True)

    return say


class _Forecast:
    """A phase in words: the share that is done, and how long the rest takes if it goes on as before."""

    def __init__(self) -> None:
        self._phase, self._done, self._begun = "", 0.0, 0.0
        self._last = time.process_time()

    def __call__(self, phase: str, share: float | None) -> str:
        if share is None:
            return phase
        now = time.monotonic()
        if phase != self._phase:
            self._phase, self._done, self._begun = phase, share, now
        spent, done = now - self._begun, share - self._done
        left = f", about {spent * (1 - share) / done:.0f} s left" if spent > 1 and done > 0 else ""
        return f"{phase} {share:.0%}{left}"

    def line(self, text: str, phase: str, share: float | None) -> None:
        """Print it, some seconds of work after the last line."""
        words, now = self(phase, share), time.process_time()
        if share is not None and now > self._last + _SILENT_S:
            self._last = now
            print(f"{text}: {words}", file=sys.stderr, flush=True)


@contextmanager
def working(text: str) -> Iterator[Callable[[str, float | None], None]]:
    """A line on the terminal while something is computed, removed at the end: the text, then the phase and
    the share of it that is done, which the function given is called with, a forecast, and kernels that are
    being compiled.  Where that is no terminal, a line now and then."""
    from addressing.jit import compilations

    forecast = _Forecast()
    if not sys.stderr.isatty():
        with compilations(_said_once(text)):
            yield functools.partial(forecast.line, text)
        return
    from rich.console import Console
    from rich.markup import escape

    shown = text

    def show(phase: str, share: float | None) -> None:
        nonlocal shown
        shown = escape(f"{text}: {forecast(phase, share)}")
        status.update(shown)

    def compiling(kernel: str) -> None:
        status.update(_compiling(shown, kernel))

    with Console(stderr=True).status(text) as status, compilations(compiling):
        yield show


def cell(value: Any) -> str:
    """A value as a cell of a table; ``-`` for None."""
    return short(value) if isinstance(value, float) else "-" if value is None else str(value)


def short(value: float | None) -> str:
    """A number with four significant digits; ``-`` for None."""
    return "-" if value is None else f"{value:.4g}"


def print_notes(name: str, notes: Iterable[str]) -> None:
    """Print what is to be said about the control of a lab's switches."""
    for line in notes:
        print(harmless(f"{name}: {line}"))


def controlled(info: Mapping[str, Any], whole: bool = True) -> str:
    """The controller of a lab in a few words, from the result of ``info``: ``remote:127.0.0.1:6653 3/8``, or
    only its kind, ``remote 3/8``."""
    state = info.get("controller")
    if not state or not state["switches"]:
        return "-" if state else ""
    complete = state["connected"] == state["switches"] and not state["by_hand"]
    text = str(state["controller"])
    if text == "none" or (complete and text == "ours"):
        return text
    return f"{text if whole else text.partition(':')[0]} {state['connected']}/{state['switches']}"


def print_ended(name: str, ended: Iterable[str]) -> None:
    """Print which processes of the lab have ended, and what to do."""
    lines = [harmless(f"{name}: {line}") for line in ended]
    if lines:
        print("\n".join(lines))
        print(f"{name}: they are not restarted: run `dcnlab down {name}` and launch the lab again")
