"""What changes in a lab, as one JSON object: the message ``state`` of streams and recordings."""

from __future__ import annotations

from typing import Any

from dcnlab.lab.client import Lab

#: With more impaired links, or more servers, queues and buffers are not read: that would take too long.
_MOST_LINKS, _MOST_SERVERS = 64, 256


def state(lab: Lab) -> dict[str, Any]:
    """Failed links, processes that have ended, counters of links.

    Where links are impaired, ``queues`` has by port (``h0:1``) the packets that wait and those dropped.  Where
    buffers of agents are limited, ``buffers`` has by server the packets that wait and the most in one buffer.
    """
    counters = lab.counters().to_json()  # first: what is down is then no older than the time of the counters
    info = lab.info()
    found: dict[str, Any] = {"down": info["down"], "ended": info["ended"], **counters}
    if 0 < len(lab.ask("impair")["links"]) <= _MOST_LINKS:
        queues = lab.queues()
        found["queues"] = {f"{one['node']}:{one['port']}": [one["packets"], one["dropped"]] for one in queues}
    if lab.config.frames and info["servers"] <= _MOST_SERVERS:
        agents = lab.stats().servers
        limited = {name: counts for name, counts in agents.items() if "fullest" in counts}
        found["buffers"] = {name: [one["buffered"], one["fullest"]] for name, one in limited.items()}
    return found
