"""``import dcnlab``: the names for users, imported when first used, and by type checkers as well."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import dcnlab

FOLDER = Path(dcnlab.__file__).parent
IMPORTED = "import sys; before = set(sys.modules); import dcnlab; print(*sorted({*sys.modules} - before))"
#: The packages of what importing nothing but the lazy interface needs.
NEEDED = {"dcnlab", "importlib", "warnings"}


def test_every_name_can_be_imported() -> None:
    for name in dcnlab.__all__:
        assert getattr(dcnlab, name) is not None
    assert set(dcnlab.__all__) < set(dir(dcnlab))
    assert dcnlab.__version__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        dcnlab.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_the_interface_evaluates_and_binds() -> None:
    network = dcnlab.fabric("bcube:2,1")
    assert dcnlab.scheme("brp", network).name == "brp"
    assert dcnlab.evaluate(network, ["brp"]).servers == 4
    with pytest.raises(dcnlab.SpecError, match="did you mean bcube"):
        dcnlab.fabric("bcub:2,1")


def test_type_checkers_see_the_same_names_from_the_same_modules() -> None:
    stub = ast.parse((FOLDER / "__init__.pyi").read_text())
    imported = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == dcnlab._DEFINITIONS  # type: ignore[attr-defined]
    assert sorted(imported) == sorted(dcnlab.__all__)
    assert all((FOLDER.parent / package / "py.typed").exists() for package in PACKAGES)


PACKAGES = ("addressing", "controller", "dcnlab", "hostagent", "topos")


def test_importing_the_package_alone_imports_next_to_nothing() -> None:
    """So it takes milliseconds; by name, because times depend on the machine."""
    done = subprocess.run([sys.executable, "-P", "-c", IMPORTED], capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    assert {name.partition(".")[0] for name in modules} <= NEEDED
    assert {name for name in modules if name.startswith("dcnlab")} == {"dcnlab", "dcnlab.python_path"}


def test_python_runs_the_package() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dcnlab", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"dcnlab {dcnlab.__version__}\n"
