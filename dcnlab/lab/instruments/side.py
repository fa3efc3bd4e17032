"""What a measurement does on one machine of a lab, whether that runs all of it or a part."""

from __future__ import annotations


class Side:
    """Its public methods take and return JSON values: they are asked for from the outside."""

    def close(self) -> None:
        """The measurement has ended."""
