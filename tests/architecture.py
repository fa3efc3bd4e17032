"""The import graph of the program, and the diagrams of docs/imports.md, which are drawn from it.

Imports inside functions and below TYPE_CHECKING count.
``python -m tests.architecture docs/imports.md`` draws the diagrams again.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).parents[1]
PACKAGES = ("topos", "addressing", "hostagent", "controller", "dcnlab")
_MARKS = re.compile(r"(<!-- (imports|folders): ([\w. ]+) -->\n).*?(<!-- /\2 -->)", re.DOTALL)


@cache
def modules() -> dict[str, Path]:
    """All modules and packages of the program by their dotted names."""
    paths = {}
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


def imported(path: Path) -> Iterator[str]:
    """The modules of the program that a file imports, wherever in the file it does."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in modules() else node.module for name in full]
        else:
            continue
        yield from (name for name in names if name in modules())


@cache
def imports() -> nx.DiGraph[str]:
    """An edge from each module to each module that it imports."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(modules())
    for name, path in modules().items():
        graph.add_edges_from((name, other) for other in imported(path) if other != name)
    return graph


def siblings(package: str) -> nx.DiGraph[str]:
    """The files and folders of a package, with an edge where one imports from another."""
    inside = [name.removeprefix(f"{package}.") for name in modules() if name.startswith(f"{package}.")]
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(name for name in inside if "." not in name)
    for one, other in imports().edges:
        if one.startswith(f"{package}.") and other.startswith(f"{package}."):
            a, b = (name.removeprefix(f"{package}.").partition(".")[0] for name in (one, other))
            if a != b:
                graph.add_edge(a, b)
    return graph


def packages() -> nx.DiGraph[str]:
    """The top-level packages, and those inside dcnlab, with an edge where one imports from another."""
    inside = ("cli", "experiments", "papers", "lab", "evaluator", "traffic", "verifier")
    groups = [*PACKAGES, *(f"dcnlab.{name}" for name in inside)]

    def group(module: str) -> str:
        return max((name for name in groups if f"{module}.".startswith(f"{name}.")), key=len)

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_edges_from((a, b) for a, b in ((group(a), group(b)) for a, b in imports().edges) if a != b)
    return graph


def mermaid(graph: nx.DiGraph[str]) -> str:
    """A Mermaid flowchart: an arrow says "imports"; arrows that follow from others are left out."""
    reduced = nx.transitive_reduction(graph)
    lines = ["```mermaid", "flowchart TD"]
    # Mermaid reserves words such as `graph` and `end`, so identifiers have a prefix.
    identifier = {name: f"m_{name.replace('.', '_')}" for name in graph}
    for name in sorted(graph):
        others = " & ".join(identifier[other] for other in sorted(reduced[name]))
        lines.append(f"    {identifier[name]}[{name}]" + (f" --> {others}" if others else ""))
    return "\n".join([*lines, "```"])


def folders(package: str) -> str:
    """A table of a package's folders, each with the first sentence of its docstring."""
    rows = ["| folder | content |", "|---|---|"]
    for name, path in sorted(modules().items()):
        if path.name == "__init__.py" and f"{name}.".startswith(f"{package}."):
            text = " ".join((ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n\n")[0].split())
            sentence = re.sub(r":\w+:`|``", "`", re.split(r"(?<=\.)\s", text)[0]).replace("|", "\\|")
            rows.append(f"| `{name.replace('.', '/')}/` | {sentence} |")
    return "\n".join(rows)


def rewrite(text: str) -> str:
    """A document with the diagrams and tables between its marks as they are now."""

    def current(mark: re.Match[str]) -> str:
        opening, kind, subject, closing = mark.groups()
        if kind == "folders":
            body = folders(subject)
        else:
            body = mermaid(packages() if subject == "all packages" else siblings(subject))
        return f"{opening}{body}\n{closing}"

    return _MARKS.sub(current, text)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(rewrite(Path(name).read_text()))
