"""The part of a lab that this machine runs: a lab of its own, with links to the other parts."""

from __future__ import annotations

from typing import Any

from dcnlab.lab.client import Lab
from dcnlab.lab.options.local_part import LocalPart


class PartLab(Lab):
    """A lab of which this machine runs only some nodes; its operations serve these."""

    def __init__(self, topology: str, scheme: str, name: str, part: LocalPart, **options: Any) -> None:
        super().__init__(topology, scheme, name, **options)
        self._part = part
        self._started = True  # its name and socket are its own: a part that was lost may still have them
