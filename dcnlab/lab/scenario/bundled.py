"""The example scenarios that come with dcnlab, in a clone and in an installed package."""

from __future__ import annotations

from pathlib import Path

from dcnlab.lab.errors import UsageError

_PROGRAM = Path(__file__).resolve().parents[2]
#: In an installed package the examples are inside ``dcnlab``, in a clone beside it.
_FOLDERS = (_PROGRAM / "examples", _PROGRAM.parent / "examples")


def examples() -> dict[str, Path]:
    """The file of each example by its name, ``clot-cut``."""
    folder = next((folder for folder in _FOLDERS if folder.is_dir()), _FOLDERS[0])
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def find(file: Path) -> Path:
    """The scenario file that a user means: a path, or an example as ``clot-cut`` or
    ``examples/clot-cut.yaml``; UsageError for a word that is neither."""
    if file.exists() or file not in (Path(file.stem), Path("examples", f"{file.stem}.yaml")):
        return file
    known = examples()
    if file.stem not in known:
        raise UsageError(f"{file} is neither a file nor an example; the examples are {', '.join(known)}")
    return known[file.stem]
