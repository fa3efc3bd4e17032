"""Modules that are imported by programs in texts exist: in tests, benchmarks and documents."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: ``from dcnlab.lab import client`` at the beginning of a line, in a text or not.
IMPORT = re.compile(
    r"^ *(?:from|import) ((?:dcnlab|hostagent|controller|addressing|topos|benchmarks|release)(?:\.\w+)*)"
    r"(?: import (\w+))?",
    re.MULTILINE,
)


@cache
def exists(module: str) -> bool:
    """Whether a module is there; nothing of it runs but its packages."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@cache
def defines(module: str, name: str) -> bool:
    """Whether a module, or a package, has that name, as far as its text says."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None or exists(f"{module}.{name}"):
        return spec is not None
    text = Path(spec.origin).read_text()
    names = set[str]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update(alias.asname or alias.name for alias in node.names)
    return name in names or ("__getattr__" in names and name in text)


def test_modules_named_in_programs_are_there() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "*.py", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    missing = set()
    for file in set(listed.stdout.split()) - {"CHANGELOG.md"}:
        for module, name in IMPORT.findall((ROOT / file).read_text()):
            if not exists(module) or (name and not defines(module, name)):
                missing.add(f"{file}: {module} {name}")
    assert not missing, missing
