"""Whom the users of a host's user namespace are in the lab's: (first inside, first outside, number)."""

from __future__ import annotations

from pathlib import Path

#: Users that nobody else hands out: systemd's containers end below, and there are 2**31 at most.
_FIRST, _SIZE, _RANGES = 1_879_048_192, 65_536, 4_095
_NOBODY = 65_534

Range = tuple[int, int, int]


def users(host: int, mapped: str | None = None) -> Range:
    """The users of host number ``host``, where ``mapped`` is this process's uid_map.

    Root on a machine has users to spare for every host.  Root in a container may have few: then only root
    exists in a host, and is nobody outside.  An ordinary user's lab has one user, who is root in hosts too.
    """
    lines = (Path("/proc/self/uid_map").read_text() if mapped is None else mapped).splitlines()
    ranges = [tuple(map(int, line.split())) for line in lines]
    first = _FIRST + _SIZE * (host % _RANGES)
    for outside, size in ((first, _SIZE), (_NOBODY, 1)):
        if any(start <= outside and outside + size <= start + length for start, _, length in ranges):
            return 0, outside, size
    return 0, 0, 1
