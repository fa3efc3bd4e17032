"""The recording of a scenario's lab, for `dcnlab replay`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from dcnlab.lab.client import Lab


def recorded(lab: Lab, folder: Path) -> AbstractContextManager[object]:
    """Writes ``lab.rec`` into a folder while a ``with`` block runs."""
    from dcnlab.lab.view.recording import Recorder  # loads the web server's libraries

    folder.mkdir(parents=True, exist_ok=True)
    return Recorder(lab, folder / "lab.rec")
