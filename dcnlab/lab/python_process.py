"""How a lab starts Python processes that run its own modules and none from the folder of the caller, and reads
what they print."""

from __future__ import annotations

import importlib
import json
import os
import site
import sys
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar

from dcnlab.lab.contract.codec import decode, encode
from dcnlab.lab.errors import LabError

if TYPE_CHECKING:
    import subprocess

T = TypeVar("T")
#: The folder that holds the top-level packages: a clone, or site-packages.
_ROOT = str(Path(__file__).resolve().parents[2])


def command(module: str, *argv: str) -> list[str]:
    """The command line of a module as a program; ``-P``: it does not search the current folder."""
    return [sys.executable, "-P", "-m", module, *argv]


def environment() -> dict[str, str]:
    """The environment for a child process: it finds the packages where this process found them.

    An installed package is found without help.  Where the caller extended ``sys.path`` instead, the
    folder goes into PYTHONPATH.
    """
    variables = dict(os.environ)
    searched = variables.get("PYTHONPATH", "").split(os.pathsep)
    if _ROOT not in searched and not _in_site_packages():
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, [_ROOT, *searched]))
    return variables


def import_numpy() -> None:
    """Import numpy without its threads for linear algebra: they cost 50 ms of processor time when they
    start, and labs do not need them.  Programs that this process starts have them."""
    name = "OPENBLAS_NUM_THREADS"
    if name not in os.environ:
        os.environ[name] = "1"
        importlib.import_module("numpy")
        del os.environ[name]


def print_line(value: Any) -> None:
    """Print a dataclass as a line of JSON, for :func:`next_line` of the process that has started this one."""
    print(json.dumps(encode(value)), flush=True)


def next_line(program: subprocess.Popen[str], what: str, kind: type[T] | UnionType) -> T:
    """The next line of a program's JSON output as a dataclass; LabError with ``what`` and its last error
    message when it has ended."""
    assert program.stdout is not None
    assert program.stderr is not None
    line = program.stdout.readline()
    if not line:
        messages = program.stderr.read().strip().splitlines() or ["its program ended"]
        raise LabError(f"{what}: {messages[-1]}")
    value: T = decode(kind, json.loads(line))
    return value


def _in_site_packages() -> bool:
    """Whether every Python process of this installation finds the packages: there, or by a ``.pth`` file."""
    folders = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    return _ROOT in folders or any(
        _ROOT in links.read_text(errors="replace").splitlines()
        for folder in folders
        for links in Path(folder).glob("*.pth")
        if os.access(links, os.R_OK)
    )
