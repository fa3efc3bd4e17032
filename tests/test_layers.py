"""The packages import each other in one direction only: function-level and TYPE_CHECKING imports count."""

from __future__ import annotations

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
