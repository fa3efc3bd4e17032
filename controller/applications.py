"""The user's Ryu and os-ken applications: which library each is written for, found without running it."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterable, Iterator
from pathlib import Path

#: The packages of the libraries, and their names for pip and for the option ``backend``.
_LIBRARIES = {"ryu": "ryu", "os_ken": "os-ken"}
#: The command line that installs each.  Ryu builds only with an older setuptools than pip takes by itself.
INSTALL = {
    "os-ken": "pip install os-ken",
    "ryu": "pip install 'setuptools<67' wheel && pip install --no-build-isolation ryu",
}


class ApplicationError(ValueError):
    """An application that cannot be loaded; one line that names it."""


def is_file(name: str) -> bool:
    """Whether an application is given as a file, not as a module."""
    return name.endswith(".py") or "/" in name


def library(names: Iterable[str]) -> str:
    """The library that all applications are written for: ``os-ken``, ``ryu``, or empty if any will do.

    Raises ApplicationError for one that does not exist or has a syntax error, and for a mixture.
    """
    wanted: dict[str, str] = {}
    for name in names:
        imported = _imports_of_file(name) if is_file(name) else {name, *_imports_of_module(name)}
        for package, known in _LIBRARIES.items():
            if any(module.partition(".")[0] == package for module in imported):
                wanted.setdefault(known, name)
    if len(wanted) > 1:
        (one, first), (two, second) = wanted.items()
        raise ApplicationError(
            f"{first} needs {one} and {second} needs {two}: one process runs applications of one library"
        )
    for known in wanted:
        if importlib.util.find_spec(known.replace("-", "_")) is None:
            raise ApplicationError(f"{wanted[known]} needs {known}, which is not installed: {INSTALL[known]}")
    return next(iter(wanted), "")


def _imports_of_module(name: str) -> set[str]:
    """The modules that an installed module imports."""
    try:
        spec = importlib.util.find_spec(name)
    except ImportError as error:
        raise ApplicationError(f"there is no module {name} ({error})") from error
    except ValueError:
        spec = None
    if spec is None:
        raise ApplicationError(f"there is no module {name}: a file is written with its .py")
    if name.partition(".")[0] in _LIBRARIES or not (spec.origin or "").endswith(".py"):
        return set()
    return _imports_of_file(str(spec.origin))


def _imports_of_file(name: str) -> set[str]:
    try:
        tree = ast.parse(Path(name).read_bytes(), name)
    except OSError as error:
        raise ApplicationError(f"application {name}: {error.strerror}") from error
    except (SyntaxError, ValueError) as error:
        place = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        text = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ApplicationError(f"application {name}{place}: {type(error).__name__}: {text}") from error
    return set(_imports(tree))


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
