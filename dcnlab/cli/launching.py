"""Output of commands that launch labs: the stages of the launch, the result of autoconfiguration."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dcnlab.lab.contract.lab import Configured


@contextmanager
def stages(quiet: bool) -> Iterator[Any]:
    """Show the stages of a launch on standard error, if that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda stage: None
        return
    from rich.console import Console

    console = Console(stderr=True)
    with console.status("starting") as status:
        yield lambda stage: status.update(f"making {stage}")


def show_configured(configured: Configured) -> None:
    """Print the duration and the frames of AACM or labelling."""
    frames = ", ".join(f"{count} {kind}" for kind, count in sorted(configured.frames.items()))
    what = "labels" if configured.protocol == "labelling" else "addresses"
    print(f"{configured.protocol}: all servers have {what} after {configured.ms} ms; frames: {frames}")
