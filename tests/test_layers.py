"""The packages import each other in one direction only: function-level and TYPE_CHECKING imports count."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("topos", "addressing", "hostagent", "controller", "dcnlab")


@cache
def modules() -> dict[str, Path]:
    """Every module and package of the program by its dotted name."""
    found = {}
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


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
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(modules())
    for name, path in modules().items():
        graph.add_edges_from((name, other) for other in imported(path) if other != name)
    return graph


def siblings(package: str) -> nx.DiGraph[str]:
    """What a package holds, files and folders, with an edge where one needs another."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for one, other in imports().edges:
        if one.startswith(f"{package}.") and other.startswith(f"{package}."):
            a, b = (name.removeprefix(f"{package}.").partition(".")[0] for name in (one, other))
            if a != b:
                graph.add_edge(a, b)
    return graph


def test_no_module_imports_itself_through_others() -> None:
    assert [part for part in nx.strongly_connected_components(imports()) if len(part) > 1] == []


@pytest.mark.parametrize("package", sorted(name for name, path in modules().items() if path.stem == "__init__"))
def test_files_and_folders_of_a_package_need_each_other_in_one_direction(package: str) -> None:
    found = siblings(package)
    assert [part for part in nx.strongly_connected_components(found) if len(part) > 1] == []
