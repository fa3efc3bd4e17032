"""What changes in a lab, as one JSON object: the message ``state`` of streams and recordings."""

from __future__ import annotations

import contextlib

from dcnlab.lab.client import Lab
from dcnlab.lab.contract.values import JsonObject
from dcnlab.lab.errors import LabError

#: With more impaired links, or more servers, queues and buffers are not read: that would take too long.
#: Overruns take longer still.
_MOST_LINKS, _MOST_SERVERS, _MOST_PLACES = 64, 256, 64


def state(lab: Lab) -> JsonObject:
    """Return the failed links, the processes that have ended and the counters of links.

    Where links are impaired, ``queues`` has by port (``h0:1``) the packets that wait and those dropped.  Where
    buffers of agents are limited, ``buffers`` has by server the packets that wait and the most in one buffer;
    ``channels`` has by port a row for each virtual channel that is not idle: neighbour, channel, packets that
    wait, credits that are used, the limit of both.  ``overruns`` has the packets that were not read in time
    (:class:`dcnlab.lab.measurement.overruns.OverrunsResult`), in labs of few servers.
    """
    counters = lab.counters().to_json()  # first: what is down is then no older than the time of the counters
    info = lab.info()
    message: JsonObject = {"down": info["down"], "ended": info["ended"], **counters}
    if 0 < len(lab.impairments()) <= _MOST_LINKS:
        queues = lab.queues()
        message["queues"] = {f"{one['node']}:{one['port']}": [one["packets"], one["dropped"]] for one in queues}
    if lab.config.frames and info["servers"] <= _MOST_SERVERS:
        agents = lab.stats().servers
        limited = {name: counts for name, counts in agents.items() if "fullest" in counts}
        message["buffers"] = {name: [one["buffered"], one["fullest"]] for name, one in limited.items()}
        message["channels"] = _channels(lab)
    if info["servers"] <= _MOST_PLACES:
        with contextlib.suppress(LabError):  # a kernel that does not count them
            message["overruns"] = {place: count for place, count in lab.overruns().places.items() if count}
    return message


def _channels(lab: Lab) -> dict[str, list[tuple[str, str, int, int, int]]]:
    """Return the virtual channels of each port (``h0:1``) that are not idle."""
    by_port: dict[str, list[tuple[str, str, int, int, int]]] = {}
    for one in lab.buffers().channels:
        if not one.idle:
            row = (one.neighbour, one.channel, one.waiting, one.used, one.limit)
            by_port.setdefault(f"{one.server}:{one.port}", []).append(row)
    return by_port
