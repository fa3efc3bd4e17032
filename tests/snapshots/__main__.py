"""Write the snapshots again: ``python -m tests.snapshots [help] [openapi] [lab]``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests import snapshots

WANTED = ("help", "openapi", "lab")


def main(words: list[str]) -> None:
    """Write those named, or all."""
    if unknown := set(words) - set(WANTED):
        sys.exit(f"no snapshot {sorted(unknown)[0]!r}: name {', '.join(WANTED)}, or nothing for all")
    chosen = words or WANTED
    for name in snapshots.WITHOUT_LAB:
        if name.partition(".")[0] in chosen:
            (snapshots.FOLDER / name).write_text(snapshots.without_lab(name))
    if "lab" in chosen:
        with tempfile.TemporaryDirectory() as folder, snapshots.launched() as lab:
            for name, text in snapshots.of_lab(lab, Path(folder)).items():
                (snapshots.FOLDER / name).write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
