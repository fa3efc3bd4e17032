"""Packages that list their modules list all of them, and none that is gone."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HOUSE = (
    "topos",
    "addressing",
    "controller",
    "hostagent",
    "dcnlab.cli",
    "dcnlab.lab",
    "dcnlab.evaluator",
    "dcnlab.papers",
)
INITS = sorted(path for name in HOUSE for path in ROOT.joinpath(*name.split(".")).rglob("__init__.py"))


def listed(package: str) -> set[str]:
    return set(re.findall(r"(?:^|\s)(\w+)\.py\b", importlib.import_module(package).__doc__ or ""))


PACKAGES = {".".join(path.relative_to(ROOT).parts[:-1]): path.parent for path in INITS}
LISTING = sorted(package for package in PACKAGES if listed(package))


@pytest.mark.parametrize("package", LISTING)
def test_every_module_is_listed(package: str) -> None:
    modules = {path.stem for path in PACKAGES[package].glob("*.py")} - {"__init__", "__main__"}
    assert listed(package) == modules


def test_the_packages_of_the_house_list_theirs() -> None:
    """Those whose files a registry finds need not: there, a new file is the only edit."""
    assert set(HOUSE) <= set(LISTING)
    assert not {"topos.families", "addressing.schemes"} & set(LISTING)
