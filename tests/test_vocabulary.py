"""Documents and help texts use the field's words: the last table of CONTRIBUTING.md says which not to use."""

from __future__ import annotations

import inspect
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main

from addressing import registry as schemes
from dcnlab.cli import app, loading
from dcnlab.cli.catalogue import entry
from topos import registry as topologies

ROOT = Path(__file__).parents[1]
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
REFUSED = "## Words not to use"
#: The changelog names former words; licences are others' texts.
EXEMPT = {ROOT / "CHANGELOG.md"}
PAGES = sorted(
    {
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *ROOT.glob("vagrant/*.md"),
        *filter(Path.is_file, ROOT.glob("examples/**/*")),
        *ROOT.glob("course/**/*.[mpy][dya]*"),
    }
    - EXEMPT
    - {*ROOT.glob("course/miswired-cables/**/*")}  # its subject is physical cabling
    - {*ROOT.glob("examples/**/__pycache__/*")}  # left by an earlier run
)
#: Packages whose texts and comments are read as well.
CODE = ("topos", "addressing", "controller", "dcnlab")
#: Where a refused word is the right one: idioms, physical cabling, the alias of `restore`, names in JSON.
ALLOWED = re.compile(
    r"""
    one-way | both\ ways | either\ way | \bways?\ to\b | way\ of\ thinking
    | (?:the\ same|in\ any|in\ this|that|this)\ way\b
    | under\ way | two\ independent\ ways | one\ of\ two\ ways:
    | ^"(?:cables?|cards|heal)"$ | power\ and\s+cables
    | miswired[-\ ]cables | cables\ swapped | cables\ are\ swapped | ``cards``
    | half-way | way\ it\ is | cabling
    | (?:switches,\ ports,|swapped|wrong|two|physical|NICs,|NICs\ and|ports\ and|power\ and|fewer|optical|copper
        |ports,)\ cables?
    | cables\ (?:per\ server|\ price)
    | swap(?:s|ping)?\ of\ two\ cables | cables?\ at\ two\ ports | price\ of\ a\ cable
    | (?<!`)`[^`\n]+`(?!`) | ^\ {4}.*?$
    """,
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)


@cache
def words() -> tuple[str, ...]:
    """The words of that table, with what follows them in brackets left out."""
    rows = CONTRIBUTING.read_text().partition(REFUSED)[2]
    cells = [row.split("|")[1] for row in rows.splitlines() if row.startswith("| ")][1:]
    every = tuple(word.strip() for cell in cells for word in re.sub(r"\(.*?\)", "", cell).split(","))
    assert len(every) >= 30
    return every


def any_of(wanted: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, wanted))})\b", re.IGNORECASE)


@cache
def refused() -> re.Pattern[str]:
    return any_of(words())


@cache
def suspect() -> re.Pattern[str]:
    """What every text with a refused word has; it takes long to find the texts in a file."""
    return any_of(word.split()[-1] for word in words())


def refused_in(text: str) -> list[str]:
    """The refused words of a text, each with what stands around it."""
    plain = " ".join(ALLOWED.sub(" ", text).split())
    return [plain[max(0, hit.start() - 30) : hit.end() + 30] for hit in refused().finditer(plain)]


@cache
def commands() -> dict[str, Any]:
    loading.load_all()
    result: dict[str, Any] = typer.main.get_command(app.app).commands  # type: ignore[attr-defined]
    return result


def help_texts(name: str) -> Iterator[str]:
    command = commands()[name]
    yield command.help or ""
    for parameter in command.params:
        yield getattr(parameter, "help", None) or ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_documents(page: Path) -> None:
    assert refused_in(page.read_text().partition(REFUSED)[0]) == []


@pytest.mark.parametrize("package", CODE)
def test_code(package: str) -> None:
    """Docstrings, comments, and all texts of the program."""
    hits = []
    for path in (ROOT / package).rglob("*.py"):
        whole = path.read_text()
        for token in tokenize.generate_tokens(io.StringIO(whole).readline) if suspect().search(whole) else ():
            if token.type in (tokenize.STRING, tokenize.COMMENT):
                hits += [
                    f"{path.relative_to(ROOT)}:{token.start[0]}: {hit}"
                    for hit in refused_in(inspect.cleandoc(token.string))
                ]
    assert hits == []


@pytest.mark.parametrize("name", sorted(commands()))
def test_help_of_commands(name: str) -> None:
    assert [hit for text in help_texts(name) for hit in refused_in(text)] == []


@pytest.mark.parametrize("name", [*topologies.known(), *schemes.known()])
def test_topologies_and_schemes(name: str) -> None:
    row = entry(name)
    texts = [row.get("summary", ""), *(parameter["meaning"] for parameter in row["parameters"])]
    assert [hit for text in texts for hit in refused_in(text)] == []


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("packets take another way", 1),
        ("two ways of the packet", 1),
        ("cut a cable", 1),
        ("The Cables of a torus", 1),
        ("computed on paper", 1),
        ("begin anew", 1),
        ("the best way to start; a one-way delay; both ways", 0),
        ("`--miswire` swaps two cables", 0),
        ("always, anyway, cardinal, health, place", 0),
    ],
)
def test_what_is_found(text: str, hits: int) -> None:
    assert len(refused_in(text)) == hits
