"""What clients of a lab see, as files of text: `--help` of all commands, the OpenAPI document, requests and
answers of the control socket, and the journal of one lab.

``tests/lab/session/test_snapshots.py`` compares them.  After a change that is meant, ``python -m
tests.snapshots`` writes them again (``python -m tests.snapshots help`` without a lab); the difference belongs
to the change.

interface.py   help and OpenAPI, without a lab
script.py      a lab in which every operation is called, and what passed its control socket
plain.py       values without what differs from run to run
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from dcnlab.lab.client import Lab
from tests.snapshots import interface, script

FOLDER = Path(__file__).parent
#: The file that needs no lab, and those of one lab.
HELP = "help.txt"
OF_LAB = ("openapi.json", "control.json", "journal.txt")


@contextlib.contextmanager
def launched() -> Iterator[Lab]:
    """The lab of the files in :data:`OF_LAB`."""
    with Lab(
        script.TOPOLOGY, script.SCHEME, name="snapshots", rate="100Mbit", offloads=True, datapath="userspace"
    ) as lab:
        yield lab


def help_of_all() -> str:
    """What :data:`HELP` should hold."""
    return interface.help_of_all()


def of_lab(lab: Lab, folder: Path) -> tuple[str, str, str]:
    """What the files of :data:`OF_LAB` should hold; packets are captured into ``folder``."""
    return interface.openapi(lab), script.control(lab, folder), script.journal(lab)
