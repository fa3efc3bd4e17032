"""``python -m release.examples``: write the table of docs/examples.md from the first lines of the examples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER, PAGE = ROOT / "examples", ROOT / "docs" / "examples.md"
_BEGIN, _END = "<!-- examples: written by `python -m release.examples` -->", "<!-- /examples -->"
_LESSON = re.compile(r'(?:# |""")Teaches ([^\n"]*)')


def examples() -> list[Path]:
    """Scenarios and Python files."""
    return sorted((*FOLDER.glob("*.yaml"), *FOLDER.glob("*.py")))


def lesson(path: Path) -> str:
    """What an example teaches: its first line after the word, to the end of the sentence; empty without."""
    lesson = _LESSON.match(path.read_text())
    return lesson[1].partition(".  ")[0].rstrip(".") if lesson else ""


def table() -> str:
    """The examples, what each teaches, and what runs it."""
    return "\n".join(["| example | teaches | run it with |", "|---|---|---|", *_rows()])


def _rows() -> Iterator[str]:
    for path in examples():
        yield f"| [{path.stem}](../examples/{path.name}) | {lesson(path)} | `{command(path)}` |"


def command(path: Path) -> str:
    """The command that runs an example."""
    if path.suffix == ".yaml":
        return f"dcnlab run {path.stem}"
    if "OSKenApp" in path.read_text():
        return f"dcnlab up fattree:4 --controller app-only:examples/{path.name} --no-loops --test pingall"
    return f"python examples/{path.name}"


def rewrite(text: str) -> str:
    """The page with the current table."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{table()}\n{_END}{after}"


if __name__ == "__main__":
    PAGE.write_text(rewrite(PAGE.read_text()))
