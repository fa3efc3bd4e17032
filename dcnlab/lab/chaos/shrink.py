"""The fewest items that still fail: delta debugging (Zeller and Hildebrandt, 2002), with bounded tries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def shrink(items: Sequence[T], fails: Callable[[Sequence[T]], bool], tries: int) -> list[T]:
    """A part of ``items``, in their order, for which ``fails`` is still true.

    ``items`` themselves fail.  Without a limit of ``tries`` no single item could be left out of the result.
    """
    left, parts, budget = list(items), 2, tries
    while len(left) > 1 and budget > 0:
        size = -(-len(left) // parts)
        for start in range(0, len(left), size):
            rest = left[:start] + left[start + size :]
            if not rest or budget <= 0:
                continue
            budget -= 1
            if fails(rest):
                left, parts = rest, max(parts - 1, 2)
                break
        else:
            if size == 1:
                break
            parts = min(2 * parts, len(left))
    return left
