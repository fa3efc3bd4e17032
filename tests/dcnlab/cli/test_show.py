"""Tables in terminals of different widths, and progress bars."""

from __future__ import annotations

import io
import random
import sys
from dataclasses import replace

import pytest
from rich.text import Text

from dcnlab.cli import show
from dcnlab.lab.options.config import LabConfig

COLUMNS = (
    "scheme", "delivered", "path", "max", "stretch", "max", "<= 1", "<= 2", "entries", "max", "bits max",
    "label bits",
)  # fmt: skip
ROW = ("wmgr", 1, 4.1, 6, 1.3375, 3, 0.6625, 0.8875, 3.6667, 5, 43, 7)


class Terminal(io.StringIO):
    """What is printed, as to a terminal."""

    def isatty(self) -> bool:
        return True


def lines(monkeypatch: pytest.MonkeyPatch, width: int) -> list[str]:
    """The table in so many columns."""
    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(sys, "stdout", terminal)
    show.table(COLUMNS, [ROW])
    return Text.from_ansi(terminal.getvalue()).plain.splitlines()


@pytest.mark.parametrize("width", [80, 100])
def test_words_of_headings_and_figures_are_not_broken(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    printed = lines(monkeypatch, width)
    assert max(map(len, printed)) <= width
    words = " ".join(printed).split()
    assert {word for name in COLUMNS for word in name.split()} | {str(cell) for cell in ROW} <= set(words)


def test_a_very_narrow_terminal_shows_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = lines(monkeypatch, 40)
    assert max(map(len, printed)) <= 40
    letters = sorted("".join("".join(printed).split()))
    assert letters == sorted("".join("".join(map(str, (*COLUMNS, *ROW))).split()))


def test_two_spaces_separate_columns_if_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    heading, figures = lines(monkeypatch, 120)
    assert heading.split("  ")[0] == "scheme"
    assert heading.index("delivered") == figures.index(" 1 ") + 1 == len("scheme") + 2


def test_in_a_pipe_the_table_is_printed_as_rich_prints_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    draw = random.Random(1)

    def cell() -> str:
        return " ".join("x" * draw.randint(1, 7) for _ in range(draw.randint(1, 3)))

    for _ in range(200):
        width = draw.randint(1, 8)
        columns, *rows = ([cell() for _ in range(width)] for _ in range(draw.randint(1, 5)))
        assert show._print_plain(columns, rows)
        plain = capsys.readouterr().out
        show._print_folded(columns, rows, "")
        assert plain == capsys.readouterr().out


@pytest.mark.parametrize("text", ["x" * 201, "übel", "two\nlines"])
def test_other_tables_are_left_to_rich(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert not show._print_plain(["a"], [[text]])
    assert capsys.readouterr().out == ""
    show.table(["a"], [[text]])
    assert "".join(capsys.readouterr().out.split()) == "a" + "".join(text.split())


def test_a_progress_bar_prints_nothing_into_a_pipe(capfd: pytest.CaptureFixture[str]) -> None:
    with show.progress_bar(quiet=False) as bar:
        bar(1, 2, "work")
    assert capfd.readouterr() == ("", "")


def test_piped_tables_are_as_wide_as_columns_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    show.table(COLUMNS, [ROW])
    narrow = capsys.readouterr().out.splitlines()
    monkeypatch.delenv("COLUMNS", raising=False)
    show.table(COLUMNS, [ROW])
    assert max(map(len, narrow)) <= 60
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_info_shows_options_that_differ_from_the_default() -> None:
    usual = LabConfig.of("bcube:2,1", "brp", name="one")
    assert usual.chosen() == []
    assert sorted(replace(usual, rate="80Mbit", nat=True).chosen()) == ["nat", "rate"]
