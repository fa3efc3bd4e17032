"""The exercises that come with dcnlab, in a clone and in an installed package."""

from __future__ import annotations

import shutil
from pathlib import Path

from dcnlab.lab.errors import UsageError

_PROGRAM = Path(__file__).resolve().parents[2]
#: In an installed package the exercises are inside ``dcnlab``, in a clone beside it.
_FOLDERS = (_PROGRAM / "course", _PROGRAM.parent / "course")
#: The scenario of an exercise, and the folder of its solution.
SCENARIO, SOLUTION = "exercise.yaml", "solution"


def exercises() -> dict[str, Path]:
    """The folder of each exercise by its name, in the order of the course."""
    folder = next((folder for folder in _FOLDERS if folder.is_dir()), _FOLDERS[0])
    folders = {path.parent.name: path.parent for path in folder.glob(f"*/{SCENARIO}")}
    return {name: folders[name] for name in sorted(folders, key=lambda name: title(folders[name]))}


def title(folder: Path) -> str:
    """The heading of an exercise's handout: ``1. Prefix tables ...``."""
    return (folder / "README.md").read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def find(folder: Path) -> Path:
    """The folder of an exercise; UsageError for one that is none."""
    if not (folder / SCENARIO).is_file():
        raise UsageError(f"{folder} is not an exercise: it has no {SCENARIO}; `dcnlab course NAME` copies one")
    return folder


def copy(name: str, target: Path, solution: bool = False) -> None:
    """Copy an exercise into a new folder; with ``solution`` the files of its solution replace the student's.

    UsageError for an unknown name, or a folder that exists.
    """
    known = exercises()
    if name not in known:
        raise UsageError(f"no exercise is named {name}; the exercises are {', '.join(known)}")
    if target.exists():
        raise UsageError(f"{target} exists already: name another folder with --to")
    skipped = shutil.ignore_patterns(SOLUTION, "__pycache__")
    try:
        shutil.copytree(known[name], target, ignore=skipped)
        if solution:
            shutil.copytree(known[name] / SOLUTION, target, ignore=skipped, dirs_exist_ok=True)
    except OSError as error:
        raise UsageError(f"{target}: {error.strerror or error}") from None
