"""Print the installed version of everything that dcnlab needs, for ``pip install --constraint``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
EXTRAS = ("test", "lint", "ryu")
#: Ryu is built with an older one (vagrant/ryu-build-constraint.txt).
_LEFT_OUT = {"setuptools", "dcnlab"}
_HEAD = """\
# Versions that are known to work together: `pip install --constraint constraints.txt dcnlab`.
# Written by `make constraints`.
"""


def requirements(extras: tuple[str, ...] = EXTRAS) -> list[Requirement]:
    """The requirements of dcnlab with these extras; an extra may name others of dcnlab."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [Requirement(text) for text in project["dependencies"]]
    waiting, seen = list(extras), set(extras)
    while waiting:
        for text in project["optional-dependencies"][waiting.pop()]:
            one = Requirement(text)
            if one.name == "dcnlab":
                waiting += sorted(one.extras - seen)
                seen |= one.extras
            else:
                needed.append(one)
    return needed


def installed(wanted: list[Requirement]) -> dict[str, str]:
    """The installed version of each requirement, and of what these require in turn."""
    versions: dict[str, str] = {}
    done: set[tuple[str, frozenset[str]]] = set()
    while wanted:
        one = wanted.pop()
        name, extras = canonicalize_name(one.name), frozenset(one.extras)
        if (name, extras) in done or (one.marker and not one.marker.evaluate({"extra": ""})):
            continue
        done.add((name, extras))
        versions[name] = metadata.version(one.name)
        wanted += _needed_by(one)
    return {name: version for name, version in sorted(versions.items()) if name not in _LEFT_OUT}


def _needed_by(one: Requirement) -> Iterator[Requirement]:
    for text in metadata.requires(one.name) or ():
        other = Requirement(text)
        chosen = ("", *one.extras)
        if other.marker is None or any(other.marker.evaluate({"extra": extra}) for extra in chosen):
            other.marker = None
            yield other


if __name__ == "__main__":
    print(_HEAD, end="")
    for name, version in installed(requirements()).items():
        print(f"{name}=={version}")
