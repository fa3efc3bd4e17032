"""A machine that was lost comes back: its part is launched again, and its links come up."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.machines import cluster
from dcnlab.lab.machines.cluster import Worker
from dcnlab.lab.machines.remote_part import RemotePart
from dcnlab.lab.machines.whole_lab import WholeLab
from dcnlab.lab.options.link_shape import NONE

#: One at a time: two would launch the same part twice.
_rejoining = threading.Lock()

_log = logging.getLogger(__name__)


def rejoin(lab: WholeLab, machine: str) -> dict[str, Any]:
    """Launch the part of a machine that was lost again, or with an empty name those of all such machines.

    Returns when tables follow.  UsageError when no such machine is lost; LabError when there
    is no worker at its address, or the launch fails: it stays lost then.
    """
    begun = time.monotonic()
    with _rejoining:
        parts = _lost(lab, machine)
        found = cluster.workers(lab.client)
        stages = lab.on_all(lambda part: _launch(lab, part, found), parts)
    seconds = {name: max(one.get(name, 0.0) for one in stages) for name in stages[0]}
    total = round(time.monotonic() - begun, 3)
    return {"machines": [part.name for part in parts], "launch": seconds, "seconds": total}


def _lost(lab: WholeLab, machine: str) -> list[RemotePart]:
    if machine and machine not in (names := [part.name for part in lab.parts]):
        raise UsageError(f"this lab has no machine {machine!r}, but {', '.join(names)}")
    parts = [part for part in lab.parts if part.lost and machine in ("", part.name)]
    if not parts:
        raise UsageError(f"{machine} is not lost" if machine else "no machine of this lab is lost")
    return parts


def _impair(lab: WholeLab, part: RemotePart) -> None:
    """Give links the impairments that they have now, as the other machines know them."""
    if not (others := [each for each in lab.living if each.name != part.name]):
        return
    ours, theirs = ({one["number"]: one for one in each.ask("impair")["links"]} for each in (part, others[0]))
    for number in ours.keys() | theirs.keys():
        before, now = (links.get(number, {}).get("impairments", {}) for links in (ours, theirs))
        if before != now:
            names = (theirs.get(number) or ours[number])["link"]
            part.ask("impair", kind="link", names=names, values={**dict.fromkeys(before, NONE), **now})


def _launch(lab: WholeLab, old: RemotePart, found: Sequence[Worker]) -> dict[str, float]:
    """The part on the worker that is at the address of the machine now."""
    now = next((worker for worker in found if worker.address == old.worker.address), None)
    if now is None:
        raise LabError(f"{old.lost}, and no worker runs there: start `dask worker` on it, then try again")
    worker = replace(now, machine=old.worker.machine)
    again = replace(old.part, configured=True, rejoins=old.part.rejoins + 1)
    new = RemotePart(lab.client, worker, again)
    old.release()
    stages = lab.launch_part(new, again=True)
    _impair(lab, new)
    new.ask("configure", step="note", found=lab.aacm)
    lab.adopt(new)
    _log.info("%s runs again", new.name)
    return stages
