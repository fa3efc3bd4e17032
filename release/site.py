"""The source of the documentation site: ``python -m release.site build/site-source``; `make docs` builds it.

The documents keep their places, so that the links between them hold.  Added are the reference of the commands,
from their help, and the pages of ``reference`` whose text comes from docstrings.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from release import commands
from release.commands import Command, Row

ROOT = Path(__file__).parents[1]
#: What documents are, and what they link to.
_PARTS = ("*.md", "docs", "course", "vagrant/*.md", "examples", "notebooks", "LICENSE", "action.yml")
#: The interface for Python, and the classes that one extends: page, heading, what stands on it.
_PAGES = (
    ("python", "Labs, evaluation and scenarios in Python", ("dcnlab",)),
    (
        "topologies",
        "Base classes of topologies",
        ("topos.family", "topos.bases.vertices", "topos.fabric", "topos.graph"),
    ),
    ("schemes", "Base classes of schemes", ("addressing.scheme", "addressing.rule", "addressing.header")),
    (
        "protocols",
        "Base classes of agent protocols",
        ("hostagent.control.interface", "hostagent.control.codec"),
    ),
    (
        "measurements",
        "Base classes of measurements",
        (
            "dcnlab.lab.instruments.measurement",
            "dcnlab.lab.contract.fields",
            "dcnlab.lab.instruments.result",
        ),
    ),
)

#: How much sooner the search shows pages whose names begin so.
_BOOSTS = {
    **dict.fromkeys(("docs/installing", "docs/commands", "docs/tutorial"), 6),
    **dict.fromkeys(("docs/clot", "docs/small-world", "docs/wmgr", "docs/server-centric"), 1),
    "docs/README": 0.5, "README": 3, "docs/": 2,
}  # fmt: skip
#: In place of Mermaid: the theme does not look for it elsewhere where nothing has this class.
DIAGRAMS_AS_TEXT = (
    "for (const one of document.querySelectorAll('pre.mermaid')) one.classList.remove('mermaid');\n"
)


def write(folder: Path) -> None:
    """Write the source of the site into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in _tracked():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(_for_search(name) + (ROOT / name).read_bytes())
    reference = folder / "reference"
    reference.mkdir()
    for name, heading, modules in _PAGES:
        (reference / f"{name}.md").write_text("\n".join(_docstrings(heading, modules)), encoding="utf-8")
    (reference / "commands.md").write_text("\n".join(_commands(commands.program()[1])), encoding="utf-8")
    _scripts(folder / "vendor")


def _for_search(name: str) -> bytes:
    """What a page says to the search: guides come first; decisions, hints and changes are not what somebody
    looks for who wants to do something."""
    if not name.endswith(".md"):
        return b""
    if name.startswith("docs/decisions/") or name == "CHANGELOG.md" or name.endswith("/hints.md"):
        return b"---\nsearch:\n  exclude: true\n---\n\n"
    boost = next((boost for prefix, boost in _BOOSTS.items() if name.startswith(prefix)), 1)
    return f"---\nsearch:\n  boost: {boost}\n---\n\n".encode() if boost != 1 else b""


def _scripts(folder: Path) -> None:
    """What the theme would load from elsewhere: Mermaid for diagrams (``theme/main.html``), and what the search
    needs where there is no web server."""
    folder.mkdir()
    argv = [sys.executable, str(ROOT / "assets" / "build.py"), "site", str(folder)]
    if subprocess.run(argv, check=False, stdout=subprocess.DEVNULL).returncode:
        (folder / "mermaid.js").write_text(DIAGRAMS_AS_TEXT, encoding="utf-8")
        (folder / "iframe-worker.js").touch()


def _tracked() -> list[str]:
    argv = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard", *_PARTS]
    names = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split("\0")
    return [name for name in names if name and "/solution/" not in name and (ROOT / name).is_file()]


def _docstrings(heading: str, modules: Iterable[str]) -> Iterator[str]:
    yield f"# {heading}\n"
    yield from (f"::: {module}\n" for module in modules)


def _commands(each: Iterable[Command]) -> Iterator[str]:
    yield "# All commands and options\n"
    yield "From the help of the commands; [Commands, by task](../docs/commands.md) has them with comments.\n"
    for command in each:
        yield f"## dcnlab {command.name}\n"
        yield from (f"{paragraph}\n" for paragraph in map(_escaped, command.paragraphs))
        yield f"    {command.usage}\n"
        yield from _table("argument", command.arguments)
        yield from _table("option", command.options)
        yield from (f"    {line}" for line in command.examples)
        yield ""


def _table(heading: str, rows: Iterable[Row]) -> Iterator[str]:
    listed = list(rows)
    if listed:
        yield from (f"| {heading} | meaning |", "|---|---|")
    for words, meaning in listed:
        yield f"| `{words}` | {_escaped(meaning)} |".replace("link|node", "link\\|node")
    yield ""


def _escaped(text: str) -> str:
    """Help text as Markdown."""
    return text.replace("<", "&lt;").replace("*", "\\*").replace("|", "\\|").replace("[", "\\[")


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "build/site-source"))
