"""The packages import each other in one direction only: function-level and TYPE_CHECKING imports count."""

from __future__ import annotations

import ast

import networkx as nx
import pytest

from tests.architecture import imports, modules, packages, siblings


def circles(graph: nx.DiGraph[str]) -> list[set[str]]:
    return [part for part in nx.strongly_connected_components(graph) if len(part) > 1]


def test_no_module_imports_itself_through_others() -> None:
    assert circles(imports()) == []


@pytest.mark.parametrize("package", sorted(name for name, path in modules().items() if path.stem == "__init__"))
def test_files_and_folders_of_a_package_import_each_other_in_one_direction(package: str) -> None:
    assert circles(siblings(package)) == []


def test_packages_import_each_other_in_one_direction() -> None:
    assert circles(packages()) == []


def named(tree: ast.AST) -> set[str]:
    """The modules that strings of a file name, but those that a command line starts (after ``-m``)."""
    started = {
        id(after)
        for node in ast.walk(tree)
        if isinstance(node, ast.List | ast.Tuple)
        for before, after in zip(node.elts, node.elts[1:], strict=False)
        if isinstance(before, ast.Constant) and before.value == "-m"
    }
    strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in started)
    return {node.value for node in strings if isinstance(node.value, str) and "." in node.value} & set(
        modules()
    )


def test_no_string_names_a_module_that_imports_the_file() -> None:
    """Such an upward import would be hidden from the other tests.  ``dcnlab`` names what it exports."""
    graph = imports()
    upward = [
        (name, other)
        for name, path in modules().items()
        if name != "dcnlab"
        for other in named(ast.parse(path.read_text()))
        if other != name and nx.has_path(graph, other, name)
    ]
    assert upward == []


@pytest.mark.parametrize(
    "line", ["importlib.import_module('topos.fabric')", "NAME = 'topos.fabric'", "load('topos.fabric', 1)"]
)
def test_modules_in_strings_are_found(line: str) -> None:
    assert named(ast.parse(line)) == {"topos.fabric"}
    assert named(ast.parse("[python, '-m', 'topos.fabric']")) == set()
