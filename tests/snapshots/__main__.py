"""Write the snapshots again: ``python -m tests.snapshots [help] [lab]``, or ``--into FOLDER``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests import snapshots

WANTED = ("help", "lab")


def main(words: list[str], into: Path) -> None:
    """Write those named, or all."""
    if unknown := set(words) - set(WANTED):
        sys.exit(f"no snapshot {sorted(unknown)[0]!r}: name {', '.join(WANTED)}, or nothing for all")
    chosen = words or WANTED
    if "help" in chosen:
        (into / snapshots.HELP).write_text(snapshots.help_of_all())
    if "lab" in chosen:
        with tempfile.TemporaryDirectory() as folder, snapshots.launched() as lab:
            texts = snapshots.of_lab(lab, Path(folder))
        for name, text in zip(snapshots.OF_LAB, texts, strict=True):
            (into / name).write_text(text)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--into"]:
        main(sys.argv[3:], Path(sys.argv[2]))
    else:
        main(sys.argv[1:], snapshots.FOLDER)
