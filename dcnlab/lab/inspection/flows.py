"""The entries of a switch with their live counters, as Open vSwitch counts them, by any controller."""

from __future__ import annotations

import re
import time
from typing import Any

from dcnlab.lab.errors import UsageError
from dcnlab.lab.running.lab import RunningLab

_FLOW = re.compile(
    r"cookie=(?P<cookie>0x[0-9a-f]+), duration=(?P<duration>[\d.]+)s, table=(?P<table>\d+),"
    r" n_packets=(?P<packets>\d+), n_bytes=(?P<bytes>\d+), (?P<rest>.*) ?actions=(?P<actions>.*)"
)
_PRIORITY = re.compile(r"^priority=(\d+),?")
_DEFAULT_PRIORITY = 32768


def parse(line: str) -> dict[str, Any] | None:
    """An entry of ``ovs-ofctl dump-flows``; None for a line that is none.  ``duration`` is in seconds."""
    found = _FLOW.fullmatch(line.strip())
    if found is None:
        return None
    options, _, match = found["rest"].strip().rpartition(", ")
    *flags, match = match.split(" ")
    priority = _PRIORITY.match(match)
    return {
        "table": int(found["table"]),
        "priority": int(priority[1]) if priority else _DEFAULT_PRIORITY,
        "match": _PRIORITY.sub("", match),
        "actions": found["actions"],
        "cookie": found["cookie"],
        "options": ", ".join([*filter(None, [options]), *flags]),
        "packets": int(found["packets"]),
        "bytes": int(found["bytes"]),
        "duration": float(found["duration"]),
    }


def flows(session: RunningLab, node: int) -> dict[str, Any]:
    """The entries of a switch, of the first table and the highest priority first, and when they were read on
    the monotonic clock; UsageError for servers."""
    name = session.fabric.name(node)
    if session.fabric.is_server(node):
        raise UsageError(f"{name} is a server, which has no flow entries: `dcnlab tables` shows its rule")
    text = session.running.shard(name).run("ovs-ofctl", "-O", "OpenFlow13", "dump-flows", name)
    at = time.monotonic()
    found = [entry for entry in map(parse, text.splitlines()) if entry is not None]
    found.sort(key=lambda entry: (entry["table"], -entry["priority"], entry["match"]))
    return {"switch": name, "at": at, "flows": found}
